import { now } from '../api/clock.ts';
import { useListener } from '../shell/listener.ts';
import { agoText, bytesText, numberText, percentText, wholeText } from './figures.ts';

export * from './figures.ts';

const zoneKey = 'tidemark.utc';
const listeners = new Set<() => void>();
let isUtc = localStorage.getItem(zoneKey) === '1';

/** Whether times are shown in UTC, and the switch; kept in this browser. */
export const useUtc = (): [boolean, (utc: boolean) => void] => {
  useListener(listeners);
  const set = (utc: boolean): void => {
    isUtc = utc;
    localStorage.setItem(zoneKey, utc ? '1' : '0');
    for (const listener of listeners) listener();
  };
  return [isUtc, set];
};

/** Whether the clocks of this zone show the time of `at` twice, as where summer time ends. */
const isShownTwice = (at: Date): boolean =>
  [-10_800_000, 10_800_000].some((near) => {
    const other = new Date(+at + near).getTimezoneOffset();
    const twin = new Date(+at + (other - at.getTimezoneOffset()) * 60_000);
    return +twin !== +at && twin.getTimezoneOffset() === other;
  });

/** `2026-11-23 14:05:09` in the zone of the switch; with `ms`, milliseconds too. A time that comes twice has its offset: ` +01:00`. */
export const timeText = (atMs: number, { utc = isUtc, ms = false } = {}): string => {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return '–';
  const text = (utc ? at : new Date(atMs - at.getTimezoneOffset() * 60_000)).toISOString().replace('T', ' ');
  const offset = utc || !isShownTwice(at) ? '' : at.toString().replace(/^.*GMT(...)(..).*$/, ' $1:$2');
  return `${text.slice(0, ms ? 23 : 19)}${offset}`;
};

type TimeProps = { at: number; seconds?: boolean; ms?: boolean };

/** A point in time, with how long ago as its title. `at` in ms, or in Unix seconds with `seconds`; `ms` shows milliseconds. */
export const Time = ({ at, seconds = false, ms = false }: TimeProps) => {
  const [utc] = useUtc();
  const atMs = seconds ? at * 1000 : at;
  return (
    <time
      dateTime={Number.isNaN(new Date(atMs).getTime()) ? '' : new Date(atMs).toISOString()}
      title={agoText(atMs, now())}
    >
      {timeText(atMs, { utc, ms })}
      {utc ? ' UTC' : ''}
    </time>
  );
};

export const Figure = ({ value, as = 'number' }: { value: number; as?: 'number' | 'bytes' | 'percent' }) => {
  const text = { number: numberText, bytes: bytesText, percent: percentText }[as](value);
  return (
    <span class="figure" title={as === 'bytes' ? `${wholeText(value)} bytes` : undefined}>
      {text}
    </span>
  );
};

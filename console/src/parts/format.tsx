import { useEffect, useState } from 'preact/hooks';

/** Figures and times in one form everywhere. Locale: English, as all texts of the console. */
const locale = 'en';
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });

/** `1,234,567`; with fractions, three digits that count. */
export const numberText = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 1000 ? whole.format(value) : short.format(value);
export const percentText = (share: number): string => percent.format(share);

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** `1.5 MiB`. */
export const bytesText = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${short.format(bytes / 1024 ** power)} ${byteUnits[power]}`;
};

const durationUnits: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
  ['µs', 1e-3],
];

/** `2 h 5 min`, `1.2 s`, `340 ms`: at most two units. */
export const durationText = (ms: number): string => {
  if (ms === 0) return '0 s';
  const at = durationUnits.findIndex(([, size]) => Math.abs(ms) >= size);
  const [unit, size] = durationUnits[at] ?? ['ns', 1e-6];
  const next = durationUnits[at + 1];
  if (next === undefined || size <= 1000) return `${short.format(ms / size)} ${unit}`;
  const rest = Math.floor((Math.abs(ms) % size) / next[1]);
  return `${whole.format(Math.trunc(ms / size))} ${unit}${rest === 0 ? '' : ` ${rest} ${next[0]}`}`;
};

const zoneKey = 'tidemark.utc';
const listeners = new Set<() => void>();
let isUtc = localStorage.getItem(zoneKey) === '1';

/** Whether times are shown in UTC, and the switch; kept in this browser. */
export const useUtc = (): [boolean, (utc: boolean) => void] => {
  const [, render] = useState(0);
  useEffect(() => {
    const listener = (): void => render((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  const set = (utc: boolean): void => {
    isUtc = utc;
    localStorage.setItem(zoneKey, utc ? '1' : '0');
    for (const listener of listeners) listener();
  };
  return [isUtc, set];
};

/** `2026-11-23 14:05:09` in the zone of the switch; with `ms`, milliseconds too. */
export const timeText = (atMs: number, { utc = isUtc, ms = false } = {}): string => {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return '–';
  const shifted = utc ? at : new Date(atMs - at.getTimezoneOffset() * 60_000);
  return shifted
    .toISOString()
    .replace('T', ' ')
    .slice(0, ms ? 23 : 19);
};

/** `5 min ago`; `in 2 h` for what is to come. */
export const agoText = (atMs: number, nowMs = Date.now()): string => {
  const [head = ''] = durationText(Math.abs(nowMs - atMs)).split(/(?<=[a-z]) /);
  return Math.abs(nowMs - atMs) < 1000 ? 'now' : atMs > nowMs ? `in ${head}` : `${head} ago`;
};

/** A point in time, with how long ago as its title. `at` in ms, or in Unix seconds with `seconds`. */
export const Time = ({ at, seconds = false }: { at: number; seconds?: boolean }) => {
  const [utc] = useUtc();
  const ms = seconds ? at * 1000 : at;
  return (
    <time
      dateTime={Number.isNaN(new Date(ms).getTime()) ? '' : new Date(ms).toISOString()}
      title={agoText(ms)}
    >
      {timeText(ms, { utc })}
      {utc ? ' UTC' : ''}
    </time>
  );
};

/** A number, a size in bytes or a share, in tabular figures. */
export const Figure = ({ value, as = 'number' }: { value: number; as?: 'number' | 'bytes' | 'percent' }) => {
  const text = { number: numberText, bytes: bytesText, percent: percentText }[as](value);
  return (
    <span class="figure" title={as === 'bytes' ? `${whole.format(value)} bytes` : undefined}>
      {text}
    </span>
  );
};

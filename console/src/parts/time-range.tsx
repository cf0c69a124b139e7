import { nowSeconds, type Period } from '../api/clock.ts';
import { setQuery, useAddress } from '../shell/router.ts';
import { restarted, Select } from './filters.tsx';
import { timeText, useUtc } from './format.tsx';

const presets = new Map([
  ['15m', 900],
  ['1h', 3600],
  ['6h', 21_600],
  ['24h', 86_400],
  ['7d', 604_800],
  ['30d', 2_592_000],
]);

export type TimeRange = Period & {
  /** The period at the moment of the call: one that ends now moves on behind a page that is not drawn again. */
  readonly current: () => Period;
  /** Changes when the reader chooses another range, and not as time passes. */
  readonly key: string;
};

const secondsOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined;

/** The fallback of a list that begins with everything: from 0 on. */
export const anyTime = 'any';

/** The range in the address: `range=6h`, or `since` and `until` in Unix seconds. */
export const useTimeRange = (fallback = '1h'): TimeRange => {
  const { query } = useAddress();
  const since = secondsOf(query.get('since'));
  const until = secondsOf(query.get('until'));
  const rangeOf = (key: string, current: () => Period): TimeRange => ({ ...current(), key, current });
  if (since !== undefined) return rangeOf(`${since}-${until ?? ''}`, () => ({ since, until }));
  const preset = query.get('range') ?? fallback;
  if (preset === anyTime) return rangeOf(anyTime, () => ({ since: 0, until: undefined }));
  const seconds = presets.get(preset) ?? presets.get(fallback) ?? 3600;
  return rangeOf(preset, () => ({ since: nowSeconds() - seconds, until: undefined }));
};

const own = ['own', 'from … to …'] as const;

/** Writes a range into the address, for instance of a chart that was zoomed. */
export const setTimeRange = (since: number, until: number): void =>
  setQuery(
    { since: String(Math.floor(since)), until: String(Math.ceil(until)), range: undefined, ...restarted },
    { replace: false },
  );

/** What an input of the type datetime-local shows and gives, in the zone of the switch. */
const inputText = (seconds: number, utc: boolean): string =>
  timeText(seconds * 1000, { utc })
    .slice(0, 16)
    .replace(' ', 'T');
const inputSeconds = (text: string, utc: boolean): number => Date.parse(utc ? `${text}Z` : text) / 1000;

const Moment = ({ label, name, value }: { label: string; name: 'since' | 'until'; value: number }) => {
  const [utc] = useUtc();
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        value={inputText(value, utc)}
        onChange={({ currentTarget }) => {
          const seconds = inputSeconds(currentTarget.value, utc);
          // While a year is typed it is one of the first centuries.
          if (seconds >= 0) setQuery({ [name]: String(seconds), ...restarted });
        }}
      />
    </label>
  );
};

/** Chooses the range that `useTimeRange` reads. */
export const TimeRangePicker = ({ fallback = '1h' }: { fallback?: string }) => {
  const range = useTimeRange(fallback);
  const any = fallback === anyTime ? [[anyTime, 'any time'] as const] : [];
  const isOwn = range.key !== anyTime && !presets.has(range.key);
  const choose = (preset: string): void => {
    const now = nowSeconds();
    if (preset === 'own') setTimeRange(range.since || now - 86_400, range.until ?? now);
    else
      setQuery(
        { ...restarted, range: preset === fallback ? undefined : preset, since: undefined, until: undefined },
        { replace: false },
      );
  };
  return (
    <fieldset class="row">
      <legend class="unseen">Time</legend>
      <Select<string>
        label="Time"
        value={isOwn ? 'own' : range.key}
        options={[...any, ...[...presets.keys()].map((key) => [key, `last ${key}`] as const), own]}
        onValue={choose}
      />
      {isOwn && <Moment label="From" name="since" value={range.since} />}
      {isOwn && <Moment label="To" name="until" value={range.until ?? nowSeconds()} />}
    </fieldset>
  );
};

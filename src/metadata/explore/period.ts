import { daySeconds } from '../../model/time.ts';
import { FieldFault } from '../problem.ts';

const hourSeconds = 3_600;

/** The longest period of a query that does not say `wide`, seconds. */
export const periodMax = 7 * daySeconds;
/** "The last 7 days" counts from the caller's clock, and arrives later: what a period until now may be longer, seconds. */
const slack = 60;
/** The most buckets of a series. */
export const bucketsMax = 600;

/** A period from `since`, included, to `until`, not included; Unix seconds. */
export type Period = { readonly since: number; readonly until: number };

/** Its ends as parameters of type DateTime: ClickHouse reads Unix seconds only where they have five digits or more. */
export const dateTimesOf = ({ since, until }: Period): Readonly<Record<'since' | 'until', string>> => ({
  since: String(since).padStart(10, '0'),
  until: String(until).padStart(10, '0'),
});

/** A period as a caller asks it; `wide` allows more than `periodMax`. */
export type AskedPeriod = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly wide?: boolean | undefined;
};

const invalid = (field: string, why: string): FieldFault => new FieldFault('invalid_value', field, why);

/** The period of a query, by default the last hour. Throws permanent Faults `invalid_value`. */
export const periodOf = ({ since: asked, until: last, wide = false }: AskedPeriod, nowMs: number): Period => {
  const until = last ?? Math.floor(nowMs / 1000) + 1;
  const since = asked ?? Math.max(0, until - hourSeconds);
  if (since >= until) throw invalid('since', 'must be before until');
  if (until - since > periodMax + (last === undefined ? slack : 0) && !wide)
    throw invalid('since', `is more than 7 days before until; set wide to query a longer period`);
  return { since, until };
};

/** Lengths of a bucket that are used where none is given, seconds. */
const steps = [
  ...[1, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => 60 * minutes),
  ...[1, 2, 3, 6, 12].map((hours) => hourSeconds * hours),
  ...[1, 2, 7, 30, 100].map((days) => daySeconds * days),
];

/** Starts of the buckets that a period touches: multiples of the step since 1970, as QuestDB aligns them to the calendar. */
const countOf = ({ since, until }: Period, step: number): number =>
  Math.ceil(until / step) - Math.floor(since / step);

/** The length of a bucket and the starts of all of them, Unix seconds. Throws a permanent Fault `invalid_value` for too many. */
export const bucketsOf = (
  period: Period,
  asked: number | undefined,
): { readonly step: number; readonly starts: number[] } => {
  const step = asked ?? steps.find((each) => countOf(period, each) <= bucketsMax) ?? 1_000 * daySeconds;
  const count = countOf(period, step);
  if (count > bucketsMax)
    throw invalid('step', `makes ${count} buckets of this period, and at most ${bucketsMax} are answered`);
  const first = Math.floor(period.since / step) * step;
  return { step, starts: Array.from({ length: count }, (_, index) => first + index * step) };
};

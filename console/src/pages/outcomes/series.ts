import type { components } from '../../api/schema.d.ts';
import { bucketTimes, type Series } from '../../charts/model.ts';
import { counted, numberText, percentText } from '../../parts/figures.ts';
import { furtherTerms, type Pipeline } from '../../parts/signals.ts';

export type Bucket = components['schemas']['OutcomeBucket'];

/** Which items: all, or those of one pipeline. */
export type Which = '' | Pipeline;

export const stepSeconds = { minute: 60, hour: 3_600, day: 86_400 } as const;
export type Step = keyof typeof stepSeconds;

const bucketsMax = 600;
/** A chart of more days than these has more buckets than one answer. */
export const daysMax = bucketsMax - 2;

/** The smallest step that a chart has room for, unless the reader has chosen one that fits. */
export const stepOf = (since: number, until: number, chosen: string): Step => {
  const fits = (step: Step): boolean => (until - since) / stepSeconds[step] < bucketsMax - 1;
  const steps = Object.keys(stepSeconds) as Step[];
  return (
    steps.find((step) => step === chosen && fits(step)) ??
    (until - since <= 10_800 ? 'minute' : until - since <= 12 * 86_400 ? 'hour' : 'day')
  );
};

/** Six colours for reasons; stored and dead-lettered have their own, and the rest shares one. */
const reasonsMax = 5;
export const otherKey = 'other';

type Count = { readonly at: number; readonly key: string; readonly items: number };

const sumBy = (counts: readonly Count[]): [key: string, items: number][] => {
  const sums = new Map<string, number>();
  for (const { key, items } of counts) sums.set(key, (sums.get(key) ?? 0) + items);
  return [...sums].toSorted(
    ([leftKey, left], [rightKey, right]) => right - left || leftKey.localeCompare(rightKey),
  );
};

/** The counts of one key at each time. */
const valuesOf = (
  counts: readonly Count[],
  keys: ReadonlySet<string>,
  times: readonly number[],
  step: number,
): number[] => {
  const values = times.map(() => 0);
  for (const { at, key, items } of counts) {
    const index = Math.floor((at - (times[0] ?? 0)) / step);
    if (keys.has(key) && values[index] !== undefined) values[index] += items;
  }
  return values;
};

/** The largest keys as series of their own from mark `first` on, and the others together. */
const ranked = (
  counts: readonly Count[],
  times: readonly number[],
  step: number,
  first: number,
): Series[] => {
  const sums = sumBy(counts).filter(([, items]) => items > 0);
  const own = sums.slice(0, sums.length > reasonsMax ? reasonsMax - 1 : reasonsMax);
  const rest = sums.slice(own.length);
  const series = own.map(([key], index) => ({
    ...{ key, label: key, mark: first + index },
    values: valuesOf(counts, new Set([key]), times, step),
  }));
  if (rest.length === 0) return series;
  const values = valuesOf(counts, new Set(rest.map(([key]) => key)), times, step);
  return [...series, { key: otherKey, label: `${rest.length} other reasons`, mark: 7, values }];
};

type Refusal = Bucket['refusals'][number];
type Refusals = readonly Pick<Bucket, 'refusals'>[];
type Refused = Pick<Refusal, 'requests' | 'items'>;

const added = <T extends Refused>(one: T, { requests, items }: Refused): T => ({
  ...one,
  ...{ requests: one.requests + requests, items: one.items + items },
});

/** Refusals of all signals of an owner, one row for each kind and reason. */
export const refusalsOf = (of: Refusals): Refusal[] => {
  const all = of.flatMap(({ refusals }) => refusals);
  const same = Map.groupBy(all, ({ kind, reason }) => `${kind} ${reason}`);
  return [...same.values()].map((each) => each.reduce(added));
};

/** Refused requests of accounts or buckets. */
export const refusedOf = (of: Refusals): Refused =>
  refusalsOf(of)
    .filter(({ kind }) => kind === 'refused')
    .reduce<Refused>(added, { requests: 0, items: 0 });

/** `16 requests with 1,600 items`; of some requests nobody knows the items. */
export const refusedText = ({ requests, items }: Refused): string =>
  `${counted(requests, 'request')}${items === 0 ? '' : ` with ${counted(items, 'item')}`}`;

/** What was refused, as the end of a sentence about the items that were not; empty where nothing was. */
export const besideText = (of: Refusals): string => {
  const refused = refusedOf(of);
  if (refused.requests === 0) return '';
  return `; beside them ${refusedText(refused)} ${refused.requests === 1 ? 'was' : 'were'} refused`;
};

/** How often each reason was the outcome of an item, a refusal or the loss of a value, in words. */
export const reasonCounts = (of: readonly Pick<Bucket, 'dropped' | 'refusals'>[]): Map<string, string> => {
  const words = new Map<string, string>();
  const add = (reason: string, text: string) =>
    words.set(reason, words.has(reason) ? `${words.get(reason)}, ${text}` : text);
  const entries = of.flatMap((each) => Object.entries(each.dropped));
  const dropped = entries.map(([key, items]) => ({ at: 0, key, items }));
  for (const [reason, items] of sumBy(dropped)) if (items > 0) add(reason, counted(items, 'item'));
  for (const each of refusalsOf(of)) {
    if (each.kind === 'refused') add(each.reason, refusedText(each));
    if (each.kind === 'value_lost') add(each.reason, counted(each.items, 'value'));
  }
  return words;
};

type Further = Readonly<Record<(typeof furtherTerms)[number] | 'dead_lettered', number>>;

/** What became of all items of a time: by outcome, and by the further terms of their accounts. A lost dead letter is lost alone. */
export const sentenceOf = (sums: Charts['sums'], accounts: readonly Further[], beside: Refusals): string => {
  const sumOfAll = (term: keyof Further): number => accounts.reduce((sum, each) => sum + each[term], 0);
  const further = furtherTerms.map((key) => [key, sumOfAll(key)] as const).filter(([, sum]) => sum > 0);
  const of = (key: string): number => sums.find(([each]) => each === key)?.[1] ?? 0;
  const letters = Math.min(of('dead_lettered'), sumOfAll('dead_lettered'));
  const total = [...sums, ...further].reduce((sum, [, items]) => sum + items, letters - of('dead_lettered'));
  if (total === 0) return `No items were settled in this time${besideText(beside)}.`;
  const dropped = sums.filter(([key, items]) => key !== 'stored' && key !== 'dead_lettered' && items > 0);
  const all = dropped.reduce((sum, [, items]) => sum + items, 0);
  const most = dropped[0] === undefined ? '' : `, most by ${dropped[0][0]} (${numberText(dropped[0][1])})`;
  const rest = further.map(([term, items]) => `, ${numberText(items)} ${term}`).join('');
  return `${numberText(total)} items: ${percentText(of('stored') / total)} stored, ${numberText(all)} dropped${most}, ${numberText(letters)} dead-lettered${rest}${besideText(beside)}.`;
};

/** What is gone of the rows that were stored of an owner, in words; empty where nothing is. */
export const removedText = (of: readonly components['schemas']['RemovedRows'][]): string => {
  const texts = of.map(({ purged, expired_before: before }) =>
    purged ? 'purged since' : `rows of days before ${before} may have expired since`,
  );
  return [...new Set(texts)].join(', ');
};

export type Charts = {
  readonly times: readonly number[];
  readonly outcomes: readonly Series[];
  readonly refusals: readonly Series[];
  /** Items by outcome (`stored`, `dead_lettered`, reasons) of the whole time, the largest first; and those of one bucket. */
  readonly sums: readonly (readonly [key: string, items: number])[];
  readonly sumsAt: (at: number | undefined) => Charts['sums'];
  /** The buckets of the whole time, or the ones at this one. */
  readonly bucketsAt: (at: number | undefined) => readonly Bucket[];
};

/**
 * The series of both charts: items by outcome, and what is outside the account. A refusal counts its requests, a lost value its items.
 * Buckets without items are 0. Times in Unix seconds.
 */
export const chartsOf = (
  buckets: readonly Bucket[],
  since: number,
  until: number,
  step: Step,
  which: Which,
): Charts => {
  const size = stepSeconds[step];
  const times = bucketTimes(since, until, size);
  const own = buckets.filter(({ pipeline }) => which === '' || pipeline === which);
  const plain = (key: 'stored' | 'dead_lettered'): Count[] =>
    own.map(({ at, [key]: items }) => ({ at, key, items }));
  const dropped = own.flatMap(({ at, dropped: reasons }) =>
    Object.entries(reasons).map(([key, items]) => ({ at, key, items })),
  );
  const refused = own.flatMap(({ at, refusals }) =>
    refusals.map(({ kind, reason, requests, items }) => ({
      at,
      key: kind === 'duplicate' ? 'duplicate' : `${kind} ${reason}`,
      items: kind === 'value_lost' ? items : requests,
    })),
  );
  const fixed = (key: 'stored' | 'dead_lettered', label: string, mark: number): Series => ({
    ...{ key, label, mark },
    values: valuesOf(plain(key), new Set([key]), times, size),
  });
  const all = [...plain('stored'), ...plain('dead_lettered'), ...dropped];
  return {
    times,
    outcomes: [
      fixed('stored', 'stored', 0),
      ...ranked(dropped, times, size, 1),
      fixed('dead_lettered', 'dead-lettered', 6),
    ],
    refusals: ranked(refused, times, size, 1).map((each) => ({
      ...each,
      label: each.label.replace('value_lost', 'value lost:').replace('refused ', 'refused: '),
    })),
    sums: sumBy(all),
    bucketsAt: (at) => own.filter((each) => at === undefined || each.at === at),
    sumsAt: (at) => sumBy(at === undefined ? all : all.filter((count) => count.at === at)),
  };
};

/** One series of a chart: a value for each bucket, null where nothing is known. */
export type Series = {
  /** Names it in the address; from a closed list and not from a sender. */
  readonly key: string;
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Its colour and pattern, below `marks`: the same number is the same thing on every chart of a page. */
  readonly mark: number;
};

/** How many colours and patterns there are. */
export const marks = 8;

export type ChartKind = 'bars' | 'lines';

/** Sums of the shown series at each bucket. */
export const totalsOf = (series: readonly Series[], count: number): number[] =>
  Array.from({ length: count }, (_, index) =>
    series.reduce((sum, { values }) => sum + Math.max(0, values[index] ?? 0), 0),
  );

type Cut = { since: number; until: number; buckets: readonly number[]; step: number | null };

/** Counts as a rate a second: of the first and the last bucket, the part inside the period. */
export const ratesOf = (counts: readonly number[], { since, until, buckets, step }: Cut): number[] =>
  counts.map((count, index) => {
    const at = buckets[index] ?? since;
    return count / (Math.min(until, at + (step ?? 60)) - Math.max(since, at));
  });

/** Each value as its share of the sum at its bucket; where nothing was counted, 0. */
export const sharesOf = (series: readonly Series[], count: number): Series[] => {
  const totals = totalsOf(series, count);
  return series.map((each) => ({
    ...each,
    values: each.values.map((value, index) =>
      value === null || (totals[index] ?? 0) === 0 ? 0 : value / (totals[index] ?? 1),
    ),
  }));
};

/** The runs of known values as a path: a gap where one is not known. `x` and `y` in pixels. */
export const linePath = (
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string => {
  let path = '';
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value === null || !Number.isFinite(value)) {
      isOpen = false;
      continue;
    }
    path += `${isOpen ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    // A value between two gaps would be a line without a length.
    if (!isOpen && (values[index + 1] ?? null) === null) path += 'h0.1';
    isOpen = true;
  }
  return path;
};

/** Puts values of bucket starts into the buckets of a range, 0 where there are none. `times` in even steps. */
export const bucketTimes = (since: number, until: number, step: number): number[] => {
  const first = since - (since % step);
  return Array.from(
    { length: Math.max(1, Math.floor((until - first) / step) + 1) },
    (_, index) => first + index * step,
  );
};

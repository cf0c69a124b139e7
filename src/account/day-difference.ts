/** Rows and the sum of their uids modulo 2^64. */
export type RowSum = { readonly rows: number; readonly sum: bigint };

/** Rows of an event day as its store counts them for itself, and a text that changes where they are rewritten. */
export type DaySize = { readonly rows: number; readonly mark: string };

/**
 * The same of a store, and once more of its distinct uids where they were read. `lastingCopies`: rows with the uid of another one that the
 * store never removes, because they differ in its key.
 */
export type StoreRows = RowSum & {
  readonly distinct?: RowSum | undefined;
  readonly lastingCopies?: number | undefined;
};

/**
 * What the records say of one owner and event day: read before the store, and after it. `isUnknown`: rows may be there that no record
 * names by day (records of earlier programs, and of messages with too many days). `expired`: as many of the rows may have had records that have expired.
 * `repeated`: rows beyond the records that are there of requests that were settled again.
 */
export type SettledRows = {
  readonly before: RowSum;
  readonly after: RowSum;
  readonly isUnknown: boolean;
  readonly expired?: number;
  readonly repeated?: RowSum | undefined;
};

export const differenceKinds = ['missing_in_the_store', 'unrecorded', 'unmerged', 'not_known'] as const;

/**
 * missing_in_the_store: recorded rows that are not there. unrecorded: rows that no record names. unmerged: copies of rows, which
 * collapse by themselves. not_known: what is more than the records name, while records are there that name no days.
 */
export type DifferenceKind = (typeof differenceKinds)[number];

export type Difference = { readonly kind: DifferenceKind; readonly rows: number };

/**
 * `equal`, or the differences, with the fewest rows that explain the counts: where rows were lost and others came in, only what is left
 * of the larger number shows, and one of each where both are as many. `in_flight`: records or rows were on their way, and nothing is
 * certain.
 */
export type DayResult =
  | { readonly state: 'equal' }
  | { readonly state: 'in_flight' }
  | { readonly state: 'differs'; readonly differences: readonly Difference[] };

export const noRows: RowSum = { rows: 0, sum: 0n };
const equal: DayResult = { state: 'equal' };
const inFlight: DayResult = { state: 'in_flight' };

export const isSame = (a: RowSum, b: RowSum): boolean => a.rows === b.rows && a.sum === b.sum;

const isStable = ({ before, after }: SettledRows): boolean => isSame(before, after);

/**
 * Whether the distinct uids are needed. Between the two readings of the records rows may come: then only a store with fewer rows than
 * both say, or with more, is certain to differ.
 */
export const needsDistinct = (settled: SettledRows, store: RowSum): boolean => {
  const { before, after } = settled;
  if (isStable(settled)) return !isSame(before, store);
  return store.rows < Math.min(before.rows, after.rows) || store.rows > Math.max(before.rows, after.rows);
};

/** Copies of rows: those that collapse by themselves, and those that stay. */
const copies = (rows: number, lasting: number): Difference[] => [
  { kind: 'unmerged', rows: rows - lasting },
  { kind: 'unrecorded', rows: lasting },
];

/** The rows of each kind, without kinds that have none. */
export const sumByKind = (all: readonly Difference[]): Difference[] =>
  differenceKinds.flatMap((kind) => {
    const rows = all.reduce((sum, each) => sum + (each.kind === kind ? each.rows : 0), 0);
    return rows === 0 ? [] : [{ kind, rows }];
  });

const sumOf = (a: RowSum, b: RowSum): RowSum => ({
  rows: a.rows + b.rows,
  sum: BigInt.asUintN(64, a.sum + b.sum),
});

/** The records with what an earlier try of a repeated request has stored. Where they change, that only explains rows too many. */
const withRepeated = (settled: SettledRows, isCaughtUp: boolean): SettledRows => {
  const { before, after, expired = 0, repeated = noRows } = settled;
  if (!isStable(settled)) return { ...settled, expired: expired + repeated.rows };
  return isCaughtUp
    ? { ...settled, before: sumOf(before, repeated), after: sumOf(after, repeated) }
    : settled;
};

/**
 * Compares the records of an owner and event day with the rows of the store. `isCaughtUp`: after the store was read, and before the
 * second reading of the records, everything that was on its way was recorded; without it rows beyond the records are in flight.
 * `collapses`: the store removes copies of a row by itself. A store that differs (`needsDistinct`) comes with its distinct uids.
 */
export const compareDay = (
  named: SettledRows,
  store: StoreRows,
  { isCaughtUp, collapses }: { readonly isCaughtUp: boolean; readonly collapses: boolean },
): DayResult => {
  const settled = withRepeated(named, isCaughtUp);
  const { before, after, isUnknown, expired = 0 } = settled;
  if (!needsDistinct(settled, store)) return isStable(settled) ? equal : inFlight;
  const found = store.distinct ?? store;
  const least = Math.min(before.rows, after.rows);
  const most = Math.max(before.rows, after.rows);
  const doubled = store.rows - found.rows;
  const lasting = collapses ? Math.min(doubled, store.lastingCopies ?? 0) : doubled;
  const of = (...differences: Difference[]): DayResult => {
    const all = sumByKind([...differences, ...copies(doubled, lasting)]);
    return all.length === 0 ? inFlight : { state: 'differs', differences: all };
  };
  if (found.rows < least) return of({ kind: 'missing_in_the_store', rows: least - found.rows });
  if (isStable(settled) && isSame(found, before)) return of();
  if (!isCaughtUp) return inFlight;
  if (found.rows > most) {
    const rows = Math.max(0, found.rows - most - expired);
    if (rows === 0 && doubled === 0) return equal;
    return of({ kind: isUnknown ? 'not_known' : 'unrecorded', rows });
  }
  if (!isStable(settled)) return of();
  if (isUnknown) return of({ kind: 'not_known', rows: 1 });
  // As many uids as recorded, and not the same ones.
  return of({ kind: 'missing_in_the_store', rows: 1 }, { kind: 'unrecorded', rows: 1 });
};

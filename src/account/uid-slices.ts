import type { Pipeline } from '../model/signals.ts';
import { noRows, type RowSum } from './day-difference.ts';

/**
 * Rows of an owner and event day by slices of their uids (`uid >> sliceBits`). A hashed base falls into any of 65,536 slices, so most of
 * them rest while others are written to. Counted bases grow, so those of a process share one slice, and the newest are left out
 * (`UidRange`).
 */
export type UidSlices = ReadonlyMap<number, RowSum>;

/** Uids from `from` to before `until`. */
export type UidRange = { readonly from: bigint; readonly until: bigint };

const sliceBits = 46;

/** What a store is asked for: the slices of an owner and event day, without the uids of these ranges. */
export type SlicesAsked = { readonly day: number; readonly without: readonly UidRange[] };

/** The same of distinct uids, where `rows` of the day are in `slices`. */
export type DistinctAsked = SlicesAsked & {
  readonly slices: readonly number[];
  readonly rows: number;
  /** Uids of a slice, where they are not `sliceUids`. */
  readonly sliceSize?: number;
};

/** The rows of one owner in its store, by slices of their uids. */
export type SlicedStore = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  /** The store removes copies of a row by itself. */
  readonly collapses: boolean;
  /** When records of rows of this event day may have arrived at the earliest, Unix seconds. */
  recordedSince(day: number): number;
  slices(asked: SlicesAsked): Promise<UidSlices>;
  distinctSlices(asked: DistinctAsked): Promise<UidSlices>;
};

/** Uids of a slice. */
export const sliceUids = 2 ** sliceBits;

/** Without the uids of these ranges, in the SQL of both stores. */
export const withoutSql = (uid: string, ranges: readonly UidRange[]): string[] =>
  ranges.map(({ from, until }) => `NOT (${uid} >= ${from} AND ${uid} < ${until})`);

/** More slices than these are read together with all others. */
export const slicesNamedMax = 500;

/** Only these slices, in the SQL of both stores; none for many of them. */
export const onlySql = (slice: string, slices: readonly number[]): string[] =>
  slices.length > slicesNamedMax ? [] : [`${slice} IN (${slices.join(', ')})`];

/** Distinct uids of `rows` rows, in as many readings as hold `rowsMax` each in memory: a part has the uids with one remainder. */
export const readInParts = async (
  rows: number,
  rowsMax: number,
  read: (parts: number, part: number) => Promise<UidSlices>,
): Promise<UidSlices> => {
  const all = new Map<number, RowSum>();
  const parts = Math.max(1, Math.ceil(rows / rowsMax));
  for (let part = 0; part < parts; part++)
    for (const [slice, found] of await read(parts, part)) {
      const known = all.get(slice) ?? noRows;
      all.set(slice, {
        rows: known.rows + found.rows,
        sum: BigInt.asUintN(64, known.sum + found.sum),
      });
    }
  return all;
};

/** Whether the uids of a slice are counted: those of requests with an identity have bit 62. */
export const isCounted = (slice: number): boolean => slice < 2 ** (62 - sliceBits);

import type { Pipeline } from '../model/signals.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import {
  compareDay,
  type Difference,
  type DifferenceKind,
  differenceKinds,
  isSame,
  noRows,
} from './day-difference.ts';
import { readFreshUids, readSettledSlices } from './settled-days.ts';
import type { DistinctAsked, SlicesAsked, UidSlices } from './uid-slices.ts';

/** The rows of one owner in its store, by slices of their uids. */
export type SlicedStore = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  /** The store removes copies of a row by itself. */
  readonly collapses: boolean;
  slices(asked: SlicesAsked): Promise<UidSlices>;
  distinctSlices(asked: DistinctAsked): Promise<UidSlices>;
};

/** Records and rows of a day that is written to, as they were read one after the other. */
export type SteadyReading = {
  readonly asked: SlicesAsked;
  readonly recorded: UidSlices;
  readonly stored: UidSlices;
};

/** What a reading says of slices: how they differ (not at all: an empty list), or nothing where records came meanwhile. */
export type Judged = {
  /** All slices of records or rows that differ, or may. */
  readonly slices: ReadonlySet<number>;
  readonly of: (slice: number) => readonly Difference[] | undefined;
};

const sumAt = (slices: UidSlices, slice: number) => slices.get(slice) ?? noRows;

/** What was recorded in these seconds may have company on its way. Each round leaves out another number of rows. */
const freshSeconds = { first: 30, more: 15 };

/** Undefined where too many processes hand out counted uids. Throws the Faults of the stores. */
export const readSteady = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  day: number,
  round: number,
): Promise<SteadyReading | undefined> => {
  const seconds = freshSeconds.first + round * freshSeconds.more;
  const without = await readFreshUids(clickhouse, store.pipeline, store.owner, seconds);
  if (without === undefined) return undefined;
  const asked = { day, without };
  const recorded = await readSettledSlices(clickhouse, store.pipeline, store.owner, asked);
  return { asked, recorded, stored: await store.slices(asked) };
};

/**
 * Judges a reading by the records of afterwards. Slices whose records have changed in between are not judged, and those with rows beyond
 * the records only if everything that was on its way was recorded (`isCaughtUp`).
 */
export const judgeSteady = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  { asked, recorded, stored }: SteadyReading,
  isCaughtUp: boolean,
): Promise<Judged> => {
  const { pipeline, owner, collapses } = store;
  const after = await readSettledSlices(clickhouse, pipeline, owner, asked);
  const isStable = (slice: number): boolean => isSame(sumAt(recorded, slice), sumAt(after, slice));
  const slices = new Set([...recorded.keys(), ...stored.keys(), ...after.keys()]);
  const differing = [...slices].filter(
    (slice) => isStable(slice) && !isSame(sumAt(recorded, slice), sumAt(stored, slice)),
  );
  const rows = differing.reduce((sum, slice) => sum + sumAt(stored, slice).rows, 0);
  const distinct: UidSlices =
    rows === 0 ? new Map() : await store.distinctSlices({ ...asked, slices: differing, rows });
  return {
    slices,
    of: (slice) => {
      if (!isStable(slice)) return undefined;
      const settled = { before: sumAt(recorded, slice), after: sumAt(after, slice), isUnknown: false };
      const found = { ...sumAt(stored, slice), distinct: sumAt(distinct, slice) };
      const isEqual = isSame(settled.before, found);
      const result = isEqual ? undefined : compareDay(settled, found, { isCaughtUp, collapses });
      if (result === undefined || result.state === 'equal') return [];
      return result.state === 'differs' ? result.differences : undefined;
    },
  };
};

type Known = {
  readonly differences: readonly Difference[];
  readonly text: string;
  readonly readings: number;
};

/** A message may have uids on both sides of the newest that a reading takes: the next one ends elsewhere. */
const readingsMin = 2;

/** What several readings of one day say together: only what two of them found alike. */
export class SteadyDay {
  private readonly known = new Map<number, Known>();
  private unjudged: Set<number> | undefined;
  private readings = 0;

  add({ slices, of }: Judged): void {
    this.readings++;
    const unjudged = new Set<number>();
    for (const slice of new Set([...slices, ...this.known.keys()])) {
      const differences = of(slice);
      if (differences === undefined) {
        unjudged.add(slice);
        continue;
      }
      const text = JSON.stringify(differences);
      const before = this.known.get(slice);
      if (differences.length === 0) this.known.delete(slice);
      else
        this.known.set(slice, {
          differences,
          text,
          readings: before?.text === text ? before.readings + 1 : 1,
        });
    }
    const before = this.unjudged;
    this.unjudged = before === undefined ? unjudged : unjudged.intersection(before);
  }

  /** Whether a difference was found that another reading has to confirm. */
  get isAsking(): boolean {
    return this.known.values().some(({ readings }) => readings < readingsMin);
  }

  /** Whether every slice was judged, and nothing is to be confirmed: all but the newest rows are compared. */
  get isWhole(): boolean {
    return this.readings > 0 && this.unjudged?.size === 0 && !this.isAsking;
  }

  /** The rows of each kind. */
  get rows(): ReadonlyMap<DifferenceKind, number> {
    const all = this.known.values().filter(({ readings }) => readings >= readingsMin);
    return sumOfKinds([...all].flatMap(({ differences }) => differences));
  }
}

/** The rows of each kind, without kinds that have none. */
export const sumOfKinds = (differences: readonly Difference[]): Map<DifferenceKind, number> => {
  const sums = new Map<DifferenceKind, number>();
  for (const kind of differenceKinds) {
    const rows = differences.reduce((sum, each) => sum + (each.kind === kind ? each.rows : 0), 0);
    if (rows > 0) sums.set(kind, rows);
  }
  return sums;
};

import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { compareDay, type Difference, isSame, noRows, type RowSum, sumByKind } from './day-difference.ts';
import { readRepeatedRows } from './repeated-rows.ts';
import { readFreshUids, readSettledSlices } from './settled-days.ts';
import { isCounted, type SlicedStore, type SlicesAsked, type UidSlices } from './uid-slices.ts';

/** Records and rows of a day that is written to, as they were read one after the other: the slices that differ. */
export type SteadyReading = {
  readonly asked: SlicesAsked;
  readonly differing: ReadonlyMap<number, { readonly recorded: RowSum; readonly stored: RowSum }>;
};

/** How a slice differs, and a text that is the same for the same rows alone. */
type SliceDifference = { readonly differences: readonly Difference[]; readonly text: string };

/** What a reading says of slices; those that are in neither are equal. */
export type Judged = {
  readonly differing: ReadonlyMap<number, SliceDifference>;
  /** Their records have changed in between, or rows beyond the records may be on their way. */
  readonly open: ReadonlySet<number>;
  /** Where the counted uids of the reading end; empty: nowhere. */
  readonly ends: string;
};

const sumAt = (slices: UidSlices, slice: number): RowSum => slices.get(slice) ?? noRows;

/**
 * Leaves out the counted uids of the last `freshSeconds`. Undefined where too many processes hand them out. Throws the Faults of the
 * stores.
 */
export const readSteady = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  day: number,
  freshSeconds: number,
): Promise<SteadyReading | undefined> => {
  const without = await readFreshUids(clickhouse, store.pipeline, store.owner, freshSeconds);
  if (without === undefined) return undefined;
  const asked = { day, without };
  const recorded = await readSettledSlices(clickhouse, store.pipeline, store.owner, asked);
  const stored = await store.slices(asked);
  const slices = [...new Set([...recorded.keys(), ...stored.keys()])];
  return {
    asked,
    differing: new Map(
      slices
        .map((slice) => [slice, { recorded: sumAt(recorded, slice), stored: sumAt(stored, slice) }] as const)
        .filter(([, each]) => !isSame(each.recorded, each.stored)),
    ),
  };
};

/**
 * Judges a reading by the records of afterwards. Slices whose records have changed in between are open, and so are those with rows beyond
 * the records, unless everything that was on its way was recorded (`isCaughtUp`).
 */
export const judgeSteady = async (
  clickhouse: Clickhouse,
  store: SlicedStore,
  { asked, differing }: SteadyReading,
  isCaughtUp: boolean,
): Promise<Judged> => {
  const { pipeline, owner, collapses } = store;
  const ends = asked.without.map(({ from }) => from).join(' ');
  const found = new Map<number, SliceDifference>();
  const open = new Set<number>();
  if (differing.size === 0) return { differing: found, open, ends };
  const after = await readSettledSlices(clickhouse, pipeline, owner, asked);
  const stable = [...differing].filter(([slice, { recorded }]) => isSame(recorded, sumAt(after, slice)));
  for (const slice of differing.keys()) open.add(slice);
  const rows = stable.reduce((sum, [, { stored }]) => sum + stored.rows, 0);
  const slices = stable.map(([slice]) => slice);
  // Before the distinct uids: rows that come in between show as more of these than were stored.
  const repeated = await readRepeatedRows(clickhouse, store, asked.day, slices);
  const distinct: UidSlices = rows === 0 ? new Map() : await store.distinctSlices({ ...asked, slices, rows });
  for (const [slice, { recorded, stored }] of stable) {
    const uids = sumAt(distinct, slice);
    // Rows that came after the store was read.
    if (uids.rows > stored.rows) continue;
    const settled = {
      ...{ before: recorded, after: recorded },
      // No request with an identity has counted uids.
      ...{ isUnknown: repeated === undefined && !isCounted(slice), repeated: repeated?.get(slice) },
    };
    const result = compareDay(settled, { ...stored, distinct: uids }, { isCaughtUp, collapses });
    if (result.state === 'equal') open.delete(slice);
    if (result.state !== 'differs') continue;
    const { differences } = result;
    const text = `${JSON.stringify(differences)} ${BigInt.asUintN(64, recorded.sum - stored.sum)}`;
    found.set(slice, { differences, text });
    open.delete(slice);
  }
  return { differing: found, open, ends };
};

type Known = SliceDifference & { readonly ends: string; readonly isConfirmed: boolean };

/**
 * What several readings of one day say together. A message may have counted uids on both sides of an end, so what differs counts once
 * another reading has found the same rows, of counted uids one with another end.
 */
export class SteadyDay {
  private readonly known = new Map<number, Known>();
  private open: ReadonlySet<number> | undefined;

  add({ differing, open, ends }: Judged): void {
    for (const [slice, { isConfirmed }] of this.known) {
      // A later reading ends earlier: it does not have all counted uids of the one before.
      const isJudged = !differing.has(slice) && !open.has(slice) && !(isConfirmed && isCounted(slice));
      if (isJudged) this.known.delete(slice);
    }
    for (const [slice, each] of differing) {
      const before = this.known.get(slice);
      const isOther = ends === '' || ends !== before?.ends || !isCounted(slice);
      const isConfirmed = before?.text === each.text && (before.isConfirmed || isOther);
      this.known.set(slice, { ...each, ends, isConfirmed });
    }
    this.open = this.open === undefined ? open : new Set(open).intersection(this.open);
  }

  /** Whether a difference was found that another reading has to confirm. */
  get isAsking(): boolean {
    return this.known.values().some(({ isConfirmed }) => !isConfirmed);
  }

  /** Whether every slice was judged, and nothing is to be confirmed: all but the newest rows are compared. */
  get isWhole(): boolean {
    return this.open?.size === 0 && !this.isAsking;
  }

  get differences(): Difference[] {
    const confirmed = this.known.values().filter(({ isConfirmed }) => isConfirmed);
    return sumByKind([...confirmed].flatMap(({ differences }) => differences));
  }
}

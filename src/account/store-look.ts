import { z } from 'zod';
import type { Pipeline } from '../outcomes/rows.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Difference, streamOfStore } from './difference.ts';
import type { FoundDifferences } from './found.ts';
import { type PointsTable, readPointPartitions } from './point-rows.ts';
import { readSpanParts } from './span-rows.ts';
import { compareStores, type StoreDifference, type StoreTargets } from './store-compare.ts';

/** Compares the stores with the records at a bounded cost: counts of partitions first, and in earnest only what they do not explain. */
export type StoreLook = {
  /** Looks at every owner and day that differs by count, or did when it was compared last. Throws the Faults of ClickHouse. */
  look(): Promise<StoreFindings>;
  /** Rows of the last days that the store has of this owner and no record names; of the last 20 s. */
  unrecorded(pipeline: Pipeline, owner: number): Promise<number>;
};

/** An owner and an event day (days since 1970). */
export type StorePlace = { readonly pipeline: Pipeline; readonly owner: number; readonly day: number };

export type StoreFindings = {
  readonly differences: readonly StoreDifference[];
  /** What was compared in earnest: what it had before and is not among the differences is gone. */
  readonly compared: readonly StorePlace[];
};

const count = z.coerce.number();
const expectedRow = z.object({
  pipeline: z.enum(['metrics', 'traces']),
  owner: count,
  day: count,
  rows: count,
});

const expectedQuery = `SELECT pipeline, if(pipeline = 'metrics', data_id, app_id) AS owner, day, sum(rows) AS rows
  FROM ${database}.ingest_days GROUP BY pipeline, owner, day`;

const textOf = ({ pipeline, owner, day }: StorePlace): string => `${pipeline} ${owner} ${day}`;

/** Owners that one look compares in earnest. */
const ownersPerLook = 50;
const cachedMs = 20_000;
const dayMs = 86_400_000;

/** A difference of counts that a comparison has explained: by lines that were written twice, by records of earlier programs. */
type Explained = Map<string, number>;

class CountedStoreLook implements StoreLook {
  private readonly targets: () => StoreTargets;
  private readonly explained: Explained = new Map();
  private readonly differing = new Set<string>();
  private readonly cache = new Map<string, { readonly at: number; readonly rows: number }>();

  constructor(targets: () => StoreTargets) {
    this.targets = targets;
  }

  async look(): Promise<StoreFindings> {
    const targets = this.targets();
    const surplus = await this.readSurplus(targets);
    const suspects = new Map<string, { pipeline: Pipeline; owner: number; days: number[] }>();
    for (const { place, rows } of surplus) {
      const key = textOf(place);
      if ((this.explained.get(key) ?? 0) === rows && !this.differing.has(key)) continue;
      const owner = `${place.pipeline} ${place.owner}`;
      const known = suspects.get(owner);
      if (known !== undefined) known.days.push(place.day);
      else if (suspects.size < ownersPerLook)
        suspects.set(owner, { pipeline: place.pipeline, owner: place.owner, days: [place.day] });
    }
    const differences: StoreDifference[] = [];
    const compared: StorePlace[] = [];
    for (const { pipeline, owner, days } of suspects.values()) {
      const result = await compareStores(targets, { pipeline, owner, days });
      const open = new Set(
        [...result.differences, ...result.inFlight].flatMap(({ day }) => (day === undefined ? days : [day])),
      );
      differences.push(...result.differences.filter(({ day }) => day !== undefined));
      for (const day of days) {
        const place = { pipeline, owner, day };
        if (!result.inFlight.some((each) => each.day === day)) compared.push(place);
        if (open.has(day)) this.differing.add(textOf(place));
        else this.differing.delete(textOf(place));
      }
    }
    for (const { place, rows } of surplus)
      if (!this.differing.has(textOf(place))) this.explained.set(textOf(place), rows);
    return { differences, compared };
  }

  async unrecorded(pipeline: Pipeline, owner: number): Promise<number> {
    const key = `${pipeline} ${owner}`;
    const known = this.cache.get(key);
    const now = performance.now();
    if (known !== undefined && now - known.at < cachedMs) return known.rows;
    const today = Math.floor(Date.now() / dayMs);
    const { differences } = await compareStores(this.targets(), {
      pipeline,
      owner,
      days: [today - 1, today, today + 1],
    });
    const rows = differences.reduce((sum, { kind, items }) => sum + (kind === 'unrecorded' ? items : 0), 0);
    this.cache.set(key, { at: now, rows });
    return rows;
  }

  /** Rows of the store less those of the lines, for each owner and day that has any. Of spans a day is suspect as a whole. */
  private async readSurplus(targets: StoreTargets): Promise<{ place: StorePlace; rows: number }[]> {
    const { clickhouse, points, isLeftOut } = targets;
    const expected = await clickhouse.rows(expectedRow, expectedQuery);
    const surplus = new Map<string, { place: StorePlace; rows: number }>();
    for (const { pipeline, owner, day, rows } of expected)
      if (pipeline === 'metrics' && !isLeftOut(pipeline, owner))
        surplus.set(textOf({ pipeline, owner, day }), { place: { pipeline, owner, day }, rows: -rows });
    await addPoints(
      points.filter(({ dataId }) => !isLeftOut('metrics', dataId)),
      surplus,
    );
    return [...surplus.values(), ...(await spanSurplus(clickhouse, expected))];
  }
}

const addPoints = async (
  tables: readonly PointsTable[],
  surplus: Map<string, { place: StorePlace; rows: number }>,
): Promise<void> => {
  for (const table of tables) {
    // An instance that does not answer tells nothing of its tables.
    const days = await readPointPartitions(table).catch(() => undefined);
    const owner = table.dataId;
    if (days === undefined) {
      for (const [key, { place }] of surplus)
        if (place.pipeline === 'metrics' && place.owner === owner) surplus.delete(key);
      continue;
    }
    for (const [day, rows] of days) {
      const place = { pipeline: 'metrics', owner, day } as const;
      const key = textOf(place);
      surplus.set(key, { place, rows: rows + (surplus.get(key)?.rows ?? 0) });
    }
  }
};

/** Parts hold the rows of all applications: where a day's count differs, each of its applications is suspect by as much. */
const spanSurplus = async (
  clickhouse: Clickhouse,
  expected: readonly z.output<typeof expectedRow>[],
): Promise<{ place: StorePlace; rows: number }[]> => {
  const parts = await readSpanParts(clickhouse);
  const days = Map.groupBy(
    expected.filter(({ pipeline }) => pipeline === 'traces'),
    ({ day }) => day,
  );
  return [...days].flatMap(([day, owners]) => {
    const rows = (parts.get(day) ?? 0) - owners.reduce((sum, each) => sum + each.rows, 0);
    return owners.map(({ owner }) => ({ place: { pipeline: 'traces', owner, day } as const, rows }));
  });
};

const storeKinds = new Set(['missing_in_the_store', 'unmerged']);

/** Found by a comparison with a store: an unrecorded one without messages. */
const isOfStore = ({ kind, messages }: Difference): boolean =>
  storeKinds.has(kind) || (kind === 'unrecorded' && messages === 0);

const secondsOfDay = 86_400;

/**
 * Adds what a look at the stores found. Rows whose missing line the books have noticed already are not named twice; a day that is not
 * known for its records of earlier programs is no difference.
 */
export const addStoreFindings = async (
  found: FoundDifferences,
  { differences, compared }: StoreFindings,
): Promise<void> => {
  if (compared.length === 0) return;
  const named = new Map<string, number>();
  for (const each of found.all) {
    if (each.kind !== 'unrecorded' || isOfStore(each)) continue;
    const owner = `${each.pipeline} ${each.dataId || each.appId}`;
    named.set(owner, each.items + (named.get(owner) ?? 0));
  }
  const now = differences.flatMap(({ pipeline, dataId, appId, day, kind, items }): Difference[] => {
    if (day === undefined || kind === 'not_known') return [];
    const owner = `${pipeline} ${dataId || appId}`;
    const known = kind === 'unrecorded' ? Math.min(items, named.get(owner) ?? 0) : 0;
    named.set(owner, (named.get(owner) ?? 0) - known);
    if (items === known) return [];
    const stream = streamOfStore[pipeline];
    const minute = day * secondsOfDay;
    return [{ pipeline, dataId, appId, kind, stream, minute, items: items - known, messages: 0 }];
  });
  const places = new Set(compared.map(textOf));
  const isCompared = ({ pipeline, dataId, appId, minute }: Difference): boolean =>
    places.has(textOf({ pipeline, owner: dataId || appId, day: minute / secondsOfDay }));
  await found.replace((each) => isOfStore(each) && isCompared(each), now);
};

export const createStoreLook = (targets: () => StoreTargets): StoreLook => new CountedStoreLook(targets);

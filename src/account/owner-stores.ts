import { errorText } from '../model/fault.ts';
import type { ApplicationPipeline, Pipeline } from '../model/signals.ts';
import { dayMs, firstKeptDay } from '../model/time.ts';
import { secondsMax } from '../outcomes/times.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import {
  readApplicationDays,
  readDistinctRowSlices,
  readDistinctRows,
  readLastingCopies,
  readRowSlices,
} from './application-rows.ts';
import type { CaughtUp } from './caught-up.ts';
import { noRows, type RowSum } from './day-difference.ts';
import {
  isRefusal,
  type PointsStore,
  type PointsTable,
  readDistinctPointSlices,
  readDistinctPoints,
  readPointDays,
  readPointSlices,
  readPointsStore,
  whyUnknown,
} from './point-rows.ts';
import { type DayFilter, readItemsFrom, type SettledDays } from './settled-days.ts';
import type { DistinctAsked, SlicedStore, SlicesAsked, UidSlices } from './uid-slices.ts';

/** Where the rows and their records are. */
export type StoreTargets = {
  readonly clickhouse: Clickhouse;
  /** The tables of the data ids whose rows are kept: neither deleted nor purged. */
  readonly points: readonly PointsTable[];
  /** Owners that are purged, of whom nobody knows what was removed on purpose, or otherwise no matter of this account. */
  readonly isLeftOut: (pipeline: Pipeline, owner: number) => boolean;
  /** Waits for what is on its way to these owners, and says of whom all is recorded. */
  readonly caughtUp: CaughtUp;
  /** The first event day whose rows no policy of the owner can have removed; without it none has removed any. */
  readonly keptFrom?: (pipeline: Pipeline, owner: number) => number;
  /** How far ahead of their arrival items of the owner may be, ms; undefined: there is no bound. Without it the bound is small. */
  readonly aheadMsMax?: (pipeline: Pipeline, owner: number) => number | undefined;
  readonly now?: () => number;
  /** Between two rounds, for what is in flight. */
  readonly pause?: () => Promise<void>;
};

/** The rows of one owner in its store. */
export type OwnerStore = SlicedStore & {
  readonly days: ReadonlyMap<number, RowSum>;
  /** Event days whose rows its store refuses to read: they are not compared. */
  readonly unread?: ReadonlyMap<number, unknown>;
  /** Event days before this one are not compared: their rows or records may have expired. */
  readonly dayFirst: number;
  readonly distinct: (day: number, rows: number) => Promise<RowSum>;
  /** Rows of a day with the uid of another one that the store does not remove; without it, all of them where it removes none. */
  readonly lastingCopies?: (day: number, rows: number) => Promise<number>;
};

/** An owner whose rows cannot be read. */
export type Unknown = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  readonly why: string;
  /** Its store refuses to read the rows of this event day; without a day, it did not answer, or nothing is known of any day. */
  readonly day?: number;
};
export type Stores = { readonly known: readonly OwnerStore[]; readonly unknown: readonly Unknown[] };

const noSlices: UidSlices = new Map();

/** Of an owner whose items are this far ahead of their arrival at most. A day more, because each process has a clock of its own. */
const recordedSinceOf =
  (aheadMsMax: StoreTargets['aheadMsMax'], pipeline: Pipeline, owner: number) =>
  (day: number): number => {
    const aheadMs = aheadMsMax === undefined ? 0 : aheadMsMax(pipeline, owner);
    const seconds = aheadMs === undefined ? 0 : Math.floor(((day - 1) * dayMs - aheadMs) / 1_000);
    return Math.min(Math.max(0, seconds), secondsMax);
  };

const isWanted = ({ pipeline, owner }: DayFilter, ofPipeline: Pipeline, ofOwner?: number): boolean =>
  (pipeline === undefined || pipeline === ofPipeline) &&
  (owner === undefined || ofOwner === undefined || owner === ofOwner);

const pointsPipeline = 'metrics';

/** One data id, whose table is in this state. Throws the Faults of QuestdbSql. */
const readPointOwner = async (
  table: PointsTable,
  { states, ttls }: PointsStore,
  { keptFrom, aheadMsMax, now = Date.now }: StoreTargets,
  filter: DayFilter,
  recordsFrom: number,
): Promise<Stores> => {
  const owner = { pipeline: pointsPipeline, owner: table.dataId } as const;
  const state = states.get(table.table);
  const why = whyUnknown(state);
  if (why !== undefined) return { known: [], unknown: [{ ...owner, why }] };
  const isThere = state !== undefined;
  const { days, refused } = isThere
    ? await readPointDays(table, filter.days)
    : { days: new Map(), refused: new Map() };
  const store: OwnerStore = {
    ...{ ...owner, days, unread: refused, collapses: false },
    recordedSince: recordedSinceOf(aheadMsMax, pointsPipeline, table.dataId),
    dayFirst: Math.max(
      recordsFrom,
      firstKeptDay(now(), ttls.get(table.table)),
      keptFrom?.(pointsPipeline, table.dataId) ?? 0,
    ),
    distinct: async (day, rows) => (isThere ? readDistinctPoints(table, day, rows) : noRows),
    slices: async (asked) => (isThere ? readPointSlices(table, asked) : noSlices),
    distinctSlices: async (asked) => (isThere ? readDistinctPointSlices(table, asked) : noSlices),
  };
  const unread = [...refused].filter(([day]) => day >= store.dayFirst);
  return { known: [store], unknown: unread.map(([day, reason]) => ({ ...owner, day, why: reason })) };
};

/** An owner whose table QuestDB refuses to read: of it, all days that the records name. */
export const refusedOwner = (
  owner: number,
  why: string,
  filter: DayFilter,
  settled: SettledDays,
  dayFirst: number,
): Unknown[] => {
  const named = [...(settled.get(pointsPipeline)?.get(owner)?.days.keys() ?? [])];
  const days = named.filter((day) => day >= dayFirst && filter.days?.includes(day) !== false);
  const ofOwner = { pipeline: pointsPipeline, owner, why } as const;
  return [ofOwner, ...days.map((day) => ({ ...ofOwner, day }))];
};

/** The data ids of one instance. One that does not answer is not asked for the others; a table that it refuses to read hides no other. */
const readInstance = async (
  tables: readonly PointsTable[],
  sql: PointsTable['sql'],
  read: (table: PointsTable, store: PointsStore) => Promise<Stores>,
  refused: (table: PointsTable, why: string) => Unknown[],
): Promise<Stores> => {
  const known: OwnerStore[] = [];
  const unknown: Unknown[] = [];
  let left = tables;
  try {
    const store = await readPointsStore(sql, new Set(tables.map(({ table }) => table)));
    for (const [index, each] of tables.entries()) {
      left = tables.slice(index);
      const found = await read(each, store).catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        return { known: [], unknown: refused(each, error.message) };
      });
      known.push(...found.known);
      unknown.push(...found.unknown);
    }
  } catch (error) {
    for (const { dataId: owner } of left)
      unknown.push({ pipeline: pointsPipeline, owner, why: errorText(error) });
  }
  return { known, unknown };
};

export const readPointStores = async (
  targets: StoreTargets,
  filter: DayFilter,
  settled: SettledDays,
  recordsFrom: number,
): Promise<Stores> => {
  if (!isWanted(filter, pointsPipeline)) return { known: [], unknown: [] };
  const { points, isLeftOut } = targets;
  const wanted = points.filter(
    ({ dataId }) => isWanted(filter, pointsPipeline, dataId) && !isLeftOut(pointsPipeline, dataId),
  );
  const instances: Stores[] = [];
  for (const [sql, tables] of Map.groupBy(wanted, (each) => each.sql))
    instances.push(
      await readInstance(
        tables,
        sql,
        (each, store) => readPointOwner(each, store, targets, filter, recordsFrom),
        ({ dataId }, why) =>
          refusedOwner(
            dataId,
            why,
            filter,
            settled,
            Math.max(recordsFrom, targets.keptFrom?.(pointsPipeline, dataId) ?? 0),
          ),
      ),
    );
  const named = new Set(points.map(({ dataId }) => dataId));
  const nameless = [...(settled.get(pointsPipeline)?.keys() ?? [])].filter(
    (owner) => !named.has(owner) && !isLeftOut(pointsPipeline, owner),
  );
  return {
    known: instances.flatMap(({ known }) => known),
    unknown: [
      ...instances.flatMap(({ unknown }) => unknown),
      ...nameless.map((owner) => ({ pipeline: pointsPipeline, owner, why: 'no table is known' }) as const),
    ],
  };
};

export const readApplicationStores = async (
  pipeline: ApplicationPipeline,
  { clickhouse, isLeftOut, keptFrom, aheadMsMax, now = Date.now }: StoreTargets,
  filter: DayFilter,
  settled: SettledDays,
  recordsFrom: number,
): Promise<Stores> => {
  if (!isWanted(filter, pipeline)) return { known: [], unknown: [] };
  const stored = await readApplicationDays(clickhouse, pipeline, filter.owner, filter.days);
  const from = Math.max(recordsFrom, await readItemsFrom(clickhouse, pipeline, now()));
  const owners = new Set([...stored.keys(), ...(settled.get(pipeline)?.keys() ?? [])]);
  const known = [...owners]
    .toSorted((a, b) => a - b)
    .filter((owner) => !isLeftOut(pipeline, owner))
    .map((owner) => ({
      ...({ pipeline, owner, collapses: true } as const),
      recordedSince: recordedSinceOf(aheadMsMax, pipeline, owner),
      dayFirst: Math.max(from, keptFrom?.(pipeline, owner) ?? 0),
      days: stored.get(owner) ?? new Map<number, RowSum>(),
      distinct: (day: number, rows: number) => readDistinctRows(clickhouse, pipeline, owner, day, rows),
      lastingCopies: (day: number, rows: number) => readLastingCopies(clickhouse, pipeline, owner, day, rows),
      slices: (asked: SlicesAsked) => readRowSlices(clickhouse, pipeline, owner, asked),
      distinctSlices: (asked: DistinctAsked) => readDistinctRowSlices(clickhouse, pipeline, owner, asked),
    }));
  return { known, unknown: [] };
};

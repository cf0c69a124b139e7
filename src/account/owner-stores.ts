import { errorText } from '../model/fault.ts';
import type { ApplicationPipeline, Pipeline } from '../model/signals.ts';
import { dayMs, firstKeptDay } from '../model/time.ts';
import { secondsMax } from '../outcomes/times.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import {
  readApplicationDays,
  readDistinctRowSlices,
  readDistinctRows,
  readRowSlices,
} from './application-rows.ts';
import type { CaughtUp } from './caught-up.ts';
import { noRows, type RowSum } from './day-difference.ts';
import {
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
  /** Owners that are purged or deleted, or otherwise no matter of this account. */
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
  /** Event days before this one are not compared: their rows or records may have expired. */
  readonly dayFirst: number;
  readonly distinct: (day: number, rows: number) => Promise<RowSum>;
};

/** An owner whose rows cannot be read. */
export type Unknown = { readonly pipeline: Pipeline; readonly owner: number; readonly why: string };
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

export const readPointStores = async (
  { points, isLeftOut, keptFrom, aheadMsMax, now = Date.now }: StoreTargets,
  filter: DayFilter,
  settled: SettledDays,
  recordsFrom: number,
): Promise<Stores> => {
  if (!isWanted(filter, 'metrics')) return { known: [], unknown: [] };
  const known: OwnerStore[] = [];
  const unknown: Unknown[] = [];
  const pipeline = 'metrics';
  const wanted = points.filter(
    ({ dataId }) => isWanted(filter, pipeline, dataId) && !isLeftOut(pipeline, dataId),
  );
  for (const [sql, tables] of Map.groupBy(wanted, (each) => each.sql)) {
    try {
      const store = await readPointsStore(sql, new Set(tables.map(({ table }) => table)));
      for (const each of tables) {
        const { dataId: owner, table } = each;
        const state = store.states.get(table);
        const why = whyUnknown(state);
        if (why !== undefined) {
          unknown.push({ pipeline, owner, why });
          continue;
        }
        known.push({
          ...{ pipeline, owner, collapses: false },
          recordedSince: recordedSinceOf(aheadMsMax, pipeline, owner),
          days: state === undefined ? new Map() : await readPointDays(each, filter.days),
          dayFirst: Math.max(
            recordsFrom,
            firstKeptDay(now(), store.ttls.get(table)),
            keptFrom?.(pipeline, owner) ?? 0,
          ),
          distinct: async (day, rows) => (state === undefined ? noRows : readDistinctPoints(each, day, rows)),
          slices: async (asked) => (state === undefined ? noSlices : readPointSlices(each, asked)),
          distinctSlices: async (asked) =>
            state === undefined ? noSlices : readDistinctPointSlices(each, asked),
        });
      }
    } catch (error) {
      const done = new Set([...known, ...unknown].map(({ owner }) => owner));
      for (const { dataId: owner } of tables)
        if (!done.has(owner)) unknown.push({ pipeline, owner, why: errorText(error) });
    }
  }
  const named = new Set(points.map(({ dataId }) => dataId));
  for (const owner of settled.get(pipeline)?.keys() ?? [])
    if (!named.has(owner) && !isLeftOut(pipeline, owner))
      unknown.push({ pipeline, owner, why: 'no table is known' });
  return { known, unknown };
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
      slices: (asked: SlicesAsked) => readRowSlices(clickhouse, pipeline, owner, asked),
      distinctSlices: (asked: DistinctAsked) => readDistinctRowSlices(clickhouse, pipeline, owner, asked),
    }));
  return { known, unknown: [] };
};

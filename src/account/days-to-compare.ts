import { Fault } from '../model/fault.ts';
import { type ApplicationPipeline, applicationPipelines, type Pipeline } from '../model/signals.ts';
import { firstKeptDay } from '../model/time.ts';
import { ledgerTables } from '../outcomes/rows.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { readTtls } from '../stores/questdb/tables.ts';
import { readPartSizes } from './application-rows.ts';
import type { DaySize } from './day-difference.ts';
import { type PointsTable, readPointPartitions } from './point-rows.ts';
import { readItemsFrom, readRetentionDays, type SettledDays } from './settled-days.ts';

/** Rows by event day as the stores count them for themselves: of each data id, and of all applications of a signal together. */
export type StoreSizes = {
  readonly points: ReadonlyMap<number, ReadonlyMap<number, DaySize>>;
  readonly applications: ReadonlyMap<ApplicationPipeline, ReadonlyMap<number, DaySize>>;
  /** Why the sizes of a data id are not among these: its QuestDB is away, or refuses to read its table. */
  readonly unknown: ReadonlyMap<number, string>;
  /** Those of them whose QuestDB answers, and refuses to read their table. */
  readonly refused: ReadonlySet<number>;
  /** The first event day of data ids whose rows expire. */
  readonly firstDays: ReadonlyMap<number, number>;
  /** How long it waited for answers that did not come, ms. */
  readonly waitedMs: number;
};

type PointSizes = Omit<StoreSizes, 'applications'>;

/** The sizes of tables of one instance. One that is away is asked once. */
const readPointSizes = async (
  sql: PointsTable['sql'],
  tables: readonly PointsTable[],
): Promise<PointSizes> => {
  const points = new Map<number, ReadonlyMap<number, DaySize>>();
  const unknown = new Map<number, string>();
  const refused = new Set<number>();
  const firstDays = new Map<number, number>();
  let waitedMs = 0;
  const orFault = async <T>(reading: Promise<T>): Promise<T | Fault> => {
    const since = performance.now();
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      waitedMs += performance.now() - since;
      return error;
    }
  };
  const existing = await orFault(readTtls(sql));
  let away = existing instanceof Fault ? existing : undefined;
  for (const each of tables) {
    const isThere = !(existing instanceof Fault) && existing.has(each.table);
    const ttlDays = existing instanceof Fault ? undefined : existing.get(each.table);
    if (ttlDays !== undefined) firstDays.set(each.dataId, firstKeptDay(Date.now(), ttlDays));
    const days = away ?? (isThere ? await orFault(readPointPartitions(each)) : new Map<number, DaySize>());
    if (!(days instanceof Fault)) points.set(each.dataId, days);
    else {
      unknown.set(each.dataId, days.message);
      if (days.kind === 'transient') away = days;
      else if (away === undefined) refused.add(each.dataId);
    }
  }
  return { points, unknown, refused, firstDays, waitedMs };
};

/** Reads no row: the sizes of partitions and parts. Throws the Faults of ClickHouse; those of a QuestDB make its data ids unknown. */
export const readStoreSizes = async (
  clickhouse: Clickhouse,
  points: readonly PointsTable[],
): Promise<StoreSizes> => {
  const instances: PointSizes[] = [];
  for (const [sql, tables] of Map.groupBy(points, (each) => each.sql))
    instances.push(await readPointSizes(sql, tables));
  return {
    points: new Map(instances.flatMap((each) => [...each.points])),
    unknown: new Map(instances.flatMap((each) => [...each.unknown])),
    refused: new Set(instances.flatMap((each) => [...each.refused])),
    firstDays: new Map(instances.flatMap((each) => [...each.firstDays])),
    waitedMs: instances.reduce((sum, each) => sum + each.waitedMs, 0),
    applications: await readPartSizes(clickhouse),
  };
};

/** The first event day of each signal whose rows and records are certainly kept. Throws the Faults of ClickHouse. */
export const readFirstDays = async (
  clickhouse: Clickhouse,
  now: number,
): Promise<ReadonlyMap<Pipeline, number>> => {
  const records = firstKeptDay(now, await readRetentionDays(clickhouse, ledgerTables.outcomes));
  const firstDays = new Map<Pipeline, number>([['metrics', records]]);
  for (const pipeline of applicationPipelines)
    firstDays.set(pipeline, Math.max(records, await readItemsFrom(clickhouse, pipeline, now)));
  return firstDays;
};

/** A day of one data id, or of all applications of a signal (owner 0), and the state in which it was seen. */
export type SeenDay = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  readonly day: number;
  /** Rows in the store, and in the records. */
  readonly stored: number;
  readonly recorded: number;
  /** These numbers, the sum of the records and the mark of the store: the same state has the same text. */
  readonly state: string;
};

const seenDay = (
  place: Pick<SeenDay, 'pipeline' | 'owner' | 'day'>,
  { rows: stored, mark }: DaySize,
  { rows, sum }: { readonly rows: number; readonly sum: bigint },
): SeenDay => ({ ...place, stored, recorded: rows, state: `${stored} ${rows} ${sum} ${mark}` });

const noSize: DaySize = { rows: 0, mark: '' };
const none = { rows: 0, sum: 0n };

/** The first event day of an owner (0: of all applications of a signal) whose rows and records are certainly kept. */
export type FirstDay = (pipeline: Pipeline, owner: number) => number;

/** `keptFrom`: by the policy of an owner. */
export const firstDayOf =
  (
    firstDays: ReadonlyMap<Pipeline, number>,
    sizes: Pick<StoreSizes, 'firstDays'>,
    keptFrom: FirstDay = () => 0,
  ): FirstDay =>
  (pipeline, owner) =>
    Math.max(
      firstDays.get(pipeline) ?? 0,
      (pipeline === 'metrics' ? sizes.firstDays.get(owner) : undefined) ?? 0,
      owner === 0 ? 0 : keptFrom(pipeline, owner),
    );

/** All days that a store or the records have from these first days on, each with its state. */
export const seenDays = (
  settled: SettledDays,
  sizes: Pick<StoreSizes, 'points' | 'applications'>,
  firstDay: FirstDay,
): SeenDay[] => {
  const seen: SeenDay[] = [];
  const add = (
    pipeline: Pipeline,
    owner: number,
    stored: ReadonlyMap<number, DaySize>,
    recorded: ReadonlyMap<number, typeof none>,
  ): void => {
    const first = firstDay(pipeline, owner);
    for (const day of new Set([...stored.keys(), ...recorded.keys()]))
      if (day >= first)
        seen.push(seenDay({ pipeline, owner, day }, stored.get(day) ?? noSize, recorded.get(day) ?? none));
  };
  for (const [owner, stored] of sizes.points)
    add('metrics', owner, stored, settled.get('metrics')?.get(owner)?.days ?? new Map());
  for (const [pipeline, stored] of sizes.applications) {
    const all = new Map<number, typeof none>();
    for (const { days } of settled.get(pipeline)?.values() ?? []) {
      for (const [day, { rows, sum }] of days) {
        const known = all.get(day) ?? none;
        all.set(day, { rows: known.rows + rows, sum: BigInt.asUintN(64, known.sum + sum) });
      }
    }
    add(pipeline, 0, stored, all);
  }
  return seen;
};

/** Which days need a comparison of their rows, while most of them stay as they were when they were last compared. */
export type DaysToCompare = {
  /**
   * At most this many days: those whose numbers differ first, then changed ones, the newest first, then those not compared for long, of which
   * the present days come first. A quarter is left for the older ones.
   */
  next(seen: readonly SeenDay[], most: number, nowMs: number): SeenDay[];
  /** The day was compared in this state. Call it for days that were equal, or whose difference is known. */
  compared(day: SeenDay, nowMs: number): void;
  /** Forgets the other days (`dayKey`). */
  keep(isKept: (key: string) => boolean): void;
};

/** Names a day. */
export const dayKey = ({ pipeline, owner, day }: Pick<SeenDay, 'pipeline' | 'owner' | 'day'>): string =>
  `${pipeline} ${owner} ${day}`;

/**
 * A day that stays as it was is compared again after a time (`againMs`), because rows can change without their number: one of the present
 * sooner than an older one.
 */
export const createDaysToCompare = (
  isPresent: (day: SeenDay) => boolean,
  againMs: { readonly recent: number; readonly older: number },
): DaysToCompare => {
  const known = new Map<string, { readonly state: string; readonly at: number }>();
  return {
    next: (seen, most, nowMs) => {
      const due: { readonly day: SeenDay; readonly rank: number; readonly at: number }[] = [];
      for (const day of seen) {
        const last = known.get(dayKey(day));
        const isNew = last?.state !== day.state;
        const agoMs = nowMs - (last?.at ?? 0);
        if (!isNew && agoMs < (isPresent(day) ? againMs.recent : againMs.older)) continue;
        const rank = isNew ? (day.stored === day.recorded ? 1 : 0) : isPresent(day) ? 2 : 3;
        due.push({ day, rank, at: last?.at ?? 0 });
      }
      due.sort((a, b) => a.rank - b.rank || (a.rank >= 2 ? a.at - b.at : b.day.day - a.day.day));
      const older = due.filter(({ rank }) => rank === 3);
      const first = due.slice(0, due.length - older.length);
      const now = first.slice(0, most - Math.min(older.length, Math.floor(most / 4)));
      return [...now, ...older.slice(0, most - now.length)].map(({ day }) => day);
    },
    compared: (day, nowMs) => {
      known.set(dayKey(day), { state: day.state, at: nowMs });
    },
    keep: (isKept) => {
      for (const key of known.keys()) if (!isKept(key)) known.delete(key);
    },
  };
};

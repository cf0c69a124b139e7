import { Fault } from '../model/fault.ts';
import type { ApplicationPipeline, Pipeline } from '../model/signals.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { readTtls } from '../stores/questdb/tables.ts';
import { readPartSizes } from './application-rows.ts';
import { type PointsTable, readPointPartitions } from './point-rows.ts';
import type { SettledDays } from './settled-days.ts';

/** Rows by event day as the stores count them for themselves: of each data id, and of all applications of a signal together. */
export type StoreSizes = {
  readonly points: ReadonlyMap<number, ReadonlyMap<number, number>>;
  readonly applications: ReadonlyMap<ApplicationPipeline, ReadonlyMap<number, number>>;
  /** Why the sizes of a data id are not among these: its QuestDB is away, or refuses to read its table. */
  readonly unknown: ReadonlyMap<number, string>;
  /** How long it waited for answers that did not come, ms. */
  readonly waitedMs: number;
};

type PointSizes = Omit<StoreSizes, 'applications'>;

/** The sizes of tables of one instance. One that is away is asked once. */
const readPointSizes = async (
  sql: PointsTable['sql'],
  tables: readonly PointsTable[],
): Promise<PointSizes> => {
  const points = new Map<number, ReadonlyMap<number, number>>();
  const unknown = new Map<number, string>();
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
    const days = away ?? (isThere ? await orFault(readPointPartitions(each)) : new Map<number, number>());
    if (!(days instanceof Fault)) points.set(each.dataId, days);
    else {
      unknown.set(each.dataId, days.message);
      if (days.kind === 'transient') away = days;
    }
  }
  return { points, unknown, waitedMs };
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
    waitedMs: instances.reduce((sum, each) => sum + each.waitedMs, 0),
    applications: await readPartSizes(clickhouse),
  };
};

/** A day of one data id, or of all applications of a signal (owner 0), and the state in which it was seen. */
export type SeenDay = {
  readonly pipeline: Pipeline;
  readonly owner: number;
  readonly day: number;
  /** Rows in the store, and in the records. */
  readonly stored: number;
  readonly recorded: number;
  /** These numbers and the sum of the records: the same state has the same text. */
  readonly state: string;
};

const seenDay = (
  place: Pick<SeenDay, 'pipeline' | 'owner' | 'day'>,
  stored: number,
  { rows, sum }: { readonly rows: number; readonly sum: bigint },
): SeenDay => ({ ...place, stored, recorded: rows, state: `${stored} ${rows} ${sum}` });

const none = { rows: 0, sum: 0n };

/** All days that a store or the records have, each with its state. */
export const seenDays = (
  settled: SettledDays,
  sizes: Pick<StoreSizes, 'points' | 'applications'>,
): SeenDay[] => {
  const seen: SeenDay[] = [];
  for (const [owner, stored] of sizes.points) {
    const own = settled.get('metrics')?.get(owner)?.days ?? new Map<number, typeof none>();
    for (const day of new Set([...stored.keys(), ...own.keys()]))
      seen.push(seenDay({ pipeline: 'metrics', owner, day }, stored.get(day) ?? 0, own.get(day) ?? none));
  }
  for (const [pipeline, stored] of sizes.applications) {
    const all = new Map<number, typeof none>();
    for (const { days } of settled.get(pipeline)?.values() ?? []) {
      for (const [day, { rows, sum }] of days) {
        const known = all.get(day) ?? none;
        all.set(day, { rows: known.rows + rows, sum: BigInt.asUintN(64, known.sum + sum) });
      }
    }
    for (const day of new Set([...stored.keys(), ...all.keys()]))
      seen.push(seenDay({ pipeline, owner: 0, day }, stored.get(day) ?? 0, all.get(day) ?? none));
  }
  return seen;
};

/** Which days need a comparison of their rows, while most of them stay as they were when they were last compared. */
export type DaysToCompare = {
  /** At most this many days: those whose numbers differ first, then changed ones, the newest first, then those not compared for long. */
  next(seen: readonly SeenDay[], most: number, nowMs: number): SeenDay[];
  /** The day was compared in this state. Call it for days that were equal, or whose difference is known. */
  compared(day: SeenDay, nowMs: number): void;
  /** Forgets the other days (`dayKey`). */
  keep(isKept: (key: string) => boolean): void;
};

/** Names a day. */
export const dayKey = ({ pipeline, owner, day }: Pick<SeenDay, 'pipeline' | 'owner' | 'day'>): string =>
  `${pipeline} ${owner} ${day}`;

/** `againMs`: a day that stays as it was is compared again after this time, because rows can change without their number. */
export const createDaysToCompare = (againMs: (day: SeenDay) => number): DaysToCompare => {
  const known = new Map<string, { readonly state: string; readonly at: number }>();
  return {
    next: (seen, most, nowMs) => {
      const due: { readonly day: SeenDay; readonly rank: number; readonly at: number }[] = [];
      for (const day of seen) {
        const last = known.get(dayKey(day));
        const isNew = last?.state !== day.state;
        if (!isNew && nowMs - last.at < againMs(day)) continue;
        due.push({ day, rank: isNew ? (day.stored === day.recorded ? 1 : 0) : 2, at: last?.at ?? 0 });
      }
      return due
        .toSorted((a, b) => a.rank - b.rank || (a.rank === 2 ? a.at - b.at : b.day.day - a.day.day))
        .slice(0, most)
        .map(({ day }) => day);
    },
    compared: (day, nowMs) => {
      known.set(dayKey(day), { state: day.state, at: nowMs });
    },
    keep: (isKept) => {
      for (const key of known.keys()) if (!isKept(key)) known.delete(key);
    },
  };
};

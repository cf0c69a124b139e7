import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { dayMs } from '../model/time.ts';
import { type QuestdbSql, quoteIdentifier, quoteLiteral } from '../stores/questdb/sql.ts';
import { readTableStates, type TableState } from '../stores/questdb/table-states.ts';
import { readTtls } from '../stores/questdb/tables.ts';
import { type DaySize, noRows, type RowSum } from './day-difference.ts';
import {
  type DistinctAsked,
  onlySql,
  readInParts,
  type SlicesAsked,
  sliceUids,
  type UidSlices,
  withoutSql,
} from './uid-slices.ts';

/** The table of a data id, and the QuestDB instance that holds it. */
export type PointsTable = {
  readonly dataId: number;
  readonly table: string;
  readonly sql: Pick<QuestdbSql, 'exec'>;
};

/** Tables of one instance: states by name, and the days that each keeps its rows. */
export type PointsStore = {
  readonly states: ReadonlyMap<string, TableState>;
  readonly ttls: ReadonlyMap<string, number | undefined>;
};

const microsOfDay = 86_400_000_000;
const appliedLooks = 20;
const appliedPauseMs = 250;

/**
 * The tables of an instance, once every commit that was confirmed for these tables at the call is visible; after five seconds as they
 * are. Throws the Faults of QuestdbSql.
 */
export const readPointsStore = async (
  sql: PointsTable['sql'],
  tables: ReadonlySet<string>,
): Promise<PointsStore> => {
  const read = async (): Promise<Map<string, TableState>> =>
    new Map((await readTableStates(sql)).map((state) => [state.name, state]));
  let states = await read();
  const isBehind = (): boolean => [...tables].some((table) => (states.get(table)?.pendingCommits ?? 0) > 0);
  for (let look = 1; look < appliedLooks && isBehind(); look++) {
    await delay(appliedPauseMs);
    states = await read();
  }
  return { states, ttls: await readTtls(sql) };
};

/** Why the rows of a table cannot be compared; undefined for one that can, and for one that is not there: it has no rows. */
export const whyUnknown = (state: TableState | undefined): string | undefined => {
  if (state === undefined) return undefined;
  if (!state.deduplicates) return 'the table does not deduplicate';
  if (state.isSuspended) return `the table is suspended (${state.why})`;
  return state.pendingCommits > 0 ? 'QuestDB has not applied all that it confirmed' : undefined;
};

/** The uids in two halves: their sums overflow nowhere. */
const halves = 'sum(uid & 4294967295)::string, sum(uid / 4294967296)::string';
const sumRow = z.tuple([z.number(), z.string().nullable(), z.string().nullable()]);
const dayRow = z.tuple([z.number(), ...sumRow.def.items]);

const toRowSum = ([rows, low, high]: z.output<typeof sumRow>): RowSum => ({
  rows,
  sum: BigInt.asUintN(64, BigInt(low ?? 0) + (BigInt(high ?? 0) << 32n)),
});

const ofDay = (day: number): string =>
  `timestamp >= ${day * microsOfDay} AND timestamp < ${(day + 1) * microsOfDay}`;

/** Whether QuestDB answers, and refuses. */
export const isRefusal = (error: unknown): error is Fault =>
  error instanceof Fault && error.kind === 'permanent';

const readAllDays = async ({ sql, table }: PointsTable): Promise<Map<number, RowSum>> => {
  const { dataset } = await sql.exec(
    `SELECT cast(timestamp_floor('d', timestamp) as long) / ${microsOfDay} day, count(), ${halves} FROM ${quoteIdentifier(table)}`,
  );
  return new Map(
    dataset.map((row) => {
      const [day, ...sums] = dayRow.parse(row);
      return [day, toRowSum(sums)];
    }),
  );
};

/** The rows of a table by event day, and why QuestDB refuses to read those of other days: their files are damaged or gone. */
export type PointDays = {
  readonly days: ReadonlyMap<number, RowSum>;
  readonly refused: ReadonlyMap<number, string>;
};

/** Of these days, or of all. Throws the Faults of QuestdbSql; the permanent ones only where it refuses to list the days. */
export const readPointDays = async (
  points: PointsTable,
  days: readonly number[] | undefined,
): Promise<PointDays> => {
  const { sql, table } = points;
  const refused = new Map<number, string>();
  let asked = days;
  if (asked === undefined) {
    try {
      return { days: await readAllDays(points), refused };
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    // One day that cannot be read fails the statement for all of them.
    asked = [...(await readPointPartitions(points)).keys()];
  }
  const found = new Map<number, RowSum>();
  for (const day of asked) {
    try {
      const { dataset } = await sql.exec(
        `SELECT count(), ${halves} FROM ${quoteIdentifier(table)} WHERE ${ofDay(day)}`,
      );
      found.set(day, toRowSum(sumRow.parse(dataset[0])));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused.set(day, error.message);
    }
  }
  return { days: found, refused };
};

/** Distinct uids of a day that are held in memory at once. */
const partRowsMax = 2_000_000;

/** The distinct uids of an event day. */
export const readDistinctPoints = async (
  { sql, table }: PointsTable,
  day: number,
  rows: number,
): Promise<RowSum> => {
  const all = await readInParts(rows, partRowsMax, async (parts, part) => {
    const { dataset } = await sql.exec(
      `SELECT count(), ${halves} FROM (SELECT DISTINCT uid FROM ${quoteIdentifier(table)}
        WHERE ${ofDay(day)} AND uid % ${parts} = ${part})`,
    );
    return new Map([[0, toRowSum(sumRow.parse(dataset[0]))]]);
  });
  return all.get(0) ?? noRows;
};

const sliceOf = (sliceSize = sliceUids): string => `uid / ${sliceSize}`;

const readSlices = async (sql: PointsTable['sql'], rows: string, sliceSize?: number): Promise<UidSlices> => {
  const { dataset } = await sql.exec(`SELECT ${sliceOf(sliceSize)} slice, count(), ${halves} FROM ${rows}`);
  return new Map(
    dataset.map((row) => {
      const [number, ...sums] = dayRow.parse(row);
      return [number, toRowSum(sums)];
    }),
  );
};

/** The rows of a table on an event day by slices of their uids. */
export const readPointSlices = ({ sql, table }: PointsTable, asked: SlicesAsked): Promise<UidSlices> =>
  readSlices(
    sql,
    `${quoteIdentifier(table)} WHERE ${[ofDay(asked.day), ...withoutSql('uid', asked.without)].join(' AND ')}`,
  );

/** The same of distinct uids, of some slices. */
export const readDistinctPointSlices = (
  { sql, table }: PointsTable,
  { day, without, slices, rows, sliceSize }: DistinctAsked,
): Promise<UidSlices> =>
  readInParts(rows, partRowsMax, (parts, part) => {
    const conditions = [ofDay(day), ...withoutSql('uid', without), ...onlySql(sliceOf(sliceSize), slices)];
    const where = [...conditions, `uid % ${parts} = ${part}`].join(' AND ');
    return readSlices(sql, `(SELECT DISTINCT uid FROM ${quoteIdentifier(table)} WHERE ${where})`, sliceSize);
  });

const partitionRow = z.tuple([z.string(), z.number(), z.string().nullable(), z.string().nullable()]);

/** Rows of a table by event day, from the sizes of its partitions and their first and last time: no row is read. */
export const readPointPartitions = async ({ sql, table }: PointsTable): Promise<Map<number, DaySize>> => {
  const { dataset } = await sql.exec(
    `SELECT name, numRows, cast(minTimestamp as string), cast(maxTimestamp as string) FROM table_partitions(${quoteLiteral(table)})
      WHERE active OR attached`,
  );
  const days = new Map<number, DaySize>();
  for (const row of dataset) {
    const [name, rows, first, last] = partitionRow.parse(row);
    const day = Date.parse(`${name.slice(0, 10)}T00:00:00Z`) / dayMs;
    const known = days.get(day) ?? { rows: 0, mark: '' };
    days.set(day, { rows: known.rows + rows, mark: `${known.mark} ${first} ${last}` });
  }
  return days;
};

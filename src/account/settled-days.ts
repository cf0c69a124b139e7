import { z } from 'zod';
import { epochParts } from '../directory/epoch.ts';
import { type ApplicationPipeline, type Pipeline, pipelines, signals } from '../model/signals.ts';
import { firstKeptDay } from '../model/time.ts';
import { counterEnd, identityBit } from '../model/uid.ts';
import { ledgerTables } from '../outcomes/rows.ts';
import { storedOutcome } from '../outcomes/tally.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { itemTablesOf } from '../stores/clickhouse/item-tables.ts';
import type { RowSum } from './day-difference.ts';
import {
  type DistinctAsked,
  type SlicesAsked,
  sliceUids,
  type UidRange,
  type UidSlices,
  withoutSql,
} from './uid-slices.ts';

/** Which records count: those of an owner, and of event days (days since 1970). */
export type DayFilter = {
  readonly pipeline?: Pipeline;
  /** A data id or an application. */
  readonly owner?: number;
  readonly days?: readonly number[];
};

/** What the records say of one owner. */
export type SettledOwner = {
  readonly days: Map<number, RowSum>;
  /**
   * The last day on which a record arrived that names no days although items were stored: rows of later event days than the next one
   * are all named. Undefined without such a record.
   */
  unknownUntil: number | undefined;
};

export type SettledDays = ReadonlyMap<Pipeline, Map<number, SettledOwner>>;

const table = `${database}.${ledgerTables.outcomes}`;
const key = 'pipeline, data_id, app_id, base, first';
/** In place of a day: the record names none. */
const dayUnknown = 65_536;

const conditionsOf = ({ pipeline, owner }: DayFilter): { conditions: string[]; params: object } => {
  const conditions: string[] = [];
  if (pipeline !== undefined) conditions.push('pipeline = {pipeline:String}');
  if (owner !== undefined) conditions.push("if(pipeline = 'metrics', data_id, app_id) = {owner:Int64}");
  // The primary key begins with these.
  if (pipeline !== undefined && owner !== undefined)
    conditions.push(`${signals[pipeline].owner} = {owner:Int64}`);
  return { conditions, params: { pipeline, owner } };
};

const andAll = (...conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

const columns = `pipeline, data_id, app_id, base, first, minute, toInt64(outcomes['${storedOutcome}']) AS stored, days, day_rows, day_sums`;

/** (redrive, ordinal, letters, row) of each record of a message. */
const act = '(toInt64(redrive), ordinal, letters, tuple(base, minute, stored, days, day_rows, day_sums))';

/**
 * A redrive counts if a record that counts names its dead letter: that of the message, or that of the redrive before. Without the
 * message's record, or with one of an earlier program, which names none, all of them count.
 */
const countedRedrives = `arrayFold((state, event) -> if(NOT checks OR has(state.1, (event.1, event.2)),
    (arrayConcat(state.1, arrayMap(letter -> (event.1 + 1, letter), event.3)), arrayPushBack(state.2, event.4)), state),
  redrives, (named, arrayFilter(row -> 0, [redrives[1].4]))).2`;

/** The records that count, a row each: those of messages, and those of redrives. Purges name no rows. */
const standingRecords = (conditions: readonly string[]): string => `
  SELECT ${columns} FROM ${table} FINAL ${andAll(...conditions, 'redrive = 0', 'ordinal = -1')}
  UNION ALL
  SELECT pipeline, data_id, app_id, row.1 AS base, first, row.2 AS minute, row.3 AS stored, row.4 AS days, row.5 AS day_rows, row.6 AS day_sums
  FROM (
    SELECT pipeline, data_id, app_id, first, countIf(redrive = 0 AND book = 1) > 0 AS checks,
      groupArrayArrayIf(arrayMap(letter -> (toInt64(1), letter), letters), redrive = 0) AS named,
      arraySort(each -> (each.1, each.2), groupArrayIf(${act}, redrive > 0)) AS redrives
    FROM (SELECT *, toInt64(outcomes['${storedOutcome}']) AS stored FROM ${table} FINAL
      WHERE (${key}) IN (SELECT ${key} FROM ${table} ${andAll(...conditions, 'redrive > 0')}))
    GROUP BY ${key}
  ) ARRAY JOIN ${countedRedrives} AS row`;

const dayRow = z.object({
  pipeline: z.enum(pipelines),
  owner: z.coerce.number(),
  day: z.number(),
  rows: z.coerce.number(),
  sum: z.string().regex(/^\d+$/),
  until: z.number(),
});

const timeoutMs = 120_000;

/**
 * Rows and sums of uids by owner and event day, as the records say that a store has taken them. Reads all records of the owner, or of
 * all owners. Throws the Faults of ClickHouse.
 */
export const readSettledDays = async (clickhouse: Clickhouse, filter: DayFilter): Promise<SettledDays> => {
  const { conditions, params } = conditionsOf(filter);
  const { days } = filter;
  const unnamed = `(toUInt32(${dayUnknown}), toUInt32(0), toUInt64(0))`;
  const named = 'arrayMap((d, r, s) -> (toUInt32(d), r, s), days, day_rows, day_sums)';
  const query = `
    SELECT pipeline, if(pipeline = 'metrics', data_id, app_id) AS owner, counted.1 AS day, sum(counted.2) AS rows,
      toString(sum(counted.3 + base * counted.2)) AS sum, toUInt32(intDiv(toUInt32(max(minute)), 86400)) AS until
    FROM (${standingRecords(conditions)})
    ARRAY JOIN if(empty(days) AND stored > 0, [${unnamed}], ${named}) AS counted
    ${days === undefined ? '' : `WHERE has(arrayPushBack({days:Array(UInt32)}, ${dayUnknown}), counted.1)`}
    GROUP BY pipeline, owner, day`;
  const found = await clickhouse.rows(dayRow, query, { params: { ...params, days }, timeoutMs });
  const settled = new Map<Pipeline, Map<number, SettledOwner>>(pipelines.map((each) => [each, new Map()]));
  for (const { pipeline, owner, day, rows, sum, until } of found) {
    const owners = settled.get(pipeline);
    const known = owners?.get(owner) ?? { days: new Map(), unknownUntil: undefined };
    owners?.set(owner, known);
    if (day === dayUnknown) known.unknownUntil = until;
    else if (rows > 0) known.days.set(day, { rows, sum: BigInt(sum) });
  }
  return settled;
};

/** Uids of one stored number: those of all epochs that could have it. A process has one at a time. */
const uidsOfNumber = counterEnd * epochParts;
/** Longer than a message usually takes from its arrival to its record. */
const longSeconds = 300;
const epochsMax = 64;
const freshRow = z.object({ from: z.string().regex(/^\d+$/) });

/**
 * The newest counted uids of an owner, a range for each process that hands them out: from the first that was recorded in the last
 * `seconds`. Undefined for more than 64 of them.
 */
export const readFreshUids = async (
  clickhouse: Clickhouse,
  pipeline: Pipeline,
  owner: number,
  seconds: number,
): Promise<readonly UidRange[] | undefined> => {
  const { conditions, params } = conditionsOf({ pipeline, owner });
  const counted = ['ordinal = -1', 'redrive = 0', `base < ${identityBit}`];
  const lately = andAll(...conditions, ...counted, 'at >= now64(3) - toIntervalSecond({seconds:UInt32})');
  // What arrived long before the others is not among the newest, whenever it was recorded.
  const found = await clickhouse.rows(
    freshRow,
    `WITH (SELECT max(minute) FROM ${table} ${lately}) AS newest
      SELECT toString(min(base + first)) AS from FROM ${table}
      ${lately} AND minute >= newest - toIntervalSecond({seconds:UInt32} + ${longSeconds})
      GROUP BY intDiv(base, ${uidsOfNumber}) LIMIT ${epochsMax + 1}`,
    { params: { ...params, seconds }, timeoutMs },
  );
  if (found.length > epochsMax) return undefined;
  return found.map(({ from }) => {
    const number = BigInt(from) / BigInt(uidsOfNumber);
    return { from: BigInt(from), until: (number + 1n) * BigInt(uidsOfNumber) };
  });
};

const sliceRow = z.object({
  slice: z.coerce.number(),
  rows: z.coerce.number(),
  sum: z.string().regex(/^\d+$/),
});

/** As `readSettledDays`, of one owner and event day by slices of uids: of these, or of all. A record counts where its first uid is. */
export const readSettledSlices = async (
  clickhouse: Clickhouse,
  pipeline: Pipeline,
  owner: number,
  { day, without, slices, sliceSize = sliceUids }: SlicesAsked & Partial<DistinctAsked>,
): Promise<UidSlices> => {
  const { conditions, params } = conditionsOf({ pipeline, owner });
  const slice = `intDiv(base + first, ${sliceSize})`;
  if (slices !== undefined) conditions.push(`${slice} IN {slices:Array(UInt64)}`);
  const found = await clickhouse.rows(
    sliceRow,
    `SELECT ${slice} AS slice, sum(counted.1) AS rows,
      toString(sum(counted.2 + base * counted.1)) AS sum
    FROM (${standingRecords(conditions)})
    ARRAY JOIN arrayFilter(each -> each.3 = {day:UInt32}, arrayMap((d, r, s) -> (r, s, toUInt32(d)), days, day_rows, day_sums)) AS counted
    ${andAll(...withoutSql('(base + first)', without))}
    GROUP BY slice HAVING rows > 0`,
    { params: { ...params, day, slices }, timeoutMs },
  );
  return new Map(found.map(({ slice, rows, sum }) => [slice, { rows, sum: BigInt(sum) }]));
};

const retentionRow = z.object({ engine_full: z.string() });

/** The days that a table of ClickHouse keeps its rows; undefined: for ever, or by a TTL that is not ours. */
export const readRetentionDays = async (
  clickhouse: Clickhouse,
  name: string,
): Promise<number | undefined> => {
  const [row] = await clickhouse.rows(
    retentionRow,
    'SELECT engine_full FROM system.tables WHERE database = {database:String} AND name = {name:String}',
    { params: { database, name } },
  );
  const days = / TTL .*?toIntervalDay\((\d+)\)/.exec(row?.engine_full ?? '')?.[1];
  return days === undefined ? undefined : Number(days);
};

/** The first event day whose items no TTL of their tables can have removed. Throws the Faults of ClickHouse. */
export const readItemsFrom = async (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  now: number,
): Promise<number> => {
  // The tables of a signal expire alike.
  const [{ name } = { name: '' }] = itemTablesOf(pipeline);
  return firstKeptDay(now, await readRetentionDays(clickhouse, name));
};

const namedRow = z.object({ owner: z.coerce.number(), day: z.number(), rows: z.coerce.number() });

/**
 * Rows of these event days that lines have named since the beginning, by owner and day: a line outlives its record here, and one that was
 * written again counts again. Throws the Faults of ClickHouse.
 */
export const readNamedRows = async (
  clickhouse: Clickhouse,
  pipeline: Pipeline,
  days: readonly number[],
): Promise<ReadonlyMap<string, number>> => {
  const found = await clickhouse.rows(
    namedRow,
    `SELECT ${signals[pipeline].owner} AS owner, day, sum(rows) AS rows FROM ${database}.ingest_days
      WHERE pipeline = {pipeline:String} AND has({days:Array(UInt32)}, toUInt32(day)) GROUP BY owner, day`,
    { params: { pipeline, days }, timeoutMs },
  );
  return new Map(found.map(({ owner, day, rows }) => [`${owner} ${day}`, rows]));
};

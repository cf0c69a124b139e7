import { z } from 'zod';
import { type ApplicationPipeline, applicationPipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { itemTablesOf } from '../stores/clickhouse/item-tables.ts';
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

const nanosOfDay = 86_400_000_000_000n;
const timeoutMs = 120_000;
/** Beside the inserts, which come first. */
const settings = { max_threads: 2 };

/** How long a reading of rows may take, and what it may take. */
export const readingOfRows = { timeoutMs, settings };

/** The rows of all tables of a signal that meet a condition: who owns them, their uid, their time and their arrival. */
export const rowsOf = (
  pipeline: ApplicationPipeline,
  conditions: (time: string) => readonly string[],
): string =>
  itemTablesOf(pipeline)
    .map(({ name, time }) => {
      const where = conditions(time).map((each) => `(${each})`);
      const filter = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
      return `SELECT AppId, uid, ${time} AS time, ArrivedAt FROM ${database}.${name}${filter}`;
    })
    .join(' UNION ALL ');

/** The event day in UTC, regardless of the server's zone. */
const dayOf = `intDiv(toUnixTimestamp64Nano(time), ${nanosOfDay})`;

/** Rows of these event days. */
export const ofDays = (time: string, days: readonly number[]): string =>
  days
    .map((day) => {
      const [from, until] = [BigInt(day) * nanosOfDay, BigInt(day + 1) * nanosOfDay];
      return `(${time} >= fromUnixTimestamp64Nano(toInt64(${from})) AND ${time} < fromUnixTimestamp64Nano(toInt64(${until})))`;
    })
    .join(' OR ');

const sumRow = z.object({ rows: z.coerce.number(), sum: z.string() });
const dayRow = sumRow.extend({ owner: z.coerce.number(), day: z.coerce.number() });

const toRowSum = ({ rows, sum }: z.output<typeof sumRow>): RowSum => ({ rows, sum: BigInt(sum) });

/** The rows of an application in the table of a signal by event day, or of all applications; of these days, or of all. */
export const readApplicationDays = async (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  owner: number | undefined,
  days: readonly number[] | undefined,
): Promise<Map<number, Map<number, RowSum>>> => {
  const conditions = (time: string) => [
    ...(owner === undefined ? [] : ['AppId = {owner:Int64}']),
    ...(days === undefined ? [] : [days.length === 0 ? '0' : ofDays(time, days)]),
  ];
  const found = await clickhouse.rows(
    dayRow,
    `SELECT AppId AS owner, ${dayOf} AS day, count() AS rows, toString(sum(uid)) AS sum FROM (${rowsOf(pipeline, conditions)})
      GROUP BY owner, day`,
    { params: { owner }, timeoutMs, settings },
  );
  const owners = new Map<number, Map<number, RowSum>>();
  for (const row of found) {
    const own = owners.get(row.owner) ?? new Map<number, RowSum>();
    owners.set(row.owner, own.set(row.day, toRowSum(row)));
  }
  return owners;
};

/** Distinct uids of a day that are held in memory at once. */
const partRowsMax = 5_000_000;

/** The uids of one part of a reading. */
const inPart = 'uid % {parts:UInt64} = {part:UInt64}';

/** The distinct uids of an application and event day. */
export const readDistinctRows = async (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  owner: number,
  day: number,
  rows: number,
): Promise<RowSum> => {
  const ofPart = (time: string) => ['AppId = {owner:Int64}', ofDays(time, [day]), inPart];
  const all = await readInParts(rows, partRowsMax, async (parts, part) => {
    const found = await clickhouse.rows(
      sumRow,
      `SELECT count() AS rows, toString(sum(uid)) AS sum FROM (
        SELECT uid FROM (${rowsOf(pipeline, ofPart)}) GROUP BY uid)`,
      { params: { owner, parts, part }, timeoutMs, settings },
    );
    return new Map(found.map((row) => [0, toRowSum(row)]));
  });
  return all.get(0) ?? noRows;
};

const keyRow = z.object({ name: z.string(), key: z.string() });
const copiesRow = z.object({ copies: z.coerce.number() });

/**
 * Rows of an application and event day with the uid of another one from which they differ in the sorting key of their table, or by their
 * table: ClickHouse merges rows with equal keys alone.
 */
export const readLastingCopies = async (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  owner: number,
  day: number,
  rows: number,
): Promise<number> => {
  const names = itemTablesOf(pipeline).map(({ name }) => name);
  const tables = await clickhouse.rows(
    keyRow,
    `SELECT name, sorting_key AS key FROM system.tables WHERE database = '${database}' AND name IN {names:Array(String)}`,
    { params: { names } },
  );
  const keys = new Map(tables.map(({ name, key }) => [name, key]));
  const pairs = itemTablesOf(pipeline)
    .map(({ name, time }) => {
      const where = ['AppId = {owner:Int64}', ofDays(time, [day]), inPart].map((each) => `(${each})`);
      return `SELECT uid, sipHash64('${name}', ${keys.get(name) ?? 'uid'}) AS key FROM ${database}.${name}
        WHERE ${where.join(' AND ')} GROUP BY uid, key`;
    })
    .join(' UNION ALL ');
  const query = `SELECT sum(keys - 1) AS copies FROM (SELECT uid, count() AS keys FROM (${pairs}) GROUP BY uid)`;
  const parts = Math.max(1, Math.ceil(rows / partRowsMax));
  let copies = 0;
  for (let part = 0; part < parts; part++) {
    const params = { owner, parts, part };
    const [found] = await clickhouse.rows(copiesRow, query, { params, timeoutMs, settings });
    copies += found?.copies ?? 0;
  }
  return copies;
};

const sliceOf = (sliceSize = sliceUids): string => `intDiv(uid, ${sliceSize})`;
const sliceRow = sumRow.extend({ slice: z.coerce.number() });

const readSlices = async (
  clickhouse: Clickhouse,
  rows: string,
  params: object,
  sliceSize?: number,
): Promise<UidSlices> => {
  const found = await clickhouse.rows(
    sliceRow,
    `SELECT ${sliceOf(sliceSize)} AS slice, count() AS rows, toString(sum(uid)) AS sum FROM (${rows}) GROUP BY slice`,
    { params: { ...params }, timeoutMs, settings },
  );
  return new Map(found.map((row) => [row.slice, toRowSum(row)]));
};

/** The rows of an application on an event day by slices of their uids. */
export const readRowSlices = (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  owner: number,
  { day, without }: SlicesAsked,
): Promise<UidSlices> => {
  const conditions = (time: string) => [
    'AppId = {owner:Int64}',
    ofDays(time, [day]),
    ...withoutSql('uid', without),
  ];
  return readSlices(clickhouse, rowsOf(pipeline, conditions), { owner });
};

/** The same of distinct uids, of some slices. */
export const readDistinctRowSlices = (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  owner: number,
  { day, without, slices, rows, sliceSize }: DistinctAsked,
): Promise<UidSlices> => {
  const conditions = (time: string) => [
    ...['AppId = {owner:Int64}', ofDays(time, [day]), inPart],
    ...[...withoutSql('uid', without), ...onlySql(sliceOf(sliceSize), slices)],
  ];
  const distinct = `SELECT uid FROM (${rowsOf(pipeline, conditions)}) GROUP BY uid`;
  return readInParts(rows, partRowsMax, (parts, part) =>
    readSlices(clickhouse, distinct, { owner, parts, part }, sliceSize),
  );
};

const partRow = z.object({
  name: z.string(),
  day: z.coerce.number(),
  rows: z.coerce.number(),
  mark: z.string(),
});
const pipelineOfTable: ReadonlyMap<string, ApplicationPipeline> = new Map(
  applicationPipelines.flatMap((pipeline) => itemTablesOf(pipeline).map(({ name }) => [name, pipeline])),
);
/**
 * Of parts that no mutation has changed, a merge keeps the first and the last block. A mutation gives every part of its table another name
 * and leaves the bytes of those whose rows it does not change.
 */
const markOfParts = `concat(toString(min(min_block_number)), ' ', toString(max(max_block_number)), ' ',
    toString(sumIf(cityHash64(hash_of_uncompressed_files), data_version > min_block_number)))`;
/** One statement for all signals: ClickHouse takes longer to plan it than to read the sizes. */
const partSizesQuery = `
  SELECT table AS name, toUInt32(toDate(partition)) AS day, sum(parts.rows) AS rows, ${markOfParts} AS mark FROM system.parts AS parts
  WHERE database = '${database}' AND table IN (${[...pipelineOfTable.keys()].map((name) => `'${name}'`).join(', ')}) AND active
  GROUP BY name, day ORDER BY name`;

/**
 * Rows of all applications of each signal by event day, from the sizes of the parts, and a text that changes where the rows of a day are
 * rewritten: no row is read. Only where the server's zone is UTC.
 */
export const readPartSizes = async (
  clickhouse: Clickhouse,
): Promise<Map<ApplicationPipeline, Map<number, DaySize>>> => {
  const sizes = new Map(applicationPipelines.map((pipeline) => [pipeline, new Map<number, DaySize>()]));
  for (const { name, day, rows, mark } of await clickhouse.rows(partRow, partSizesQuery)) {
    const pipeline = pipelineOfTable.get(name);
    const days = pipeline === undefined ? undefined : sizes.get(pipeline);
    const known = days?.get(day) ?? { rows: 0, mark: '' };
    days?.set(day, { rows: known.rows + rows, mark: `${known.mark} ${mark}` });
  }
  return sizes;
};

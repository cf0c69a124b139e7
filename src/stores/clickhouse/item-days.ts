import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { signals } from '../../model/signals.ts';
import { oneLine } from '../../model/text-forms.ts';
import { type Clickhouse, database } from './client.ts';
import type { ItemTable } from './item-tables.ts';

/**
 * The items of one application whose times are on one day of the server's clock, and their share of that day's bytes on
 * the disk.
 */
export type ItemDay = {
  readonly appId: number;
  /** As `2026-11-20`. */
  readonly day: string;
  readonly rows: number;
  readonly bytes: number;
};

const number = z.coerce.number();
const dayRow = z.object({ app: number, day: z.string(), items: number, bytes: number });

/**
 * What a table has of one application, or of all (undefined), before a day of the server's clock (undefined: all), the oldest day first.
 * Reads the application of every row, at most for `timeoutMs`. Throws the Faults of the client.
 */
export const readItemDays = async (
  clickhouse: Clickhouse,
  { name: table, time }: ItemTable,
  {
    appId,
    before,
    timeoutMs = 10_000,
  }: {
    readonly appId?: number | undefined;
    readonly before?: string | undefined;
    readonly timeoutMs?: number;
  },
): Promise<ItemDay[]> => {
  const conditions = [
    ...(appId === undefined ? [] : ['AppId = {app:Int64}']),
    ...(before === undefined ? [] : [`toDate(${time}) < {before:Date}`]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const found = await clickhouse.rows(
    dayRow,
    `SELECT app, toString(day) AS day, items, toUInt64(items / total * size) AS bytes
     FROM (SELECT AppId AS app, toDate(${time}) AS day, _partition_id AS part, count() AS items
             FROM ${database}.${table} ${where} GROUP BY app, day, part) s
     JOIN (SELECT partition_id AS part, sum(rows) AS total, sum(bytes_on_disk) AS size FROM system.parts
            WHERE database = '${database}' AND table = '${table}' AND active GROUP BY part) p ON p.part = s.part
     ORDER BY s.day, app`,
    { params: { app: appId, before }, timeoutMs },
  );
  return found.map(({ app, items, ...each }) => ({ ...each, appId: app, rows: items }));
};

/** The days that the items of these applications are kept. */
export type KeptDays = ReadonlyMap<number, number>;

/** Asked right before the items of applications are deleted: the days that those of each are kept now; undefined: for ever. */
export type DaysNow = (appIds: readonly number[]) => Promise<readonly (number | undefined)[]>;

/** An expired day can have the items of thousands of applications, and each is a read. */
const askedMax = 100;

/** Whether the items of these applications are kept as many days as before. */
const isAsBefore = async (apps: readonly number[], kept: KeptDays, daysNow: DaysNow): Promise<boolean> => {
  for (let from = 0; from < apps.length; from += askedMax) {
    const asked = apps.slice(from, from + askedMax);
    const current = await daysNow(asked);
    if (asked.some((appId, index) => current[index] !== kept.get(appId))) return false;
  }
  return true;
};

const expiredRow = z.object({
  day: z.string(),
  apps: z.array(number),
  items: number,
  /** The parts that have nothing else; empty when another part of the day has other items, too. */
  parts: z.array(z.string()),
});
const mutationRow = z.object({ why: z.string() });

/** Later days wait for the next call: each may be a mutation, and a server slows down with hundreds of them. */
const partitionsMax = 50;

/** A date before 1970 would wrap into the future, and every item would count as expired. */
const daysBefore = (days: string): string => `current - least(${days}, toUInt32(current))`;

/** Items that were given up for deletion. */
export type RemovedItems = { readonly days: number; readonly items: number };

/**
 * A part never changes, so that one without other items goes whole, at once; an item that arrives meanwhile is in another part. A mutation
 * takes much longer: it goes through every part of the table.
 */
const statementOf = ({ day, apps, parts }: z.infer<typeof expiredRow>): string =>
  parts.length > 0
    ? parts.map((part) => `DROP PART '${part}'`).join(', ')
    : `DELETE IN PARTITION ID '${day}' WHERE AppId IN (${apps.join(', ')})`;

/**
 * Deletes the items of these applications in one table whose day ended longer ago than they are kept; other rows stay. The server rewrites days
 * that have other items, too, in the background. While it is at an earlier deletion, nothing is done: undefined; nor from the first day on for
 * which `daysNow` names other days than `kept`. The clock that is behind counts, the server's or `nowMs`. Throws the Faults of the client and of
 * `daysNow`, and a transient one when the earlier deletion fails.
 */
export const removeExpiredItems = async (
  clickhouse: Clickhouse,
  { name: table, pipeline, time }: ItemTable,
  kept: KeptDays,
  nowMs: number,
  daysNow: DaysNow,
): Promise<RemovedItems | undefined> => {
  if (kept.size === 0) return { days: 0, items: 0 };
  const open = await clickhouse.rows(
    mutationRow,
    `SELECT latest_fail_reason AS why FROM system.mutations
      WHERE database = '${database}' AND table = '${table}' AND NOT is_done AND command LIKE '%DELETE%' LIMIT 1`,
  );
  const [first] = open;
  if (first !== undefined && first.why !== '')
    throw new Fault(
      'transient',
      'clickhouse_unavailable',
      `an earlier deletion of ${signals[pipeline].items} fails: ${oneLine(first.why, 200)}`,
    );
  if (first !== undefined) return undefined;
  const params = {
    apps: [...kept.keys()],
    days: [...kept.values()],
    fewest: Math.min(...kept.values()),
    today: new Date(nowMs).toISOString().slice(0, 10),
  };
  const expired = await clickhouse.rows(
    expiredRow,
    `WITH least(today(), {today:Date}) AS current
     SELECT day, groupUniqArrayArray(found) AS apps, sum(count) AS items,
            if(min(count = total), groupArray(part), []) AS parts
     FROM (SELECT _partition_id AS day, _part AS part, groupUniqArray(AppId) AS found, count() AS count FROM ${database}.${table}
           WHERE toDate(${time}) < ${daysBefore('{fewest:UInt32}')} AND has({apps:Array(Int64)}, AppId)
             AND toDate(${time}) < ${daysBefore('transform(AppId, {apps:Array(Int64)}, {days:Array(UInt32)}, toUInt32(0))')}
           GROUP BY day, part) s
     LEFT JOIN (SELECT name, rows AS total FROM system.parts WHERE database = '${database}' AND table = '${table}') p ON p.name = s.part
     GROUP BY day ORDER BY day LIMIT ${partitionsMax}`,
    { params, timeoutMs: 60_000 },
  );
  const removed: (typeof expired)[number][] = [];
  // Whole parts first: a mutation gives every part of the table another name.
  for (const each of expired.toSorted((a, b) => Number(b.parts.length > 0) - Number(a.parts.length > 0))) {
    if (!(await isAsBefore(each.apps, kept, daysNow))) break;
    await clickhouse.run(`ALTER TABLE ${database}.${table} ${statementOf(each)}`, {
      // By default a server keeps parts of more than 50 GB from being dropped.
      settings: { mutations_sync: 0, max_partition_size_to_drop: 0 },
    });
    removed.push(each);
  }
  if (removed.length === 0 && expired.length > 0) return undefined;
  return { days: removed.length, items: removed.reduce((sum, { items }) => sum + items, 0) };
};

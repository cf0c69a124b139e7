import { z } from 'zod';
import { secondsMax, secondText } from '../outcomes/times.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import {
  type Difference,
  differenceKey,
  differenceKinds,
  type FoundDifference,
  isUnsure,
  isWrong,
  pipelineOf,
  storeKinds,
} from './difference.ts';

const count = z.coerce.number();

const differenceRow = z.object({
  kind: z.enum(differenceKinds),
  stream: z.string(),
  data_id: count,
  app_id: count,
  minute_at: count,
  items: count,
  messages: count,
});

const differenceOf = ({
  kind,
  stream,
  data_id: dataId,
  app_id: appId,
  minute_at: minute,
  items,
  messages,
}: z.output<typeof differenceRow>): Difference => ({
  ...{ kind, stream, pipeline: pipelineOf(stream), dataId, appId, minute, items, messages },
});

const row = differenceRow.extend({
  placed_items: count,
  found_at: count,
  closed_items: count,
  closed_messages: count,
  reason: z.string(),
  is_within: z.coerce.boolean(),
});

/** Which differences: of minutes (Unix seconds) from `since` on and before `until`, or found within that time; of one owner, of one kind. */
export type DifferenceFilter = {
  readonly dataId?: number | undefined;
  readonly appId?: number | undefined;
  readonly kind?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /**
   * Also those of before `since` that are open and make the account false, or not known; with `all` those from `until` on, too, where it
   * is now by a clock that may have gone back.
   */
  readonly withOpen?: 'earlier' | 'all' | undefined;
};

const conditionsOf = ({ dataId, appId, kind, since, until, withOpen }: DifferenceFilter) => {
  const conditions = ['is_found = 1'];
  let within = 'true';
  const params: Record<string, number | string> = {};
  const add = (condition: string, name: string, value: number | string | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    params[name] = value;
  };
  add('data_id = {dataId:Int64}', 'dataId', dataId);
  add('app_id = {appId:Int64}', 'appId', appId);
  add('kind = {kind:String}', 'kind', kind);
  if (since !== undefined || until !== undefined) {
    const isWithin = (time: string): string =>
      `(${time} >= toDateTime({since:UInt32}) AND ${time} < toDateTime({until:UInt32}))`;
    // The minute of a difference with a store is the start of its day. The end of the last one is beyond DateTime.
    const day = `((kind IN (${storeKinds.map((each) => `'${each}'`).join(', ')}) OR (kind = 'unrecorded' AND messages = 0))
      AND minute < toDateTime({until:UInt32}) AND toUInt32(minute) + 86400 > {since:UInt32})`;
    within = `(${isWithin('minute')} OR ${isWithin('at')} OR ${day})`;
    params['since'] = since ?? 0;
    params['until'] = until ?? secondsMax;
    if (withOpen === 'earlier') conditions.push('minute < toDateTime({until:UInt32})');
    if (withOpen === undefined) conditions.push(within);
  }
  return { where: conditions.join(' AND '), within, params };
};

/** The differences that were found and are still there, the newest minute first. Throws the Faults of ClickHouse. */
export const readDifferences = async (
  clickhouse: Clickhouse,
  filter: DifferenceFilter,
): Promise<FoundDifference[]> => {
  const { where, within, params } = conditionsOf(filter);
  const rows = await clickhouse.rows(
    row,
    `SELECT kind, stream, data_id, app_id, toUnixTimestamp(minute) AS minute_at, found.items AS items,
       found.messages AS messages, found.placed_items AS placed_items, toUnixTimestamp(found.at) AS found_at,
       closed.items AS closed_items, closed.messages AS closed_messages, closed.reason AS reason, is_within
     FROM (SELECT *, ${within} AS is_within FROM ${database}.ingest_differences FINAL WHERE ${where}) AS found
     LEFT JOIN (SELECT * FROM ${database}.ingest_closings FINAL) AS closed
       USING (kind, stream, data_id, app_id, minute)
     ORDER BY minute DESC, kind, stream, data_id, app_id`,
    { params },
  );
  return rows.flatMap((found) => {
    const difference = {
      ...differenceOf(found),
      placedItems: found.placed_items,
      foundAt: found.found_at,
      closedItems: found.closed_items,
      closedMessages: found.closed_messages,
      reason: found.reason,
    };
    return found.is_within || isWrong(difference) || isUnsure(difference) ? [difference] : [];
  });
};

const keyOf = ({ kind, stream, dataId, appId, minute }: Difference) => ({
  kind,
  stream,
  data_id: dataId,
  app_id: appId,
  minute: secondText(minute * 1_000),
});

/** As they stand within a text of SQL. */
const keyTypes = {
  ...{ kind: 'String', stream: 'String', data_id: 'Int64', app_id: 'Int64', minute: "DateTime(\\'UTC\\')" },
};
const figureTypes = { items: 'UInt64', messages: 'UInt64' };
const tableTypes = {
  ingest_differences: { ...keyTypes, ...figureTypes, placed_items: 'UInt64', is_found: 'UInt8' },
  ingest_closings: { ...keyTypes, ...figureTypes, reason: 'String', closed_by: 'String' },
} as const;

/** The newest `at` of a key stands: of a server whose clock went back, or of one that is behind another, a new row would be older. */
const insertStatement = (table: keyof typeof tableTypes): string => {
  const types = Object.entries(tableTypes[table]);
  const columns = types.map(([name]) => name).join(', ');
  const key = Object.keys(keyTypes).join(', ');
  return `INSERT INTO ${database}.${table} (${columns}, at)
    SELECT ${columns}, greatest(now64(3), stored.stored_at + toIntervalMillisecond(1))
    FROM input('${types.map(([name, type]) => `${name} ${type}`).join(', ')}') AS written
    LEFT JOIN (SELECT ${key}, max(at) AS stored_at FROM ${database}.${table} GROUP BY ${key}) AS stored USING (${key})
    FORMAT JSONEachRow`;
};

const insert = async (
  clickhouse: Clickhouse,
  table: keyof typeof tableTypes,
  rows: readonly object[],
): Promise<void> => {
  if (rows.length === 0) return;
  const lines = rows.map((each) => `${JSON.stringify(each)}\n`).join('');
  await clickhouse.insert(insertStatement(table), [Buffer.from(lines)], {
    settings: { max_partitions_per_insert_block: 0 },
  });
};

const closingRow = differenceRow.extend({ reason: z.string(), closed_by: z.string() });

/** A closing is of the figure that there was: of what is gone it ends, and it falls with what has become less. */
const lowerClosings = async (
  clickhouse: Clickhouse,
  found: readonly Difference[],
  gone: readonly Difference[],
): Promise<void> => {
  if (found.length === 0 && gone.length === 0) return;
  const closings = await clickhouse.rows(
    closingRow,
    `SELECT kind, stream, data_id, app_id, toUnixTimestamp(minute) AS minute_at, items, messages, reason, closed_by
     FROM ${database}.ingest_closings FINAL WHERE reason != ''`,
  );
  if (closings.length === 0) return;
  const now = new Map(found.map((each) => [differenceKey(each), each]));
  const ended = new Set(gone.map(differenceKey));
  const lowered = closings.flatMap((closing) => {
    const { reason, closed_by } = closing;
    const closed = differenceOf(closing);
    const key = differenceKey(closed);
    if (ended.has(key)) return [{ ...keyOf(closed), items: 0, messages: 0, reason: '', closed_by }];
    const items = Math.min(closed.items, now.get(key)?.items ?? closed.items);
    const messages = Math.min(closed.messages, now.get(key)?.messages ?? closed.messages);
    if (items === closed.items && messages === closed.messages) return [];
    return [{ ...keyOf(closed), items, messages, reason, closed_by }];
  });
  await insert(clickhouse, 'ingest_closings', lowered);
};

/** Stores what a look found, and that `gone` is not there any more. Throws the Faults of ClickHouse. */
export const writeDifferences = async (
  clickhouse: Clickhouse,
  found: readonly Difference[],
  gone: readonly Difference[],
): Promise<void> => {
  await lowerClosings(clickhouse, found, gone);
  await insert(clickhouse, 'ingest_differences', [
    ...found.map((each) => ({
      ...keyOf(each),
      items: each.items,
      messages: each.messages,
      placed_items: each.placedItems ?? 0,
      is_found: 1,
    })),
    ...gone.map((each) => ({ ...keyOf(each), items: 0, messages: 0, is_found: 0 })),
  ]);
};

/** Stores that an operator has closed these differences with their present figures. Throws the Faults of ClickHouse. */
export const closeDifferences = (
  clickhouse: Clickhouse,
  closed: readonly Difference[],
  reason: string,
  closedBy: string,
): Promise<void> =>
  insert(
    clickhouse,
    'ingest_closings',
    closed.map((each) => ({
      ...keyOf(each),
      items: each.items,
      messages: each.messages,
      reason,
      closed_by: closedBy,
    })),
  );

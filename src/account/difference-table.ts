import { z } from 'zod';
import { secondText } from '../outcomes/times.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Difference, differenceKinds, type FoundDifference, pipelineOf } from './difference.ts';

const count = z.coerce.number();

const row = z.object({
  kind: z.enum(differenceKinds),
  stream: z.string(),
  data_id: count,
  app_id: count,
  minute_at: count,
  items: count,
  messages: count,
  placed_items: count,
  closed_items: count,
  closed_messages: count,
  reason: z.string(),
});

/** Which differences: of minutes (Unix seconds) from `since` on and before `until`, or found within that time; of one owner, of one kind. */
export type DifferenceFilter = {
  readonly dataId?: number | undefined;
  readonly appId?: number | undefined;
  readonly kind?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

/** The last second of a DateTime. */
const timeMax = 4_294_967_295;

const conditionsOf = ({ dataId, appId, kind, since, until }: DifferenceFilter) => {
  const conditions = ['is_found = 1'];
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
    // The minute of a difference with a store is the start of its day.
    const day =
      "(kind IN ('missing_in_the_store', 'unmerged', 'unrecorded') AND minute < toDateTime({until:UInt32}) AND minute + 86400 > toDateTime({since:UInt32}))";
    conditions.push(`(${isWithin('minute')} OR ${isWithin('at')} OR ${day})`);
    params['since'] = since ?? 0;
    params['until'] = until ?? timeMax;
  }
  return { where: conditions.join(' AND '), params };
};

/** The differences that were found and are still there, the newest minute first. Throws the Faults of ClickHouse. */
export const readDifferences = async (
  clickhouse: Clickhouse,
  filter: DifferenceFilter,
): Promise<FoundDifference[]> => {
  const { where, params } = conditionsOf(filter);
  const rows = await clickhouse.rows(
    row,
    `SELECT kind, stream, data_id, app_id, toUnixTimestamp(minute) AS minute_at, found.items AS items,
       found.messages AS messages, found.placed_items AS placed_items, closed.items AS closed_items, closed.messages AS closed_messages, closed.reason AS reason
     FROM (SELECT * FROM ${database}.ingest_differences FINAL WHERE ${where}) AS found
     LEFT JOIN (SELECT * FROM ${database}.ingest_closings FINAL) AS closed
       USING (kind, stream, data_id, app_id, minute)
     ORDER BY minute DESC, kind, stream, data_id, app_id`,
    { params },
  );
  return rows.map(
    ({ data_id, app_id, minute_at, placed_items, closed_items, closed_messages, ...found }) => ({
      ...found,
      pipeline: pipelineOf(found.stream),
      dataId: data_id,
      appId: app_id,
      minute: minute_at,
      placedItems: placed_items,
      closedItems: closed_items,
      closedMessages: closed_messages,
    }),
  );
};

const keyOf = ({ kind, stream, dataId, appId, minute }: Difference) => ({
  kind,
  stream,
  data_id: dataId,
  app_id: appId,
  minute: secondText(minute * 1_000),
});

const insert = async (clickhouse: Clickhouse, table: string, rows: readonly object[]): Promise<void> => {
  if (rows.length === 0) return;
  const lines = rows.map((each) => `${JSON.stringify(each)}\n`).join('');
  await clickhouse.insert(`INSERT INTO ${database}.${table} FORMAT JSONEachRow`, [Buffer.from(lines)], {
    settings: { max_partitions_per_insert_block: 0 },
  });
};

/** Stores what a look found, and that `gone` is not there any more. Throws the Faults of ClickHouse. */
export const writeDifferences = (
  clickhouse: Clickhouse,
  found: readonly Difference[],
  gone: readonly Difference[],
): Promise<void> =>
  insert(clickhouse, 'ingest_differences', [
    ...found.map((each) => ({
      ...keyOf(each),
      items: each.items,
      messages: each.messages,
      placed_items: each.placedItems ?? 0,
      is_found: 1,
    })),
    ...gone.map((each) => ({ ...keyOf(each), items: 0, messages: 0, is_found: 0 })),
  ]);

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

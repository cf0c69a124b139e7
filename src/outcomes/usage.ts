import { z } from 'zod';
import { type Pipeline, pipelineOfStreamColumn, pipelines } from '../model/signals.ts';
import { daySeconds } from '../model/time.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { ledgerTables } from './rows.ts';

/** What the owners of a group used in a period. */
export type Usage = {
  /** Requests that were answered with success and had something to store. */
  readonly requests: number;
  /** Items of the publishers' book: accepted, deferred, and dropped by the receiver. */
  readonly items: number;
  /** Bytes of the bodies as sent, and after decompression. */
  readonly wireBytes: number;
  readonly inflatedBytes: number;
  /**
   * Most requests of one owner, of all its signals together, within one second at one receiver: to add up receivers, every second would have
   * to be kept.
   */
  readonly secondMax: number;
  /** Requests that count beside: answered with an error, and repeats of stored ones. */
  readonly refusedRequests: number;
  readonly repeatedRequests: number;
  /** Arrival of the last of `requests`, Unix seconds to the millisecond, and its sender; undefined without one. */
  readonly lastAt: number | undefined;
  readonly sender: string;
  readonly sdk: string;
  /**
   * When anything was last sent, be it refused, repeated or rejected: `lastAt`, or the minute in Unix seconds of what came in a later one;
   * undefined without either.
   */
  readonly lastSentAt: number | undefined;
};

/** Data id or application: the other is 0. Both are 0 for owners that were too many for the memory of a receiver. */
export type UsageOwner = { readonly dataId: number; readonly appId: number };

type Owners = { readonly dataIds: readonly number[]; readonly appIds: readonly number[] };

/** Minutes of arrival from `since` on and before `until`, Unix seconds; of these owners, or of all; without those of `except`. */
export type UsageFilter = {
  readonly since: number;
  readonly until: number;
  readonly owners?: Owners | undefined;
  readonly except?: Owners | undefined;
};

export const noUsage: Usage = {
  requests: 0,
  items: 0,
  wireBytes: 0,
  inflatedBytes: 0,
  secondMax: 0,
  refusedRequests: 0,
  repeatedRequests: 0,
  lastAt: undefined,
  sender: '',
  sdk: '',
  lastSentAt: undefined,
};

const later = (left: number | undefined, right: number | undefined): number | undefined =>
  (right ?? 0) > (left ?? 0) ? right : left;

/** The usage of two groups without a common owner. */
export const addUsage = (left: Usage, right: Usage): Usage => {
  const last = (right.lastAt ?? 0) > (left.lastAt ?? 0) ? right : left;
  return {
    requests: left.requests + right.requests,
    items: left.items + right.items,
    wireBytes: left.wireBytes + right.wireBytes,
    inflatedBytes: left.inflatedBytes + right.inflatedBytes,
    secondMax: Math.max(left.secondMax, right.secondMax),
    refusedRequests: left.refusedRequests + right.refusedRequests,
    repeatedRequests: left.repeatedRequests + right.repeatedRequests,
    lastAt: last.lastAt,
    sender: last.sender,
    sdk: last.sdk,
    lastSentAt: later(left.lastSentAt, right.lastSentAt),
  };
};

const groupRow = {
  of_data_id: z.coerce.number(),
  of_app_id: z.coerce.number(),
  day: z.string(),
  of_pipeline: z.union([z.enum(pipelines), z.literal('')]),
};
type GroupRow = z.output<z.ZodObject<typeof groupRow>>;

const requestsRow = z.object({
  ...groupRow,
  request_count: z.coerce.number(),
  wire: z.coerce.number(),
  inflated: z.coerce.number(),
  busiest_max: z.coerce.number(),
});
const sendersRow = z.object({
  ...groupRow,
  last_ms: z.coerce.number(),
  last_sender: z.string(),
  last_sdk: z.string(),
});
const itemsRow = z.object({ ...groupRow, item_count: z.coerce.number(), last_minute: z.coerce.number() });
const refusalsRow = z.object({
  ...groupRow,
  refused: z.coerce.number(),
  repeated: z.coerce.number(),
  last_minute: z.coerce.number(),
});

/** The groups that usage is read by: owners, the pipelines of each owner, or days of UTC. */
export type UsageGroup = 'owner' | 'pipeline' | 'day';

// Not under the names of the columns: WHERE would take them for these.
const groupColumns = {
  owner: "data_id AS of_data_id, app_id AS of_app_id, '' AS day",
  pipeline: "data_id AS of_data_id, app_id AS of_app_id, '' AS day",
  day: 'toInt64(0) AS of_data_id, toInt64(0) AS of_app_id, toString(toDate(minute)) AS day',
} as const;
const groupKeys = {
  owner: 'data_id, app_id',
  pipeline: 'data_id, app_id, of_pipeline',
  day: 'toDate(minute)',
} as const;
/** Lines of earlier programs do not name it: those of data ids are of metrics, those of applications of any. */
const usagePipeline = "if(pipeline = '' AND data_id != 0, 'metrics', toString(pipeline))";

const ofOwners =
  '((data_id != 0 AND data_id IN {dataIds:Array(Int64)}) OR (app_id != 0 AND app_id IN {appIds:Array(Int64)}))';

/** The queries of `readUsage`, with their parameters. */
export const usageQueries = ({ since, until, owners, except }: UsageFilter, by: UsageGroup) => {
  const period = 'minute >= toDateTime({since:UInt32}) AND minute < toDateTime({until:UInt32})';
  const others = 'data_id NOT IN {exceptDataIds:Array(Int64)} AND app_id NOT IN {exceptAppIds:Array(Int64)}';
  const times = except === undefined ? period : `${period} AND ${others}`;
  const where = owners === undefined ? times : `${times} AND ${ofOwners}`;
  const known = owners === undefined ? `${times} AND (data_id != 0 OR app_id != 0)` : where;
  const table = (name: string): string => `${database}.${name} FINAL`;
  const keys = groupKeys[by];
  const columns = (pipeline: string): string =>
    `${groupColumns[by]}, ${by === 'pipeline' ? pipeline : "''"} AS of_pipeline`;
  return {
    requests: `SELECT ${columns(usagePipeline)}, sum(requests) AS request_count, sum(wire_bytes) AS wire, sum(inflated_bytes) AS inflated,
        max(second_max) AS busiest_max
      FROM ${table(ledgerTables.usage)} WHERE ${where} GROUP BY ${keys}`,
    // Of any version: the last request of a line is in its last one.
    senders: `SELECT ${columns(usagePipeline)}, toUnixTimestamp64Milli(max(last_at)) AS last_ms, argMax(sender, last_at) AS last_sender,
        argMax(sdk, last_at) AS last_sdk
      FROM ${database}.${ledgerTables.usage} WHERE ${where} GROUP BY ${keys}`,
    items: `SELECT ${columns(pipelineOfStreamColumn)}, sum(items) AS item_count,
        toUnixTimestamp(maxIf(minute, items > 0)) AS last_minute
      FROM ${table(ledgerTables.published)} WHERE ${known} GROUP BY ${keys}`,
    refusals: `SELECT ${columns('toString(pipeline)')}, sumIf(requests, kind = 'refused') AS refused, sumIf(requests, kind = 'duplicate') AS repeated,
        toUnixTimestamp(maxIf(minute, kind IN ('refused', 'duplicate'))) AS last_minute
      FROM ${table(ledgerTables.refusals)} WHERE ${known} GROUP BY ${keys}`,
    params: {
      since,
      until,
      ...(owners === undefined ? {} : { dataIds: owners.dataIds, appIds: owners.appIds }),
      ...(except === undefined ? {} : { exceptDataIds: except.dataIds, exceptAppIds: except.appIds }),
    },
  };
};

/** The rows are in the order of owners: little memory for any number of them. */
const settings = { optimize_aggregation_in_order: 1 };
/** All rows of a line are in one partition: those of merged ones are read without a comparison. */
const byPartition = { do_not_merge_across_partitions_select_final: 1 };
const timeoutMs = 25_000;

/** The usage of one group: 0, '' and undefined where the groups have no owner, day or pipeline, or it is not known. */
export type FoundUsage = Usage &
  UsageOwner & { readonly day: string; readonly pipeline: Pipeline | undefined };

/**
 * The usage of each data id and application in a period, also by pipeline, or of all of them by day, in no order. Owners with refused
 * requests alone are included. Throws the Faults of the ClickHouse client.
 */
export const readUsage = async (
  clickhouse: Clickhouse,
  filter: UsageFilter,
  by: UsageGroup,
): Promise<FoundUsage[]> => {
  const { requests, senders, items, refusals, params } = usageQueries(filter, by);
  const options = { params, settings, timeoutMs };
  const [used, seen, published, refused] = await Promise.all([
    clickhouse.rows(requestsRow, requests, { ...options, settings: { ...settings, ...byPartition } }),
    clickhouse.rows(sendersRow, senders, options),
    clickhouse.rows(itemsRow, items, options),
    clickhouse.rows(refusalsRow, refusals, options),
  ]);
  const groups = new Map<string, FoundUsage>();
  const add = (row: GroupRow, usage: Partial<Usage>, sentAt?: number): void => {
    const { of_data_id: dataId, of_app_id: appId, day, of_pipeline: name } = row;
    const key = `${dataId} ${appId} ${day} ${name}`;
    const pipeline = name === '' ? undefined : name;
    const known = groups.get(key) ?? { ...noUsage, dataId, appId, day, pipeline };
    groups.set(key, { ...known, ...usage, lastSentAt: later(known.lastSentAt, sentAt) });
  };
  for (const row of used)
    add(row, {
      requests: row.request_count,
      wireBytes: row.wire,
      inflatedBytes: row.inflated,
      secondMax: row.busiest_max,
    });
  for (const row of seen) {
    const lastAt = row.last_ms / 1000;
    add(row, { lastAt, sender: row.last_sender, sdk: row.last_sdk }, lastAt);
  }
  for (const row of published) if (row.item_count > 0) add(row, { items: row.item_count }, row.last_minute);
  for (const row of refused)
    if (row.refused + row.repeated > 0)
      add(row, { refusedRequests: row.refused, repeatedRequests: row.repeated }, row.last_minute);
  return [...groups.values()];
};

/** An owner that was seen daily and sends no more. `lastAt` in Unix seconds. */
export type SilentOwner = UsageOwner & {
  readonly lastAt: number;
  readonly sender: string;
  readonly sdk: string;
};

const silentRow = z.object({
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  last_ms: z.coerce.number(),
});
const lastSenderRow = z.object({
  of_data_id: z.coerce.number(),
  of_app_id: z.coerce.number(),
  last_sender: z.string(),
  last_sdk: z.string(),
});

/** Silent for a day or more, and for at most this long: then it is no news. */
const silentDaysMax = 7;
/** Days in a row, up to its last request, on which it was seen. */
const dailyDays = 7;

const ownerKey = (dataId: number, appId: number): string => `${dataId} ${appId}`;

const idsOf = (owners: readonly UsageOwner[]): Owners => ({
  dataIds: owners.map(({ dataId }) => dataId).filter((id) => id !== 0),
  appIds: owners.map(({ appId }) => appId).filter((id) => id !== 0),
});

/** Their last senders, by owner. */
const readLastSenders = async (
  clickhouse: Clickhouse,
  { dataIds, appIds }: Owners,
  since: number,
): Promise<Map<string, z.output<typeof lastSenderRow>>> => {
  const rows = await clickhouse.rows(
    lastSenderRow,
    `SELECT data_id AS of_data_id, app_id AS of_app_id, argMax(sender, last_at) AS last_sender, argMax(sdk, last_at) AS last_sdk
     FROM ${database}.${ledgerTables.usage} WHERE minute >= toDateTime({since:UInt32}) AND ${ofOwners} GROUP BY data_id, app_id`,
    { params: { since, dataIds, appIds }, timeoutMs },
  );
  return new Map(rows.map((row) => [ownerKey(row.of_data_id, row.of_app_id), row]));
};

const sendingRow = z.object({ of_data_id: z.coerce.number(), of_app_id: z.coerce.number() });

/** Those of the owners that sent since then (Unix seconds), be it that nothing of it was kept: usage has no line of such a request. */
const readSending = async (
  clickhouse: Clickhouse,
  { dataIds, appIds }: Owners,
  since: number,
): Promise<ReadonlySet<string>> => {
  const where = `minute >= toDateTime({since:UInt32}) AND ${ofOwners}`;
  const columns = 'data_id AS of_data_id, app_id AS of_app_id';
  const rows = await clickhouse.rows(
    sendingRow,
    `SELECT DISTINCT ${columns} FROM ${database}.${ledgerTables.published} WHERE ${where} AND items > 0
     UNION DISTINCT
     SELECT DISTINCT ${columns} FROM ${database}.${ledgerTables.refusals} WHERE ${where} AND kind IN ('refused', 'duplicate')`,
    { params: { since, dataIds, appIds }, timeoutMs },
  );
  return new Set(rows.map((row) => ownerKey(row.of_data_id, row.of_app_id)));
};

/**
 * Owners whose last request with an item to store came between a day and a week before `now` (Unix seconds), that had one on each of the
 * seven days up to it (half a day more or less between two of them does no harm), and that sent nothing else for a day either: no request
 * that was refused or repeated, or whose items were all rejected. Newest first. Throws the Faults of the ClickHouse client.
 */
export const readSilentOwners = async (clickhouse: Clickhouse, now: number): Promise<SilentOwner[]> => {
  const since = now - (silentDaysMax + dailyDays) * daySeconds;
  const rows = await clickhouse.rows(
    silentRow,
    `SELECT data_id, app_id, toUnixTimestamp64Milli(max(last_at)) AS last_ms,
       groupUniqArray(toUInt32(intDiv({now:UInt32} - toUnixTimestamp(minute), 3600))) AS hours, arrayMin(hours) AS last_hour,
       arrayUniq(arrayFilter(day -> day < ${dailyDays}, arrayMap(hour -> intDiv(hour - last_hour + 12, 24), hours))) AS days
     FROM ${database}.${ledgerTables.usage}
     WHERE minute >= toDateTime({since:UInt32}) AND minute <= toDateTime({now:UInt32}) AND (data_id != 0 OR app_id != 0)
     GROUP BY data_id, app_id
     HAVING last_ms < 1000 * ({now:UInt32} - ${daySeconds}) AND last_ms >= 1000 * ({now:UInt32} - ${silentDaysMax * daySeconds})
       AND days = ${dailyDays}
     ORDER BY last_ms DESC, data_id, app_id`,
    { params: { now, since }, timeoutMs },
  );
  if (rows.length === 0) return [];
  const owners = rows.map(({ data_id: dataId, app_id: appId, last_ms }) => ({
    dataId,
    appId,
    lastAt: last_ms / 1000,
  }));
  const sending = await readSending(clickhouse, idsOf(owners), now - daySeconds);
  const silent = owners.filter(({ dataId, appId }) => !sending.has(ownerKey(dataId, appId)));
  if (silent.length === 0) return [];
  // Text of each line: to read it of all owners would cost more than the rest.
  const senders = await readLastSenders(clickhouse, idsOf(silent), since);
  return silent.map((owner) => {
    const last = senders.get(ownerKey(owner.dataId, owner.appId));
    return { ...owner, sender: last?.last_sender ?? '', sdk: last?.last_sdk ?? '' };
  });
};

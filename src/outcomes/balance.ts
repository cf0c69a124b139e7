import { z } from 'zod';
import { type OwnerConditions, ownerConditions, pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Bucket, bucketOf } from './buckets.ts';
import { correctionsQuery } from './corrections-query.ts';
import { withStrays } from './message-account.ts';
import { ledgerTables, type OutcomeRow } from './rows.ts';
import { deadLetteredOutcome, droppedOutcome, storedOutcome } from './tally.ts';

/** The outcomes of the items of one data id (`appId` is 0), or of one signal of an application (`dataId` is 0). */
export type Balance = {
  readonly pipeline: OutcomeRow['pipeline'];
  readonly dataId: number;
  readonly appId: number;
  /** Items in requests that were answered 2xx. */
  readonly received: number;
  /** Of `received`, those whose messages have a place in the settlers' book: not of records of earlier programs. */
  readonly recorded: number;
  readonly stored: number;
  /** By reason. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly deadLettered: number;
  /** Start of the minute, hour or day (UTC) of arrival, Unix seconds; only where balances are read by it. */
  readonly minute?: number;
};

/** Which records count: those of a data id or an application, of minutes of arrival from `sinceMs` on and before `untilMs`. */
export type BalanceFilter = {
  readonly dataId?: number;
  readonly appId?: number;
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Without these owners. */
  readonly except?: { readonly dataIds: readonly number[]; readonly appIds: readonly number[] } | undefined;
};

const balanceRow = z.object({
  pipeline: z.enum(pipelines),
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  received: z.coerce.number(),
  recorded: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
  stray: z.record(z.string(), z.coerce.number()),
  stray_removed: z.coerce.number(),
  minute_at: z.coerce.number().optional(),
});

const seconds = (ms: number): number => Math.max(0, Math.floor(ms / 1000));

const whereOf = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

/** The filter on the columns that all tables by the minute have; `ofOwner`: the conditions on an owner, where a table has no pipeline. */
export const conditionsOf = (
  { dataId, appId, sinceMs, untilMs, except }: BalanceFilter,
  ofOwner: OwnerConditions = ownerConditions,
) => {
  const conditions: string[] = [];
  const params: Record<string, number | readonly number[]> = {};
  if (dataId !== undefined) {
    conditions.push(ofOwner.dataId);
    params['dataId'] = dataId;
  }
  if (appId !== undefined) {
    conditions.push(ofOwner.appId);
    params['appId'] = appId;
  }
  if (sinceMs !== undefined) {
    conditions.push('minute >= toDateTime({since:UInt32})');
    params['since'] = seconds(sinceMs);
  }
  if (untilMs !== undefined) {
    conditions.push('minute < toDateTime({until:UInt32})');
    params['until'] = seconds(untilMs);
  }
  if (except !== undefined) {
    conditions.push(
      'data_id NOT IN {exceptDataIds:Array(Int64)}',
      'app_id NOT IN {exceptAppIds:Array(Int64)}',
    );
    params['exceptDataIds'] = except.dataIds;
    params['exceptAppIds'] = except.appIds;
  }
  return { where: whereOf(conditions), conditions, params };
};

const droppedPrefix = droppedOutcome('');

const toBalance = (row: z.output<typeof balanceRow>): Balance => {
  const { pipeline, data_id, app_id, recorded, minute_at: minute } = row;
  const { received, outcomes } = withStrays(row, row.stray, row.stray_removed);
  const dropped: Record<string, number> = {};
  for (const [outcome, items] of Object.entries(outcomes)) {
    if (outcome.startsWith(droppedPrefix) && items !== 0)
      dropped[outcome.slice(droppedPrefix.length)] = items;
  }
  return {
    pipeline,
    dataId: data_id,
    appId: app_id,
    received,
    recorded,
    stored: outcomes[storedOutcome] ?? 0,
    dropped,
    deadLettered: outcomes[deadLetteredOutcome] ?? 0,
    ...(minute === undefined ? {} : { minute }),
  };
};

/**
 * The records of a window this long fit into memory; FINAL would read the whole table, because it prunes nothing by
 * time.
 */
const shortWindowMs = 2 * 3_600_000;

const table = `${database}.${ledgerTables.outcomes}`;

const mapOf = (names: string, items: string): string =>
  `CAST(sumMap(${names}, ${items}), 'Map(String, Int64)')`;

/** The key of a message's own record. */
const place = 'pipeline, data_id, app_id, base, first, ordinal';
/** What the balances read of a record. */
const counted = 'pipeline, data_id, app_id, minute, received, outcomes, book';

/**
 * The standing records, the last one of each message. Within a window of time that is the last one in the window. Few messages have two:
 * only their records are sorted. A hash that two messages share only makes more of them sorted.
 */
const standingOf = ({ sinceMs }: BalanceFilter, conditions: readonly string[]): string => {
  const where = whereOf([...conditions, 'redrive = 0']);
  if (sinceMs === undefined || Date.now() - sinceMs > shortWindowMs)
    return `SELECT * FROM ${table} FINAL ${where}`;
  const isRepeated = `cityHash64(${place}) IN (
    SELECT hash FROM (SELECT cityHash64(${place}) AS hash FROM ${table} ${where}) GROUP BY hash HAVING count() > 1)`;
  return `SELECT ${counted} FROM ${table} ${where} AND NOT ${isRepeated}
    UNION ALL SELECT ${counted} FROM (
      SELECT * FROM ${table} ${where} AND ${isRepeated} ORDER BY at DESC LIMIT 1 BY ${place})`;
};

/** What redrives and purges changed in the standing records, as another part of the sums. */
const correctionsOf = (selected: string, columns: string, conditions: readonly string[]): string => {
  const where = whereOf(conditions);
  return `UNION ALL
      SELECT ${selected}, sum(received) AS received, toInt64(0) AS recorded, ${mapOf('names', 'items')} AS outcomes, ${mapOf('stray_names', 'stray_items')} AS stray,
        sum(stray_removed) AS stray_removed
      FROM (${correctionsQuery(table, where)}) ${where} GROUP BY ${columns}`;
};

/** How balances are summed. */
export type BalanceSums = {
  readonly by?: Bucket | undefined;
  /** False: one sum over all owners, with both ids 0. Default true. */
  readonly byOwner?: boolean;
  /** False: without redrives and purges, for records that have none. Default true. */
  readonly isCorrected?: boolean;
};

/** The query of `readBalances`, with its parameters. Redrives and purges count with the minute of their message. */
export const balancesQuery = (
  filter: BalanceFilter,
  { by, byOwner = true, isCorrected = true }: BalanceSums = {},
) => {
  const { conditions, params } = conditionsOf(filter);
  const owner = ['pipeline', 'data_id', 'app_id'];
  const columns = [...owner, ...(by === undefined ? [] : ['minute_at'])].join(', ');
  const selected = [...owner, ...(by === undefined ? [] : [`${bucketOf(by)} AS minute_at`])].join(', ');
  const shown = byOwner ? columns : columns.replace('data_id, app_id', '0 AS data_id, 0 AS app_id');
  const groups = byOwner ? columns : columns.replace(', data_id, app_id', '');
  const query = `SELECT ${shown}, sum(received) AS received,
      sum(recorded) AS recorded, sumMap(outcomes) AS outcomes, sumMap(stray) AS stray, sum(stray_removed) AS stray_removed
    FROM (
      SELECT ${selected}, sum(received) AS received, sumIf(standing.received, book = 1) AS recorded, CAST(sumMap(outcomes), 'Map(String, Int64)') AS outcomes,
        CAST(map(), 'Map(String, Int64)') AS stray, toInt64(0) AS stray_removed
      FROM (${standingOf(filter, conditions)}) AS standing GROUP BY ${columns}
      ${isCorrected ? correctionsOf(selected, columns, conditions) : ''}
    )
    GROUP BY ${groups} ORDER BY ${by === undefined ? '' : 'minute_at DESC, '}${byOwner ? owner.join(', ') : 'pipeline'}`;
  return { query, params };
};

/**
 * Whether a record of these is of a redrive or a purge. ClickHouse takes 0.2 s of CPU to plan the corrections, however few records there
 * are, and most hours have none.
 */
const hasCorrections = async (clickhouse: Clickhouse, filter: BalanceFilter): Promise<boolean> => {
  const { conditions, params } = conditionsOf(filter);
  const query = `SELECT 1 AS found FROM ${table} ${whereOf([...conditions, 'redrive > 0'])} LIMIT 1`;
  return (await clickhouse.rows(z.object({ found: z.literal(1) }), query, { params })).length > 0;
};

/**
 * The balance of each data id and application that has records, points first; `by`: of each minute, hour or day of arrival, the newest
 * first; `byOwner` false: of all of them together. No count is below 0. Once the streams are empty and no process writes, received = stored + dropped +
 * dead-lettered. Throws the Faults of ClickHouse.
 */
export const readBalances = async (
  clickhouse: Clickhouse,
  filter: BalanceFilter = {},
  by?: Bucket,
  byOwner = true,
): Promise<Balance[]> => {
  const isCorrected = await hasCorrections(clickhouse, filter);
  const { query, params } = balancesQuery(filter, { by, byOwner, isCorrected });
  const rows = await clickhouse.rows(balanceRow, query, { params });
  return rows.map(toBalance);
};

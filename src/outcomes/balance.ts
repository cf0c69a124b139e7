import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { ledgerTables, type OutcomeRow } from './rows.ts';
import { deadLetteredOutcome, droppedOutcome, storedOutcome } from './tally.ts';

/** The outcomes of the items of one data id (points; `appId` is 0) or application (spans; `dataId` is 0). */
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
  /** Start of the minute of arrival, Unix seconds; only where balances are read minute by minute. */
  readonly minute?: number;
};

/** Which records count: those of a data id or an application, of minutes of arrival from `sinceMs` on and before `untilMs`. */
export type BalanceFilter = {
  readonly dataId?: number;
  readonly appId?: number;
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

const balanceRow = z.object({
  pipeline: z.enum(['metrics', 'traces']),
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  received: z.coerce.number(),
  recorded: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
  minute_at: z.coerce.number().optional(),
});

const seconds = (ms: number): number => Math.max(0, Math.floor(ms / 1000));

/** The filter on the columns that all tables by the minute have. */
export const conditionsOf = ({ dataId, appId, sinceMs, untilMs }: BalanceFilter) => {
  const conditions: string[] = [];
  const params: Record<string, number> = {};
  if (dataId !== undefined) {
    conditions.push("pipeline = 'metrics' AND data_id = {dataId:Int64}");
    params['dataId'] = dataId;
  }
  if (appId !== undefined) {
    conditions.push("pipeline = 'traces' AND app_id = {appId:Int64}");
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
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, params };
};

const droppedPrefix = droppedOutcome('');

const toBalance = ({
  pipeline,
  data_id,
  app_id,
  received,
  recorded,
  outcomes,
  minute_at: minute,
}: z.output<typeof balanceRow>): Balance => {
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

/** The records themselves, the last one of each key. Within a window of time that is the last one in the window. */
const recordsOf = (filter: BalanceFilter, where: string): string => {
  const table = `${database}.${ledgerTables.outcomes}`;
  const { sinceMs } = filter;
  if (sinceMs === undefined || Date.now() - sinceMs > shortWindowMs)
    return `SELECT * FROM ${table} FINAL ${where}`;
  return `SELECT * FROM ${table} ${where}
    ORDER BY at DESC LIMIT 1 BY pipeline, data_id, app_id, base, first, ordinal, redrive`;
};

/** The query of `readBalances`, with its parameters. */
export const balancesQuery = (filter: BalanceFilter, byMinute: boolean) => {
  const { where, params } = conditionsOf(filter);
  const minute = byMinute
    ? { column: ', toUnixTimestamp(minute) AS minute_at', group: ', minute', order: 'minute DESC, ' }
    : { column: '', group: '', order: '' };
  const query = `SELECT pipeline, data_id, app_id, sum(received) AS received, sumIf(received, book = 1) AS recorded, sumMap(outcomes) AS outcomes${minute.column}
    FROM (${recordsOf(filter, where)})
    GROUP BY pipeline, data_id, app_id${minute.group} ORDER BY ${minute.order}pipeline, data_id, app_id`;
  return { query, params };
};

/**
 * The balance of each data id and application that has records, points first; `byMinute`: of each minute of arrival,
 * the newest first. Once the streams are empty and no process writes, received = stored + dropped + dead-lettered.
 * Throws the Faults of ClickHouse.
 */
export const readBalances = async (
  clickhouse: Clickhouse,
  filter: BalanceFilter = {},
  byMinute = false,
): Promise<Balance[]> => {
  const { query, params } = balancesQuery(filter, byMinute);
  const rows = await clickhouse.rows(balanceRow, query, { params });
  return rows.map(toBalance);
};

/** Whether every item received is accounted for. */
export const addsUp = ({ received, stored, dropped, deadLettered }: Balance): boolean =>
  received === stored + deadLettered + Object.values(dropped).reduce((sum, items) => sum + items, 0);

import { z } from 'zod';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { OutcomeRow, RefusalRow } from './rows.ts';

/** Whose rows, and from when to when (Unix seconds; whole minutes are counted). */
export type LedgerFilter = {
  readonly dataId?: number | undefined;
  readonly appId?: number | undefined;
  readonly since: number;
  readonly until: number;
};

/** Requests and items beside the balance, by kind and reason. */
export type RefusalSum = Pick<RefusalRow, 'kind' | 'reason' | 'requests' | 'items'>;

/** What became of the items of one data id or application. */
export type Balance = Pick<OutcomeRow, 'pipeline' | 'data_id' | 'app_id'> & {
  /** Unix seconds; null where the whole time is summed up. */
  readonly minute: number | null;
  readonly received: number;
  readonly stored: number;
  readonly dead_lettered: number;
  readonly dropped: Readonly<Record<string, number>>;
  /** Whether received = stored + dead_lettered + Σ dropped. */
  readonly adds_up: boolean;
  readonly refusals: readonly RefusalSum[];
};

const owner = {
  pipeline: z.enum(['metrics', 'traces']),
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  at: z.coerce.number(),
};

const outcomeSums = z.object({
  ...owner,
  received: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
});

const refusalSums = z.object({
  ...owner,
  kind: z.enum(['refused', 'duplicate', 'value_lost']),
  reason: z.string(),
  requests: z.coerce.number(),
  items: z.coerce.number(),
});

const rowsMax = 1_000;

const conditionsOf = ({ dataId, appId }: LedgerFilter): string => {
  const conditions = ['minute >= toStartOfMinute({since:DateTime})', 'minute <= {until:DateTime}'];
  if (dataId !== undefined) conditions.push("pipeline = 'metrics'", 'data_id = {dataId:Int64}');
  if (appId !== undefined) conditions.push("pipeline = 'traces'", 'app_id = {appId:Int64}');
  return conditions.join(' AND ');
};

const paramsOf = ({ dataId, appId, since, until }: LedgerFilter): Record<string, unknown> => ({
  since,
  until,
  ...(dataId === undefined ? {} : { dataId }),
  ...(appId === undefined ? {} : { appId }),
});

type Owned = Pick<z.output<typeof outcomeSums>, 'pipeline' | 'data_id' | 'app_id' | 'at'>;

const keyOf = ({ pipeline, data_id, app_id, at }: Owned): string => `${at} ${pipeline} ${data_id} ${app_id}`;

const balanceOf = (
  { pipeline, data_id, app_id, at }: Owned,
  received: number,
  outcomes: Readonly<Record<string, number>>,
  refusals: readonly RefusalSum[],
): Balance => {
  const { stored = 0, dead_lettered = 0, ...others } = outcomes;
  const dropped = Object.fromEntries(
    Object.entries(others)
      .filter(([, items]) => items !== 0)
      .map(([outcome, items]) => [outcome.replace(/^dropped\//, ''), items]),
  );
  const sum = Object.values(dropped).reduce((all, items) => all + items, stored + dead_lettered);
  return {
    pipeline,
    data_id,
    app_id,
    minute: at === 0 ? null : at,
    received,
    stored,
    dead_lettered,
    dropped,
    adds_up: sum === received,
    refusals,
  };
};

/**
 * The balances of all data ids and applications that the filter leaves, most received first, or minute by minute, the newest
 * first; 1,000 at most. Throws the Faults of the ClickHouse client.
 */
export const readBalances = async (
  clickhouse: Clickhouse,
  filter: LedgerFilter,
  byMinute: boolean,
): Promise<Balance[]> => {
  const at = byMinute ? 'toUnixTimestamp(minute)' : '0';
  const where = conditionsOf(filter);
  const params = paramsOf(filter);
  const [outcomes, refusals] = await Promise.all([
    clickhouse.rows(
      outcomeSums,
      `SELECT pipeline, data_id, app_id, ${at} AS at, sum(received) AS received, sumMap(outcomes) AS outcomes
       FROM otel.ingest_outcomes AS o FINAL WHERE ${where}
       GROUP BY pipeline, data_id, app_id, at ORDER BY at DESC, sum(o.received) DESC, data_id, app_id LIMIT ${rowsMax}`,
      { params },
    ),
    clickhouse.rows(
      refusalSums,
      `SELECT pipeline, data_id, app_id, ${at} AS at, kind, reason, sum(requests) AS requests, sum(items) AS items
       FROM otel.ingest_refusals AS r FINAL WHERE ${where}
       GROUP BY pipeline, data_id, app_id, at, kind, reason
       ORDER BY at DESC, sum(r.requests) DESC, data_id, app_id, kind, reason LIMIT ${10 * rowsMax}`,
      { params },
    ),
  ]);
  const sums = new Map<string, { of: Owned; received: number; outcomes: Record<string, number> }>();
  for (const row of outcomes) sums.set(keyOf(row), { of: row, ...row });
  const refused = new Map<string, RefusalSum[]>();
  for (const { kind, reason, requests, items, ...of } of refusals) {
    const key = keyOf(of);
    if (!sums.has(key)) sums.set(key, { of, received: 0, outcomes: {} });
    refused.set(key, [...(refused.get(key) ?? []), { kind, reason, requests, items }]);
  }
  const balances = [...sums].map(([key, { of, received, outcomes: counts }]) =>
    balanceOf(of, received, counts, refused.get(key) ?? []),
  );
  const ordered = byMinute
    ? balances.toSorted((left, right) => (right.minute ?? 0) - (left.minute ?? 0))
    : balances;
  return ordered.slice(0, rowsMax);
};

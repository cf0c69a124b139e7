import { z } from 'zod';
import { pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Balance, type BalanceFilter, conditionsOf, readBalances } from './balance.ts';
import { type Bucket, bucketOf } from './buckets.ts';
import { ledgerTables, type RefusalRow } from './rows.ts';

/** Requests and items beside the balance, by kind and reason. */
export type RefusalSum = Pick<RefusalRow, 'kind' | 'reason' | 'requests' | 'items'>;

/** The balance of one data id or application, and, outside of it, refused requests, duplicates and dropped values. */
export type AccountOf = Balance & { readonly refusals: readonly RefusalSum[] };

const refusalRow = z.object({
  pipeline: z.enum(pipelines),
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  minute_at: z.coerce.number().optional(),
  kind: z.enum(['refused', 'duplicate', 'value_lost']),
  reason: z.string(),
  requests: z.coerce.number(),
  items: z.coerce.number(),
});

const readRefusals = (
  clickhouse: Clickhouse,
  filter: BalanceFilter,
  by: Bucket | undefined,
  byOwner: boolean,
) => {
  const { where, params } = conditionsOf(filter);
  const time =
    by === undefined ? undefined : { column: `, ${bucketOf(by)} AS minute_at`, group: ', minute_at' };
  const owner = byOwner
    ? { columns: 'data_id, app_id', group: ', data_id, app_id' }
    : { columns: '0 AS data_id, 0 AS app_id', group: '' };
  return clickhouse.rows(
    refusalRow,
    `SELECT pipeline, ${owner.columns}, kind, reason, sum(requests) AS requests, sum(items) AS items${time?.column ?? ''}
       FROM (SELECT * FROM ${database}.${ledgerTables.refusals} FINAL ${where})
      GROUP BY pipeline${owner.group}, kind, reason${time?.group ?? ''} ORDER BY kind, requests DESC, items DESC, reason`,
    { params },
  );
};

/** An owner, and the start of a minute, hour or day where balances are read by it. */
export type Place = Pick<Balance, 'pipeline' | 'dataId' | 'appId'> & { readonly minute?: number | undefined };

export const placeText = ({ pipeline, dataId, appId, minute }: Place): string =>
  `${pipeline} ${dataId} ${appId} ${minute}`;

export const emptyBalance = ({ pipeline, dataId, appId, minute }: Place): Balance => ({
  pipeline,
  dataId,
  appId,
  received: 0,
  recorded: 0,
  stored: 0,
  dropped: {},
  deadLettered: 0,
  ...(minute === undefined ? {} : { minute }),
});

/** The newest first, points before the items of applications. */
export const inOrder = (left: Place, right: Place): number =>
  (right.minute ?? 0) - (left.minute ?? 0) ||
  left.pipeline.localeCompare(right.pipeline) ||
  left.dataId - right.dataId ||
  left.appId - right.appId;

/**
 * The outcomes of the items of each data id and application, points first; `by`: of each minute, hour or day of arrival, the newest
 * first; `byOwner` false: of all of them together. Owners with refusals alone are included. Throws the Faults of the ClickHouse client.
 */
export const readAccounts = async (
  clickhouse: Clickhouse,
  filter: BalanceFilter,
  by: Bucket | undefined,
  byOwner = true,
): Promise<AccountOf[]> => {
  const [balances, refused] = await Promise.all([
    readBalances(clickhouse, filter, by, byOwner),
    readRefusals(clickhouse, filter, by, byOwner),
  ]);
  const byKey = new Map(
    balances.map((balance): [string, { balance: Balance; refusals: RefusalSum[] }] => [
      placeText(balance),
      { balance, refusals: [] },
    ]),
  );
  for (const { pipeline, data_id, app_id, minute_at, ...sum } of refused) {
    const place = { pipeline, dataId: data_id, appId: app_id, minute: minute_at };
    const known = byKey.get(placeText(place));
    if (known === undefined) byKey.set(placeText(place), { balance: emptyBalance(place), refusals: [sum] });
    else known.refusals.push(sum);
  }
  return [...byKey.values()].map(({ balance, refusals }) => ({ ...balance, refusals })).toSorted(inOrder);
};

import { z } from 'zod';
import { ownerIdConditions } from '../model/signals.ts';
import { type BalanceFilter, conditionsOf } from '../outcomes/balance.ts';
import { type Bucket, bucketOf } from '../outcomes/buckets.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Owner, pipelineOf } from './difference.ts';
import { stampedSince } from './listed-minutes.ts';

/** What both books say of the items of one owner, in requests on their first way. */
export type Received = Owner & {
  /** Items of messages that a publisher counted. */
  readonly published: number;
  /** Of those, settled. */
  readonly counted: number;
  /** Settled items of messages that no publisher counted: doubtful, of a killed receiver, of a receiver of an earlier version. */
  readonly uncounted: number;
  /** Start of the minute, hour or day, Unix seconds; only where it is read by it. */
  readonly minute?: number;
};

const count = z.coerce.number();
const row = z.object({
  stream: z.string(),
  data_id: count,
  app_id: count,
  minute_at: count.optional(),
  published: count,
  counted: count,
  uncounted: count,
});

/**
 * A message counts once under its serial, regardless of its copies; without a serial, under its sequence. It is counted where the lines of its
 * life reach (`settledSerials` of books.ts has the same rule for one stream).
 */
const query = (where: string, recent: string, by: Bucket | undefined): string => `
  SELECT stream, data_id, app_id${by === undefined ? '' : `, ${bucketOf(by)} AS minute_at`},
    sum(published) AS published, sum(counted) AS counted, sum(uncounted) AS uncounted
  FROM
  (
    SELECT stream, minute, data_id, app_id, argMax(items, version) AS published, 0 AS counted, 0 AS uncounted
    FROM ${database}.ingest_published
    WHERE (data_id != 0 OR app_id != 0) AND ${where}
    GROUP BY stream, life, minute, data_id, app_id
    UNION ALL
    SELECT stream, minute, data_id, app_id, 0, if(is_counted, items, 0), if(is_counted, 0, items)
    FROM
    (
      SELECT stream, minute, data_id, app_id, items,
        life > 0 AND doubtful.serial = 0 AND serial <= greatest(lives.closed, lines.closed) AS is_counted
      FROM
      (
        SELECT stream, life, minute, serial, data_id, app_id, any(items) AS items
        FROM ${database}.ingest_settled WHERE redrive = 0 AND ${where}
        GROUP BY stream, life, minute, serial, if(life = 0, sequence, 0), data_id, app_id
      ) AS settled
      LEFT JOIN
      (
        SELECT stream, life, max(closed) AS closed FROM ${database}.ingest_published
        WHERE data_id = 0 AND app_id = 0 AND ${recent} GROUP BY stream, life
      ) AS lives USING (stream, life)
      LEFT JOIN
      (
        SELECT stream, life, minute, data_id, app_id, max(closed) AS closed FROM ${database}.ingest_published
        WHERE ${where} GROUP BY stream, life, minute, data_id, app_id
      ) AS lines USING (stream, life, minute, data_id, app_id)
      LEFT JOIN (SELECT DISTINCT stream, life, serial FROM ${database}.ingest_doubtful WHERE ${recent}) AS doubtful
        USING (stream, life, serial)
    )
  )
  GROUP BY stream, data_id, app_id${by === undefined ? '' : ', minute_at'}`;

/** Since the first minute of the filter. */
const sinceFilter = stampedSince('toDateTime({since:UInt32})');

/** What both books have of each owner; `by`: of each minute, hour or day. Throws the Faults of ClickHouse. */
export const readReceived = async (
  clickhouse: Clickhouse,
  filter: BalanceFilter,
  by: Bucket | undefined,
): Promise<Received[]> => {
  // The books have streams instead of pipelines.
  const { conditions, params } = conditionsOf(filter, ownerIdConditions);
  // Its life's reach and its doubt were written after the message.
  const recent = filter.sinceMs === undefined ? 'TRUE' : sinceFilter;
  const where = [...conditions, recent].join(' AND ');
  const rows = await clickhouse.rows(row, query(where, recent, by), { params });
  return rows.map(({ stream, data_id, app_id, minute_at, ...sums }) => ({
    ...sums,
    pipeline: pipelineOf(stream),
    dataId: data_id,
    appId: app_id,
    ...(minute_at === undefined ? {} : { minute: minute_at }),
  }));
};

import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Difference, pipelineOf } from './difference.ts';

const count = z.coerce.number();
const lostRow = z.object({ minute_at: count, data_id: count, app_id: count, items: count, messages: count });

/** A minute after the end of its publish, a message that arrived at all is in its stream. */
const toldWhere = 'told = 1 AND at >= now() - {seconds:UInt32} AND at < now() - 60';
const doubtfulWhere = `stream = {stream:String} AND ${toldWhere}`;

const streamRow = z.object({ stream: z.string() });

/** The streams that may have losses of this kind. Throws the Faults of ClickHouse. */
export const readToldStreams = async (clickhouse: Clickhouse, seconds: number): Promise<Set<string>> => {
  const sql = `SELECT DISTINCT stream FROM ${database}.ingest_doubtful WHERE ${toldWhere}`;
  const rows = await clickhouse.rows(streamRow, sql, { params: { seconds } });
  return new Set(rows.map(({ stream }) => stream));
};

/**
 * Messages without an answer whose senders were answered 2xx, because an earlier message seemed to have the name, and of which neither
 * their serial nor their key was ever settled: lost. To be read while the stream holds nothing. Throws the Faults of ClickHouse.
 */
export const readToldLosses = async (
  clickhouse: Clickhouse,
  stream: string,
  seconds: number,
): Promise<Difference[]> => {
  const rows = await clickhouse.rows(
    lostRow,
    `SELECT toUnixTimestamp(minute) AS minute_at, data_id, app_id, sum(held) AS items, count() AS messages
     FROM
     (
       SELECT life, serial, minute, data_id, app_id, any(items) AS held, any(base) AS key, any(first) AS start
       FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}
       GROUP BY life, serial, minute, data_id, app_id
     )
     WHERE (life, serial) NOT IN (SELECT life, serial FROM ${database}.ingest_settled
         WHERE stream = {stream:String} AND life IN (SELECT life FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}))
       AND (key, start) NOT IN (SELECT base, first FROM ${database}.ingest_outcomes
         WHERE base IN (SELECT base FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}))
     GROUP BY minute, data_id, app_id`,
    { params: { stream, seconds } },
  );
  return rows.map(({ minute_at: minute, data_id, app_id, items, messages }) => ({
    ...{ kind: 'lost_by_the_engine' as const, stream, pipeline: pipelineOf(stream) },
    ...{ dataId: data_id, appId: app_id, minute, items, messages },
  }));
};

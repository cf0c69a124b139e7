import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Difference, pipelineOf, streamOfStore } from './difference.ts';
import { isLoss, type LossEvidence } from './explain-losses.ts';
import { inMinutes, sinceMinutes } from './listed-minutes.ts';
import { lowerHalf, namedRecord, recordName } from './record-names.ts';

const count = z.coerce.number();
const row = z.object({ data_id: count, app_id: count, minute_at: count, items: count });

/** Lines of these minutes in all streams of the signal, of messages on their first way. */
const lines = `(stream = {stream:String} OR startsWith(stream, concat({stream:String}, '-'))) AND redrive = 0 AND items > 0
    AND ${inMinutes} AND ${sinceMinutes}`;

/** The owners whose items seem lost: the key of the records begins with them. */
const ofOwners = 'data_id IN {dataIds:Array(Int64)} AND app_id IN {appIds:Array(Int64)}';

/** Lines of earlier programs name the lower half alone: where some are there, all are compared by it. */
const nameOf = (whole: string): string =>
  `if((SELECT count() FROM ${database}.ingest_settled WHERE ${lines} AND record_high = 0) = 0, ${whole}, ${lowerHalf(whole)})`;

/**
 * By record and not in sum: a repeat writes its record under its own, later minute, and the line of its first try, which has none in its
 * minute then, stands for no other record. Lines without a name (0) stand for any.
 */
const query = `
  SELECT data_id, app_id, toUnixTimestamp(minute) AS minute_at, sum(if(name = 0, beyond, greatest(beyond, 0))) AS items
  FROM
  (
    SELECT data_id, app_id, minute, name, sum(own_items) AS beyond
    FROM
    (
      SELECT data_id, app_id, minute, ${nameOf(recordName)} AS name, received AS own_items
      FROM (SELECT * FROM ${database}.ingest_outcomes
        WHERE pipeline = {pipeline:String} AND book = 1 AND redrive = 0 AND ${inMinutes} AND ${ofOwners}
        ORDER BY at DESC LIMIT 1 BY pipeline, data_id, app_id, base, first, ordinal)
      UNION ALL
      SELECT data_id, app_id, minute, max(${nameOf(namedRecord)}) AS name, -toInt64(any(items)) AS own_items
      FROM ${database}.ingest_settled
      WHERE ${lines} AND ${ofOwners}
      GROUP BY stream, life, minute, serial, if(life = 0, sequence, 0), data_id, app_id
    )
    GROUP BY data_id, app_id, minute, name
  )
  GROUP BY data_id, app_id, minute
  HAVING items > 0`;

/**
 * By owner and minute (Unix seconds), of those losses that a look found in a stream: items of records that no line of the minute names. Their
 * messages were settled, and only their lines are gone. Asks nothing without a loss. Throws the Faults of ClickHouse.
 */
export const readItemsBeyond = async (
  clickhouse: Clickhouse,
  ofStream: string,
  found: readonly Difference[],
): Promise<LossEvidence['recorded']> => {
  const losses = found.filter((each) => isLoss(each) && each.items > 0);
  if (losses.length === 0) return () => 0;
  const pipeline = pipelineOf(ofStream);
  const rows = await clickhouse.rows(row, query, {
    params: {
      ...{ pipeline, stream: streamOfStore(pipeline) },
      minutes: [...new Set(losses.map(({ minute }) => minute))],
      dataIds: [...new Set(losses.map(({ dataId }) => dataId))],
      appIds: [...new Set(losses.map(({ appId }) => appId))],
    },
  });
  const beyond = new Map(
    rows.map((each) => [`${each.data_id} ${each.app_id} ${each.minute_at}`, each.items]),
  );
  return ({ dataId, appId }, minute) => beyond.get(`${dataId} ${appId} ${minute}`) ?? 0;
};

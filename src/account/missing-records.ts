import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { type Owner, pipelineOf } from './difference.ts';
import { inMinutes } from './listed-minutes.ts';
import { lowerHalf, namedRecord, recordName } from './record-names.ts';

/** Settled messages of an owner whose record is gone although their place is there. */
export type MissingRecords = Owner & {
  /** Unix seconds. */
  readonly minute: number;
  readonly items: number;
  readonly messages: number;
};

const count = z.coerce.number();
const row = z.object({ data_id: count, app_id: count, minute_at: count, items: count, messages: count });

/** Lines of these minutes that name a record. */
const namingLines = `stream = {stream:String} AND redrive = 0 AND items > 0 AND (record > 0 OR record_high > 0) AND ${inMinutes}`;

/** What a record may be named by: its lower half counts only where lines of earlier programs are among those of the minutes. */
const recordNames = `arrayJoin(if((SELECT count() FROM ${database}.ingest_settled WHERE ${namingLines} AND record_high = 0) = 0,
      [${recordName}], [${recordName}, ${lowerHalf(recordName)}]))`;

/**
 * One insert writes both, the record after the place: what is younger than two seconds may still lack the other half. Of a message that was
 * settled by an earlier program, too, the whole name counts. No whole name is a lower half: it is larger.
 */
const query = `
  SELECT data_id, app_id, toUnixTimestamp(minute) AS minute_at, sum(own_items) AS items, count() AS messages
  FROM
  (
    SELECT life, minute, serial, data_id, app_id, any(items) AS own_items, max(${namedRecord}) AS own_record
    FROM ${database}.ingest_settled
    WHERE ${namingLines} AND at < now() - 2
    GROUP BY life, minute, serial, if(life = 0, sequence, 0), data_id, app_id
  )
  WHERE (data_id, app_id, own_record) NOT IN
    (SELECT data_id, app_id, ${recordNames} FROM ${database}.ingest_outcomes
     WHERE pipeline = {pipeline:String} AND redrive = 0 AND minute BETWEEN toDateTime({since:UInt32}) AND toDateTime({until:UInt32}))
  GROUP BY data_id, app_id, minute`;

/** Records are sought first in the minutes themselves and these before and after, where nearly all of them are. */
const nearSeconds = 60;
/** A repeat writes its record again under a later minute of arrival, and a receiver's clock may be behind by this. */
const clockSecondsMax = 3_600;
/** The last second that DateTime holds. */
const secondMax = 4_294_967_295;

/** The settled messages of these minutes (Unix seconds) without a record. Throws the Faults of ClickHouse. */
export const readMissingRecords = async (
  clickhouse: Clickhouse,
  stream: string,
  minutes: readonly number[],
): Promise<MissingRecords[]> => {
  if (minutes.length === 0) return [];
  const pipeline = pipelineOf(stream);
  const [first, last] = [Math.min(...minutes), Math.max(...minutes)];
  const read = (since: number, until: number) =>
    clickhouse.rows(row, query, { params: { stream, pipeline, minutes, since: Math.max(0, since), until } });
  const near = await read(first - nearSeconds, Math.min(last + nearSeconds, secondMax));
  const rows = near.length === 0 ? near : await read(first - clockSecondsMax, secondMax);
  return rows.map(({ data_id: dataId, app_id: appId, minute_at: minute, items, messages }) => ({
    ...{ pipeline, dataId, appId, minute, items, messages },
  }));
};

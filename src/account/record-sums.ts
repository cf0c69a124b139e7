import { z } from 'zod';
import { streamOfPipeline } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { pipelineOf, streamOfStore } from './difference.ts';
import { inMinutes, minuteKey } from './listed-minutes.ts';

/** Number and sum of records, as a text: two sets of records with the same text are the same set. */
export const recordSumText = (records: number, sum: bigint): string => `${records} ${sum}`;

export const noRecords = recordSumText(0, 0n);

/** Names a minute (Unix seconds) of a stream as `readRecordSums` does: records have no stream, so those of a signal are of all its streams. */
export const recordsKey = (stream: string, minute: number): string =>
  minuteKey(streamOfStore(pipelineOf(stream)), minute);

const count = z.coerce.number();
const row = z.object({ stream: z.string(), minute_at: count, records: count, record_sum: z.string() });

/** A settled line names its record by the lower 32 bits of base + first. */
const query = `
  SELECT ${streamOfPipeline} AS stream, toUnixTimestamp(minute) AS minute_at, count() AS records,
    toString(sum(bitAnd(base + first, 4294967295))) AS record_sum
  FROM ${database}.ingest_outcomes WHERE ${inMinutes} AND redrive = 0
  GROUP BY stream, minute`;

/**
 * The sums of the records that arrived in these minutes (Unix seconds), doubled rows included, by `recordsKey`; minutes without a record are
 * not there. Throws the Faults of ClickHouse.
 */
export const readRecordSums = async (
  clickhouse: Clickhouse,
  minutes: readonly number[],
): Promise<Map<string, string>> => {
  if (minutes.length === 0) return new Map();
  const rows = await clickhouse.rows(row, query, { params: { minutes } });
  return new Map(
    rows.map((each) => [
      minuteKey(each.stream, each.minute_at),
      recordSumText(each.records, BigInt(each.record_sum)),
    ]),
  );
};

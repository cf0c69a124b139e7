import { z } from 'zod';
import { streamOfPipeline } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { pipelineOf, streamOfStore } from './difference.ts';
import { inMinutes, minuteKey } from './listed-minutes.ts';
import { lowerHalf, recordName } from './record-names.ts';

/** Number of records and sum of their names modulo 2^64, as a text: two sets of records with the same text are the same set. */
export const recordSumText = (records: number, sum: bigint): string =>
  `${records} ${BigInt.asUintN(64, sum)}`;

/** The records of a minute, by their whole names and by the lower halves, which lines of earlier programs have. */
export type RecordSums = { readonly whole: string; readonly lower: string };

export const noRecords = recordSumText(0, 0n);

/** The records of a minute in the form in which its lines name theirs (`placed`): equal to that where they are the same set. */
export const recordedText = (placed: string, sums: RecordSums | undefined): string =>
  sums?.lower === placed ? placed : (sums?.whole ?? noRecords);

/** Names a minute (Unix seconds) of a stream as `readRecordSums` does: records have no stream, so those of a signal are of all its streams. */
export const recordsKey = (stream: string, minute: number): string =>
  minuteKey(streamOfStore(pipelineOf(stream)), minute);

const count = z.coerce.number();
const row = z.object({
  stream: z.string(),
  minute_at: count,
  records: count,
  whole_sum: z.string(),
  lower_sum: z.string(),
});

const query = `
  SELECT ${streamOfPipeline} AS stream, toUnixTimestamp(minute) AS minute_at, count() AS records,
    toString(sum(${recordName})) AS whole_sum, toString(sum(${lowerHalf(recordName)})) AS lower_sum
  FROM ${database}.ingest_outcomes WHERE ${inMinutes} AND redrive = 0
  GROUP BY stream, minute`;

/**
 * The sums of the records that arrived in these minutes (Unix seconds), doubled rows included, by `recordsKey`; minutes without a record are
 * not there. Throws the Faults of ClickHouse.
 */
export const readRecordSums = async (
  clickhouse: Clickhouse,
  minutes: readonly number[],
): Promise<Map<string, RecordSums>> => {
  if (minutes.length === 0) return new Map();
  const rows = await clickhouse.rows(row, query, { params: { minutes } });
  return new Map(
    rows.map((each) => [
      minuteKey(each.stream, each.minute_at),
      {
        whole: recordSumText(each.records, BigInt(each.whole_sum)),
        lower: recordSumText(each.records, BigInt(each.lower_sum)),
      },
    ]),
  );
};

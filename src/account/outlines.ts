import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { inMinutes, lineSeconds, minuteKey, sinceMinutes } from './listed-minutes.ts';
import { namedRecord } from './record-names.ts';
import { noRecords, readRecordSums, recordedText, recordSumText, recordsKey } from './record-sums.ts';

/** Which outlines a look reads. */
export type OutlineScope = {
  /** Those of minutes with lines that were written in this time before now, seconds. */
  readonly seconds: number;
  /** And those of these minutes, Unix seconds. */
  readonly minutes: readonly number[];
  /** Whether the records are read too. */
  readonly withRecords: boolean;
  /** Unix seconds by the clock of this process. */
  readonly now: number;
};

/** One life in one minute of a stream, as far as both books have it; without regard to doubled rows. */
export type Outline = {
  readonly stream: string;
  readonly life: number;
  /** Unix seconds. */
  readonly minute: number;
  readonly messages: number;
  readonly items: number;
  /** Sum over the settled rows, doubled ones included. */
  readonly settledItems: number;
  /** The records that the settled rows of the signal name in this minute, of all streams and lives: a text of their number and sum. */
  readonly placed: string;
  /** The records of the signal that arrived in this minute, in the form of `placed`; undefined where they were not read. */
  readonly recorded: string | undefined;
};

const count = z.coerce.number();

/** Settled lines that came longer ago than this were seen by an earlier look. */
const settledSecondsMax = 3_600;
/** Lines of one minute are written within this time. */
const writtenSeconds = 600;
/** A minute and what its lines take until they are in ClickHouse. */
const presentSeconds = 60 + lineSeconds;

const publishedRow = z.object({
  stream: z.string(),
  life: count,
  minute_at: count,
  messages: count,
  items: count,
});

/**
 * Lines are cumulative and written again whenever they change, so `at`, the clock of ClickHouse, tells which minutes had traffic;
 * the minutes themselves come from the clocks of the receivers.
 */
const publishedQuery = (hasMinutes: boolean): string => `
  SELECT stream, life, toUnixTimestamp(minute) AS minute_at, sumIf(line_messages, data_id = 0 AND app_id = 0) AS messages,
    sum(line_items) AS items
  FROM
  (
    SELECT stream, life, minute, data_id, app_id, argMax(messages, version) AS line_messages, argMax(items, version) AS line_items,
      max(at) AS written_at
    FROM ${database}.ingest_published
    WHERE at >= now() - {seconds:UInt32} - ${writtenSeconds} ${hasMinutes ? `OR (${inMinutes} AND ${sinceMinutes})` : ''}
    GROUP BY stream, life, minute, data_id, app_id
  )
  GROUP BY stream, life, minute
  HAVING max(written_at) >= now() - {seconds:UInt32} ${hasMinutes ? `OR ${inMinutes}` : ''}`;

const settledRow = z.object({
  stream: z.string(),
  life: count,
  minute_at: count,
  items: count,
  records: count,
  record_sum: z.string(),
});

/** Of these minutes, and of any other in which lines were settled of late. */
const settledQuery = `
  SELECT stream, life, toUnixTimestamp(minute) AS minute_at, sum(settled.items) AS items,
    countIf(settled.items > 0 AND ${namedRecord} > 0) AS records, toString(sumIf(${namedRecord}, settled.items > 0)) AS record_sum
  FROM ${database}.ingest_settled AS settled
  WHERE redrive = 0 AND ((${inMinutes} AND ${sinceMinutes}) OR at >= now() - {seconds:UInt32})
  GROUP BY stream, life, minute`;

/** By `recordsKey`: number and sum of what names the records. */
const placedOf = (rows: readonly z.output<typeof settledRow>[]): Map<string, string> => {
  const sums = new Map<string, { records: number; sum: bigint }>();
  for (const { stream, minute_at, records, record_sum } of rows) {
    const key = recordsKey(stream, minute_at);
    const known = sums.get(key) ?? { records: 0, sum: 0n };
    sums.set(key, { records: known.records + records, sum: known.sum + BigInt(record_sum) });
  }
  return new Map([...sums].map(([key, { records, sum }]) => [key, recordSumText(records, sum)]));
};

/**
 * Whether the lines of the publishers of this minute may come after the settled ones. Those that have come are among what was written of
 * late, so there is nothing else to read of it.
 */
const isPresent = (minute: number, now: number): boolean => minute <= now && now < minute + presentSeconds;

const read = async (
  clickhouse: Clickhouse,
  { seconds, minutes: asked, withRecords, now }: OutlineScope,
): Promise<{ readonly outlines: Outline[]; readonly late: readonly number[] }> => {
  const hasMinutes = asked.length > 0;
  const published = await clickhouse.rows(publishedRow, publishedQuery(hasMinutes), {
    params: { seconds, ...(hasMinutes ? { minutes: asked } : {}) },
  });
  const known = new Set([...asked, ...published.map(({ minute_at }) => minute_at)]);
  // ClickHouse takes no empty list here; the first minute of all has no lines.
  const minutes = known.size === 0 ? [0] : [...known];
  const settled = await clickhouse.rows(settledRow, settledQuery, {
    params: { minutes, seconds: Math.min(seconds, settledSecondsMax) },
  });
  const placed = placedOf(settled);
  const recorded = withRecords ? await readRecordSums(clickhouse, minutes) : undefined;
  const items = new Map(
    settled.map((row) => [`${row.life} ${minuteKey(row.stream, row.minute_at)}`, row.items]),
  );
  const outlines = published.map(({ minute_at: minute, ...line }) => {
    const key = recordsKey(line.stream, minute);
    const named = placed.get(key) ?? noRecords;
    return {
      ...{ ...line, minute },
      settledItems: items.get(`${line.life} ${minuteKey(line.stream, minute)}`) ?? 0,
      placed: named,
      recorded: recorded === undefined ? undefined : recordedText(named, recorded.get(key)),
    };
  });
  const late = settled.flatMap(({ life, minute_at }) =>
    life > 0 && !known.has(minute_at) && !isPresent(minute_at, now) ? [minute_at] : [],
  );
  return { outlines, late };
};

/** What both books say of the lives and minutes in the scope, and of older minutes that were settled meanwhile. Throws the Faults of ClickHouse. */
export const readOutlines = async (clickhouse: Clickhouse, scope: OutlineScope): Promise<Outline[]> => {
  const { outlines, late } = await read(clickhouse, scope);
  if (late.length === 0) return outlines;
  const minutes = [...new Set([...scope.minutes, ...late])];
  return (await read(clickhouse, { ...scope, minutes })).outlines;
};

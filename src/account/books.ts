import { z } from 'zod';
import { type Pipeline, streamOfPipeline } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { Published, Settled, SettledMessages } from './compare.ts';

/** Both books of one stream over some minutes. */
export type Books = {
  readonly published: readonly Published[];
  readonly settled: readonly Settled[];
  readonly messages: readonly SettledMessages[];
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
  /** The same of the records of the signal that arrived in this minute, whichever life published them. */
  readonly recordedItems: number;
};

const count = z.coerce.number();

const outlineRow = z.object({
  stream: z.string(),
  life: count,
  minute_at: count,
  messages: count,
  items: count,
  settled_items: count,
  recorded_items: count,
});

/**
 * Lines are cumulative and written again whenever they change, so `at`, the clock of ClickHouse, tells which minutes had traffic;
 * the minutes themselves come from the clocks of the receivers.
 */
const outlineQuery = `
  SELECT stream, life, toUnixTimestamp(minute) AS minute_at, messages, items, settled_items, recorded_items
  FROM
  (
  SELECT stream, life, minute,
    sum(messages) AS messages, sum(items) AS items, sum(settled_items) AS settled_items
  FROM
  (
    SELECT stream, life, minute, if(data_id = 0 AND app_id = 0, argMax(messages, version), 0) AS messages,
      argMax(items, version) AS items, 0 AS settled_items
    FROM ${database}.ingest_published
    WHERE at >= now() - {seconds:UInt32}
    GROUP BY stream, life, minute, data_id, app_id
    UNION ALL
    SELECT stream, life, minute, 0, 0, sum(items)
    FROM ${database}.ingest_settled
    WHERE life > 0 AND redrive = 0 AND (stream, life, minute) IN
      (SELECT stream, life, minute FROM ${database}.ingest_published WHERE at >= now() - {seconds:UInt32})
    GROUP BY stream, life, minute
  )
  GROUP BY stream, life, minute
  ) AS lives
  LEFT JOIN
  (
    SELECT ${streamOfPipeline} AS stream, minute, sum(received) AS recorded_items
    FROM ${database}.ingest_outcomes
    WHERE redrive = 0 AND minute IN (SELECT minute FROM ${database}.ingest_published WHERE at >= now() - {seconds:UInt32})
    GROUP BY stream, minute
  ) AS records USING (stream, minute)`;

/** What both books say of the lives and minutes whose lines were written in the last `seconds`. Throws the Faults of ClickHouse. */
export const readOutlines = async (clickhouse: Clickhouse, seconds: number): Promise<Outline[]> => {
  const rows = await clickhouse.rows(outlineRow, outlineQuery, { params: { seconds } });
  return rows.map(({ minute_at: minute, settled_items, recorded_items, ...outline }) => ({
    ...{ ...outline, minute, settledItems: settled_items, recordedItems: recorded_items },
  }));
};

const listed = 'minute IN (SELECT toDateTime(arrayJoin({minutes:Array(UInt32)})))';

const publishedRow = z.object({
  life: count,
  minute_at: count,
  data_id: count,
  app_id: count,
  messages: count,
  items: count,
  sequence_first: count,
  sequence_last: count,
  reach: count,
});

/**
 * How far the lines of each life reach in the stream: its last line says it, which is no older than its lines of the minutes. The day before
 * leaves room for clocks.
 */
const closedOfLives = `
    SELECT life, max(closed) AS closed FROM ${database}.ingest_published
    WHERE stream = {stream:String} AND data_id = 0 AND app_id = 0
      AND at >= least(now(), toDateTime(arrayMin({minutes:Array(UInt32)}))) - INTERVAL 1 DAY
    GROUP BY life`;

const publishedQuery = `
  SELECT life, toUnixTimestamp(minute) AS minute_at, data_id, app_id, lines.messages AS messages, lines.items AS items,
    lines.sequence_first AS sequence_first, lines.sequence_last AS sequence_last,
    greatest(lives.closed, lines.closed) AS reach
  FROM
  (
    SELECT life, minute, data_id, app_id, argMax(messages, version) AS messages, argMax(items, version) AS items,
      argMax(sequence_first, version) AS sequence_first, argMax(sequence_last, version) AS sequence_last,
      max(closed) AS closed
    FROM ${database}.ingest_published
    WHERE stream = {stream:String} AND ${listed}
    GROUP BY life, minute, data_id, app_id
  ) AS lines
  LEFT JOIN (${closedOfLives}) AS lives USING (life)`;

/**
 * The settled serials of these minutes, each owner of each message once. A serial is counted where its life's lines reach: up to the
 * last `closed` of the life, or of the owner's own line where only that one arrived; but a doubtful one never.
 */
export const settledSerials = (where: string): string => `
  SELECT life, minute, serial, data_id, app_id, items, owners, doubtful.serial > 0 AS is_doubtful,
    NOT is_doubtful AND serial <= greatest(lives.closed, lines.closed) AS is_counted
  FROM
  (
    SELECT life, minute, serial, data_id, app_id, any(items) AS items, any(owners) AS owners
    FROM ${database}.ingest_settled
    WHERE stream = {stream:String} AND life > 0 AND redrive = 0 AND ${where}
    GROUP BY life, minute, serial, data_id, app_id
  ) AS settled
  LEFT JOIN (${closedOfLives}) AS lives USING (life)
  LEFT JOIN
  (
    SELECT life, minute, data_id, app_id, max(closed) AS closed FROM ${database}.ingest_published
    WHERE stream = {stream:String} AND ${where}
    GROUP BY life, minute, data_id, app_id
  ) AS lines USING (life, minute, data_id, app_id)
  LEFT JOIN
  (
    SELECT DISTINCT life, serial FROM ${database}.ingest_doubtful WHERE stream = {stream:String}
  ) AS doubtful USING (life, serial)`;

const settledRow = z.object({
  life: count,
  minute_at: count,
  data_id: count,
  app_id: count,
  counted: count,
  beyond: count,
  counted_messages: count,
  beyond_messages: count,
  owners_most: count,
  doubtful: count,
});

const settledQuery = `
  SELECT life, toUnixTimestamp(minute) AS minute_at, data_id, app_id, sumIf(items, is_counted) AS counted,
    sumIf(items, NOT is_counted AND NOT is_doubtful) AS beyond, countIf(is_counted) AS counted_messages,
    countIf(NOT is_counted AND NOT is_doubtful) AS beyond_messages, max(owners) AS owners_most,
    sumIf(items, is_doubtful) AS doubtful
  FROM (${settledSerials(listed)}) GROUP BY life, minute, data_id, app_id`;

const messagesRow = z.object({
  life: count,
  minute_at: count,
  counted: count,
  beyond: count,
  short: count,
});

const messagesQuery = `
  SELECT life, toUnixTimestamp(minute) AS minute_at, countIf(is_in) AS counted,
    countIf(NOT is_in AND NOT is_open) AS beyond, countIf(is_in AND lines < owners_most) AS short
  FROM
  (
    SELECT life, minute, serial, max(is_counted) AS is_in, max(is_doubtful) AS is_open, count() AS lines,
      max(owners) AS owners_most
    FROM (${settledSerials(listed)}) GROUP BY life, minute, serial
  )
  GROUP BY life, minute`;

/** The messages of lines each of which is all of its message. */
const messagesOfLines = (settled: readonly z.output<typeof settledRow>[]): SettledMessages[] =>
  [...Map.groupBy(settled, ({ life, minute_at }) => `${life} ${minute_at}`).values()].flatMap((lines) => {
    const [first] = lines;
    if (first === undefined) return [];
    const sum = { life: first.life, minute: first.minute_at, counted: 0, beyond: 0, short: 0 };
    for (const line of lines) {
      sum.counted += line.counted_messages;
      sum.beyond += line.beyond_messages;
    }
    return [sum];
  });

const readMessages = async (
  clickhouse: Clickhouse,
  params: { readonly stream: string; readonly minutes: readonly number[] },
): Promise<SettledMessages[]> => {
  const rows = await clickhouse.rows(messagesRow, messagesQuery, { params });
  return rows.map(({ minute_at: minute, ...row }) => ({ ...row, minute }));
};

/** Both books of these minutes (Unix seconds). Throws the Faults of ClickHouse. */
export const readBooks = async (
  clickhouse: Clickhouse,
  stream: string,
  minutes: readonly number[],
): Promise<Books> => {
  const params = { stream, minutes };
  const [published, settled] = await Promise.all([
    clickhouse.rows(publishedRow, publishedQuery, { params }),
    clickhouse.rows(settledRow, settledQuery, { params }),
  ]);
  // Most messages have one owner: to read their lines a second time would say the same.
  const isOneOwnerEach = settled.every(({ owners_most: owners }) => owners <= 1);
  const messages = isOneOwnerEach ? messagesOfLines(settled) : await readMessages(clickhouse, params);
  return {
    published: published.map(({ minute_at: minute, data_id, app_id, sequence_first, ...row }) => ({
      life: row.life,
      minute,
      dataId: data_id,
      appId: app_id,
      messages: row.messages,
      items: row.items,
      sequenceFirst: sequence_first,
      sequenceLast: row.sequence_last,
      reach: row.reach,
    })),
    settled: settled.map((row) => ({
      ...{ life: row.life, minute: row.minute_at, dataId: row.data_id, appId: row.app_id },
      ...{ counted: row.counted, beyond: row.beyond, doubtful: row.doubtful },
      countedMessages: row.counted_messages,
    })),
    messages,
  };
};

const recordedRow = z.object({ data_id: count, app_id: count, minute_at: count, items: count });

/** The items of an owner and minute (Unix seconds) that records of this program have. */
export type Recorded = {
  readonly dataId: number;
  readonly appId: number;
  readonly minute: number;
  readonly items: number;
};

/** The records of messages that arrived in these minutes. Throws the Faults of ClickHouse. */
export const readRecorded = async (
  clickhouse: Clickhouse,
  pipeline: Pipeline,
  minutes: readonly number[],
): Promise<Recorded[]> => {
  const rows = await clickhouse.rows(
    recordedRow,
    `SELECT data_id, app_id, toUnixTimestamp(minute) AS minute_at, sum(received) AS items
     FROM (SELECT * FROM ${database}.ingest_outcomes
       WHERE pipeline = {pipeline:String} AND book = 1 AND redrive = 0 AND ${listed}
       ORDER BY at DESC LIMIT 1 BY pipeline, data_id, app_id, base, first, ordinal)
     GROUP BY data_id, app_id, minute`,
    { params: { pipeline, minutes } },
  );
  return rows.map(({ data_id, app_id, minute_at, items }) => ({
    dataId: data_id,
    appId: app_id,
    minute: minute_at,
    items,
  }));
};

const numberRow = z.object({ found: count });

/** The number of different sequences between these two that have a line. */
export const countSequences = async (
  clickhouse: Clickhouse,
  stream: string,
  first: number,
  last: number,
): Promise<number> => {
  const [row] = await clickhouse.rows(
    numberRow,
    `SELECT uniqExact(sequence) AS found FROM ${database}.ingest_settled
     WHERE stream = {stream:String} AND sequence BETWEEN {first:UInt64} AND {last:UInt64}`,
    { params: { stream, first, last } },
  );
  return row?.found ?? 0;
};

const placeRow = z.object({ life: count, serial: count, sequence: count });

/** The place of a message: its sequence and, where it has one, its serial. */
export type MessagePlace = { readonly sequence: number; readonly life: number; readonly serial: number };

/** A message with a serial is the same one under any sequence: an older copy of a stream gives its sequences again. */
const nameOf = ({ life, serial, sequence }: MessagePlace): string =>
  life === 0 ? `sequence ${sequence}` : `${life}.${serial}`;

/** Places that one query names: they travel in its address, whose length ClickHouse limits. */
const placesMax = 5_000;

const inParts = async <R>(
  messages: readonly MessagePlace[],
  read: (params: {
    readonly lives: number[];
    readonly serials: number[];
    readonly sequences: number[];
  }) => Promise<R[]>,
): Promise<R[]> => {
  const found: R[] = [];
  for (let at = 0; at < messages.length; at += placesMax) {
    const part = messages.slice(at, at + placesMax);
    const params = {
      lives: part.map(({ life }) => life),
      serials: part.map(({ serial }) => serial),
      sequences: part.map(({ sequence }) => sequence),
    };
    found.push(...(await read(params)));
  }
  return found;
};

/** Those of these messages that have no line. Throws the Faults of ClickHouse. */
export const withoutLine = async <M extends MessagePlace>(
  clickhouse: Clickhouse,
  stream: string,
  messages: readonly M[],
): Promise<M[]> => {
  const rows = await inParts(messages, (places) =>
    clickhouse.rows(
      placeRow,
      `SELECT DISTINCT life, serial, sequence FROM ${database}.ingest_settled
       WHERE stream = {stream:String} AND ((life, serial) IN arrayZip({lives:Array(UInt32)}, {serials:Array(UInt64)})
         OR (life = 0 AND sequence IN {sequences:Array(UInt64)}))`,
      { params: { stream, ...places } },
    ),
  );
  const settled = new Set(rows.map(nameOf));
  return messages.filter((message) => !settled.has(nameOf(message)));
};

const serialRow = z.object({ life: count, serial: count });

/** Tells which of these messages ended without an answer. Throws the Faults of ClickHouse. */
export const readDoubtful = async (
  clickhouse: Clickhouse,
  stream: string,
  messages: readonly MessagePlace[],
): Promise<(message: MessagePlace) => boolean> => {
  const rows = await inParts(messages, ({ lives, serials }) =>
    clickhouse.rows(
      serialRow,
      `SELECT DISTINCT life, serial FROM ${database}.ingest_doubtful
       WHERE stream = {stream:String} AND (life, serial) IN arrayZip({lives:Array(UInt32)}, {serials:Array(UInt64)})`,
      { params: { stream, lives, serials } },
    ),
  );
  const doubtful = new Set(rows.map(({ life, serial }) => `${life}.${serial}`));
  return ({ life, serial }) => doubtful.has(`${life}.${serial}`);
};

import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { Published, Settled, SettledMessages } from './compare.ts';
import { inMinutes, sinceMinutes } from './listed-minutes.ts';

/** Both books of one stream over some minutes. */
export type Books = {
  readonly published: readonly Published[];
  readonly settled: readonly Settled[];
  readonly messages: readonly SettledMessages[];
};

const count = z.coerce.number();

const publishedRow = z.object({
  life: count,
  minute_at: count,
  data_id: count,
  app_id: count,
  messages: count,
  items: count,
  sequence_first: count,
  sequence_last: count,
  closed: count,
});

/** The minute of the rows that say how far a life reaches: no line has it. */
const reachMinute = 0;

/**
 * The lines of these minutes; and in one row for each life how far its lines reach in the stream: its last line says it, which is no older
 * than its lines of the minutes. It is read first: a flush in between must not count serials that the lines do not hold yet.
 */
const publishedQuery = `
  SELECT life, toUInt32(${reachMinute}) AS minute_at, toInt64(0) AS data_id, toInt64(0) AS app_id, toUInt64(0) AS messages, toUInt64(0) AS items,
    toUInt64(0) AS sequence_first, toUInt64(0) AS sequence_last, max(lines.closed) AS closed
  FROM ${database}.ingest_published AS lines
  WHERE stream = {stream:String} AND lines.data_id = 0 AND lines.app_id = 0 AND ${sinceMinutes}
  GROUP BY life
  UNION ALL
  SELECT life, toUnixTimestamp(minute), data_id, app_id, argMax(lines.messages, version), argMax(lines.items, version),
    argMax(lines.sequence_first, version), argMax(lines.sequence_last, version), max(lines.closed)
  FROM ${database}.ingest_published AS lines
  WHERE stream = {stream:String} AND ${inMinutes}
  GROUP BY life, minute, data_id, app_id`;

/** How far the lines of a life reach. */
const reachOfLife = 'transform(life, {lives:Array(UInt32)}, {closed:Array(UInt64)}, toUInt64(0))';

/** Lines of owners that reach further than their life, named in the query. */
const namedLines = {
  join: '',
  reach: `arrayElement({own_closed:Array(UInt64)}, 1 + indexOf({own_lines:Array(String)},
    concat(toString(life), ' ', toString(toUnixTimestamp(minute)), ' ', toString(data_id), ' ', toString(app_id))))`,
};

/** The same where they are too many: they would make the address of the query too long, and each row would search all of them. */
const joinedLines = {
  join: `LEFT JOIN
    (
      SELECT life, minute, data_id, app_id, max(closed) AS line_closed FROM ${database}.ingest_published
      WHERE stream = {stream:String} AND ${inMinutes} GROUP BY life, minute, data_id, app_id
    ) AS own USING (life, minute, data_id, app_id)`,
  reach: 'any(own.line_closed)',
};
const namedLinesMax = 200;

/**
 * The settled serials of these minutes, each owner of each message once. A serial is counted where its life's lines reach: up to the
 * last `closed` of the life, or of the owner's own line where only that one arrived; but a doubtful one never. What is known of the lives
 * and lines comes with the query: to join them would cost ClickHouse more than the rows.
 */
const settledSerials = ({ join, reach }: typeof namedLines): string => `
  SELECT life, minute, serial, data_id, app_id, any(lines.items) AS items, any(lines.owners) AS owners,
    (life, serial) IN (SELECT life, serial FROM ${database}.ingest_doubtful WHERE stream = {stream:String}) AS is_doubtful,
    NOT is_doubtful AND serial <= greatest(${reachOfLife}, ${reach}) AS is_counted
  FROM ${database}.ingest_settled AS lines ${join}
  WHERE stream = {stream:String} AND life > 0 AND redrive = 0 AND ${inMinutes}
  GROUP BY life, minute, serial, data_id, app_id`;

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

const settledQuery = (own: typeof namedLines): string => `
  SELECT life, toUnixTimestamp(minute) AS minute_at, data_id, app_id, sumIf(items, is_counted) AS counted,
    sumIf(items, NOT is_counted AND NOT is_doubtful) AS beyond, countIf(is_counted) AS counted_messages,
    countIf(NOT is_counted AND NOT is_doubtful) AS beyond_messages, max(owners) AS owners_most,
    sumIf(items, is_doubtful) AS doubtful
  FROM (${settledSerials(own)}) GROUP BY life, minute, data_id, app_id`;

const messagesRow = z.object({
  life: count,
  minute_at: count,
  counted: count,
  beyond: count,
  short: count,
});

const messagesQuery = (own: typeof namedLines): string => `
  SELECT life, toUnixTimestamp(minute) AS minute_at, countIf(is_in) AS counted,
    countIf(NOT is_in AND NOT is_open) AS beyond, countIf(is_in AND lines < owners_most) AS short
  FROM
  (
    SELECT life, minute, serial, max(is_counted) AS is_in, max(is_doubtful) AS is_open, count() AS lines,
      max(owners) AS owners_most
    FROM (${settledSerials(own)}) GROUP BY life, minute, serial
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
  own: typeof namedLines,
  params: Readonly<Record<string, unknown>>,
): Promise<SettledMessages[]> => {
  const rows = await clickhouse.rows(messagesRow, messagesQuery(own), { params });
  return rows.map(({ minute_at: minute, ...row }) => ({ ...row, minute }));
};

/** Both books of these minutes (Unix seconds). Throws the Faults of ClickHouse. */
export const readBooks = async (
  clickhouse: Clickhouse,
  stream: string,
  minutes: readonly number[],
): Promise<Books> => {
  const read = await clickhouse.rows(publishedRow, publishedQuery, { params: { stream, minutes } });
  const lines = read.filter((line) => line.minute_at !== reachMinute);
  const reaches = read.filter((line) => line.minute_at === reachMinute);
  const closed = new Map(reaches.map((each) => [each.life, each.closed]));
  const own = lines.filter((line) => line.closed > (closed.get(line.life) ?? 0));
  const isNamed = own.length <= namedLinesMax;
  const named = isNamed ? own : [];
  const params = {
    ...{ stream, minutes },
    // Life 0 has no lines: ClickHouse takes no empty list here.
    ...{ lives: [0, ...closed.keys()], closed: [0, ...closed.values()] },
    own_lines: named.map(
      ({ life, minute_at, data_id, app_id }) => `${life} ${minute_at} ${data_id} ${app_id}`,
    ),
    own_closed: [0, ...named.map((line) => line.closed)],
  };
  const ownLines = isNamed ? namedLines : joinedLines;
  const settled = await clickhouse.rows(settledRow, settledQuery(ownLines), { params });
  // Most messages have one owner: to read their lines a second time would say the same.
  const isOneOwnerEach = settled.every(({ owners_most: owners }) => owners <= 1);
  const messages = isOneOwnerEach
    ? messagesOfLines(settled)
    : await readMessages(clickhouse, ownLines, params);
  return {
    published: lines.map((line) => ({
      ...{ life: line.life, minute: line.minute_at, dataId: line.data_id, appId: line.app_id },
      ...{ messages: line.messages, items: line.items },
      ...{ sequenceFirst: line.sequence_first, sequenceLast: line.sequence_last },
      reach: Math.max(line.closed, closed.get(line.life) ?? 0),
    })),
    settled: settled.map((row) => ({
      ...{ life: row.life, minute: row.minute_at, dataId: row.data_id, appId: row.app_id },
      ...{ counted: row.counted, beyond: row.beyond, doubtful: row.doubtful },
      countedMessages: row.counted_messages,
    })),
    messages,
  };
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

/** The last sequence up to this one that has a line of the last days; 0 without one. */
export const lastSettled = async (
  clickhouse: Clickhouse,
  stream: string,
  upTo: number,
  seconds: number,
): Promise<number> => {
  const [row] = await clickhouse.rows(
    numberRow,
    `SELECT max(sequence) AS found FROM ${database}.ingest_settled
     WHERE stream = {stream:String} AND sequence <= {upTo:UInt64} AND at >= now() - {seconds:UInt32}`,
    { params: { stream, upTo, seconds } },
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

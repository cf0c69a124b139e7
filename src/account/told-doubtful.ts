import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { Queue } from './compare.ts';
import { type Difference, differenceKey, pipelineOf } from './difference.ts';
import { firstSeconds, windowSeconds } from './due-minutes.ts';

const count = z.coerce.number();
const lostRow = z.object({
  ...{ minute_at: count, data_id: count, app_id: count, items: count, messages: count },
  is_recent: z.coerce.boolean(),
});

/** They are read for as long as any look compares their minutes. A line of the book is written again some minutes after its message. */
const seconds = firstSeconds + 3_600;

export type ToldLoss = {
  readonly loss: Difference;
  /** It is to be compared at each look. An older one is read for the looks that compare its minute again. */
  readonly isRecent: boolean;
};

/** A minute after the end of its publish, a message that arrived at all is in its stream. What is far ahead of now was written before a clock went back. */
const toldWhere = `told = 1 AND at >= now() - ${seconds} AND (at < now() - 60 OR at > now() + 60)`;
const doubtfulWhere = `stream = {stream:String} AND ${toldWhere}`;

const streamRow = z.object({ stream: z.string() });

/** The streams that may have losses of this kind. Throws the Faults of ClickHouse. */
export const readToldStreams = async (clickhouse: Clickhouse): Promise<Set<string>> => {
  const sql = `SELECT DISTINCT stream FROM ${database}.ingest_doubtful WHERE ${toldWhere}`;
  const rows = await clickhouse.rows(streamRow, sql);
  return new Set(rows.map(({ stream }) => stream));
};

/**
 * Messages without an answer whose senders were answered 2xx, because an earlier message seemed to have the name, and of which neither
 * their serial nor their key was ever settled: lost. To be read while the stream holds nothing. Throws the Faults of ClickHouse.
 */
export const readToldLosses = async (clickhouse: Clickhouse, stream: string): Promise<ToldLoss[]> => {
  const rows = await clickhouse.rows(
    lostRow,
    `SELECT toUnixTimestamp(minute) AS minute_at, data_id, app_id, sum(held) AS items, count() AS messages,
       max(ended_at) >= now() - ${windowSeconds} AS is_recent
     FROM
     (
       SELECT life, serial, minute, data_id, app_id, any(items) AS held, any(base) AS key, any(first) AS start, max(at) AS ended_at
       FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}
       GROUP BY life, serial, minute, data_id, app_id
     )
     WHERE (life, serial) NOT IN (SELECT life, serial FROM ${database}.ingest_settled
         WHERE stream = {stream:String} AND life IN (SELECT life FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}))
       AND (key, start) NOT IN (SELECT base, first FROM ${database}.ingest_outcomes
         WHERE base IN (SELECT base FROM ${database}.ingest_doubtful WHERE ${doubtfulWhere}))
     GROUP BY minute, data_id, app_id`,
    { params: { stream } },
  );
  return rows.map(({ minute_at: minute, data_id, app_id, items, messages, is_recent: isRecent }) => {
    const owner = { pipeline: pipelineOf(stream), dataId: data_id, appId: app_id };
    return { loss: { kind: 'lost_by_the_engine', stream, ...owner, minute, items, messages }, isRecent };
  });
};

/** The losses of this kind that are known, by stream. */
export type ToldLosses = {
  /**
   * To be called at each look, with what was found so far. While messages wait, what was known stands; after a start that is what an earlier
   * process found. Throws the Faults of ClickHouse.
   */
  read(
    stream: string,
    queue: Pick<Queue, 'messages'>,
    isTold: boolean,
    found: Iterable<Difference>,
  ): Promise<void>;
  /** Minutes (Unix seconds) to be compared at each look. */
  recentMinutes(stream: string): number[];
  /** The losses of these minutes. */
  of(stream: string, minutes: ReadonlySet<number>): Difference[];
};

export const createToldLosses = (readLosses: (stream: string) => Promise<ToldLoss[]>): ToldLosses => {
  const told = new Map<string, readonly ToldLoss[]>();
  return {
    read: async (stream, { messages }, isTold, found) => {
      if (messages > 0 && told.has(stream)) return;
      const losses = isTold ? await readLosses(stream) : [];
      const known = new Set([...found].map(differenceKey));
      told.set(
        stream,
        losses.filter(({ loss }) => messages === 0 || known.has(differenceKey(loss))),
      );
    },
    recentMinutes: (stream) =>
      (told.get(stream) ?? []).flatMap(({ loss, isRecent }) => (isRecent ? [loss.minute] : [])),
    of: (stream, minutes) =>
      (told.get(stream) ?? []).flatMap(({ loss }) => (minutes.has(loss.minute) ? [loss] : [])),
  };
};

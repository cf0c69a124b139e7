import { z } from 'zod';
import { buckets } from '../directory/keys.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** Where a stream that is made again begins to count: above all that an earlier stream of this name has numbered. */
export type FirstSequences = {
  /** The stream was seen with this last sequence. */
  saw(stream: string, lastSequence: number): void;
  /** The first number of the new stream. */
  next(stream: string): Promise<number>;
  /** The same at a start: undefined, that is 1, in a NATS that has no records yet. */
  atStart(stream: string, names: ReadonlySet<string>): Promise<number | undefined>;
};

const originMs = Date.UTC(2024, 0, 1);

/** No stream has stored more messages a second than this since 2024. */
const messagesPerSecondMax = 10_000;

/** Beyond the last number that was seen: messages that nobody has seen. */
const unseenMax = 1_000_000;

const readMsMax = 2_000;

const row = z.object({ last: z.coerce.number() });

const query = `SELECT greatest(
  (SELECT max(sequence) FROM ${database}.ingest_settled WHERE stream = {stream:String}),
  (SELECT max(sequence_last) FROM ${database}.ingest_published WHERE stream = {stream:String})) AS last`;

/**
 * The number does not rest on the books alone: they may be away, or lack the last messages. It rises with the clock, faster than any
 * stream counts, so that a stream of which nothing is known begins above all of its predecessors.
 */
export const createFirstSequences = (clickhouse: Clickhouse, now: () => number): FirstSequences => {
  const seen = new Map<string, number>();
  const next = async (stream: string): Promise<number> => {
    const rows = await clickhouse
      .rows(row, query, { params: { stream }, timeoutMs: readMsMax })
      .catch(() => []);
    const known = Math.max(seen.get(stream) ?? 0, rows[0]?.last ?? 0);
    const byClock = Math.floor((now() - originMs) / 1_000) * messagesPerSecondMax;
    return Math.max(known + unseenMax, byClock);
  };
  return {
    saw: (stream, lastSequence) => {
      seen.set(stream, Math.max(lastSequence, seen.get(stream) ?? 0));
    },
    next,
    atStart: async (stream, names) => (names.has(`KV_${buckets.system}`) ? next(stream) : undefined),
  };
};

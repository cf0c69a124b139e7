import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** Sequences of an earlier end of a stream, both included. */
export type LostStretch = {
  readonly first: number;
  readonly last: number;
  /** Lives up to this one published them; later ones may have used the numbers again. */
  readonly life: number;
};

const ofStretch = `stream = {stream:String} AND life <= {life:UInt32}`;

/** The lines that count messages, however old: a message may have waited for long before it was lost. */
const lines = `${database}.ingest_published AS lines WHERE ${ofStretch} AND lines.data_id = 0 AND lines.app_id = 0`;

/** Publishers' lines of messages of the stretch. */
const heads = `
  SELECT life, minute, argMax(lines.messages, version) AS published, argMax(lines.sequence_first, version) AS begins,
    argMax(lines.sequence_last, version) AS ends
  FROM ${lines} GROUP BY life, minute
  HAVING begins > 0 AND begins <= {last:UInt64} AND ends >= {first:UInt64}`;

/** Of the messages that these lines count, those that were settled; `reach`: how far the lines of a life go. */
const settled = `
  SELECT life, minute, uniqExact(serial) AS counted
  FROM ${database}.ingest_settled INNER JOIN (SELECT life, max(lines.closed) AS reach FROM ${lines} GROUP BY life) AS lives USING (life)
  WHERE ${ofStretch} AND redrive = 0 AND serial <= reach AND (life, minute) IN (SELECT life, minute FROM (${heads}))
    AND (life, serial) NOT IN (SELECT life, serial FROM ${database}.ingest_doubtful WHERE ${ofStretch})
  GROUP BY life, minute`;

const row = z.object({ settled: z.coerce.number(), named: z.coerce.number() });

/**
 * Messages of the stretch that are not settled and that no line of a publisher counts: those that one counts are differences with their
 * owners. Throws the Faults of ClickHouse.
 */
export const countNameless = async (
  clickhouse: Clickhouse,
  stream: string,
  { first, last, life }: LostStretch,
): Promise<number> => {
  const [found] = await clickhouse.rows(
    row,
    `SELECT
       (SELECT uniqExact(sequence) FROM ${database}.ingest_settled
        WHERE ${ofStretch} AND sequence BETWEEN {first:UInt64} AND {last:UInt64}) AS settled,
       (SELECT sum(least(greatest(toInt64(published) - toInt64(counted), 0),
          toInt64(least(ends, {last:UInt64})) - toInt64(greatest(begins, {first:UInt64})) + 1))
        FROM (${heads}) AS heads LEFT JOIN (${settled}) AS settled USING (life, minute)) AS named`,
    { params: { stream, first, last, life } },
  );
  return Math.max(0, last - first + 1 - (found?.settled ?? 0) - (found?.named ?? 0));
};

import { Pool } from 'undici';
import { Fault } from '../../model/fault.ts';
import { readBounded } from '../../runtime/read-bounded.ts';
import { noAnswerText } from '../answer-text.ts';
import { queryCancelled, queryTimeout, queryTooLarge, type ReadBounds } from '../read-bounds.ts';
import { authorization, type SqlResult, toResult, unavailable } from './sql.ts';

/** Queries of readers, apart from the statements of the roles. */
export type QuestdbReader = {
  /**
   * Runs one query within its bounds. Throws transient Faults `query_timeout`, `query_cancelled` and `questdb_unavailable`, permanent
   * `query_too_large` and `questdb_rejected`.
   */
  read(sql: string, bounds: ReadBounds): Promise<SqlResult>;
  close(): Promise<void>;
};

/** QuestDB 9.3.4 closes the connection where the line and the headers of a request are more than 32 KiB. */
const requestBytesMax = 30 * 1024;
const answerBytesMax = 32 * 2 ** 20;

const pathOf = (sql: string): string => `/exec?query=${encodeURIComponent(sql)}`;

/** Whether a query is not too long for a request. */
export const isShortEnough = (sql: string): boolean => pathOf(sql).length <= requestBytesMax;

const tooLarge = (): Fault => queryTooLarge(`the answer exceeds ${answerBytesMax} bytes`);

/** A client of readers for the server at `url` (`http://[user:password@]host:port`). */
export const createQuestdbReader = ({ url }: { readonly url: string }): QuestdbReader => {
  const address = new URL(url);
  const pool = new Pool(address.origin, { connections: 4, connectTimeout: 2_000 });
  const headers = authorization(address);
  return {
    read: async (sql, { timeoutMs, signal }) => {
      if (!isShortEnough(sql)) throw queryTooLarge('its names and values are too long together');
      const deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
      try {
        const { statusCode, body } = await pool.request({
          method: 'GET',
          path: pathOf(sql),
          // No Statement-Timeout: QuestDB 9.3.4 keeps the first one of a connection also for later connections of others. It looks
          // at the connection while it works: closing it ends the query.
          headers,
          signal: AbortSignal.any([signal, deadline]),
          headersTimeout: 0,
          bodyTimeout: 0,
        });
        return toResult(statusCode, await readBounded(body, answerBytesMax, tooLarge));
      } catch (error) {
        if (signal.aborted) throw queryCancelled();
        if (error instanceof Fault && error.code === 'query_too_large') throw error;
        if (deadline.aborted) throw queryTimeout(timeoutMs);
        throw error instanceof Fault
          ? error
          : unavailable(`does not answer at ${address.host}: ${noAnswerText(error)}`, error);
      }
    },
    close: () => pool.destroy(),
  };
};

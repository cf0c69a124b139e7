import { randomUUID } from 'node:crypto';
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { z } from 'zod';
import type { Fault } from '../../model/fault.ts';
import { queryCancelled, queryTimeout, queryTooLarge, type ReadBounds } from '../read-bounds.ts';
import { rowsOf, toFault } from './faults.ts';

/** Values of `{name:Type}` in a statement. */
export type Params = Readonly<Record<string, string | number | readonly string[]>>;

/** Queries of readers, apart from the statements of the roles. */
export type ClickhouseReader = {
  /**
   * Runs one query within its bounds: the rows, and how many rows the server read for them. A query that is cut off is killed.
   * Throws the Faults of `toFault`, transient `query_timeout` and `query_cancelled`, permanent `query_too_large`.
   */
  read<T>(
    schema: z.ZodType<T>,
    query: string,
    params: Params,
    bounds: ReadBounds,
  ): Promise<{ readonly rows: T[]; readonly rowsRead: number }>;
  close(): Promise<void>;
};

/** The limits of one query. The readonly user of `tidemark up` may lower its own limits to these. */
export const readLimits = {
  max_rows_to_read: 500_000_000,
  max_memory_usage: 1_000_000_000,
  max_result_rows: 20_000,
  max_result_bytes: 64 * 2 ** 20,
  max_threads: 2,
  // Behind every query with a lower number.
  priority: 10,
} as const;

/** The server should end a query first: then it says why. */
const graceMs = 500;

/** The server's numbers of errors for limits: of time, and of rows, bytes and memory. */
const timeCodes: ReadonlySet<string> = new Set(['159', '160']);
const sizeCodes: ReadonlySet<string> = new Set(['158', '241', '307', '396']);

const summarySchema = z.object({ read_rows: z.coerce.number() });

/** Of the answer's X-ClickHouse-Summary; 0 where it has none. */
const rowsReadOf = (headers: Readonly<Record<string, string | string[] | undefined>>): number => {
  const text = headers['x-clickhouse-summary'];
  const summary = summarySchema.safeParse(JSON.parse(typeof text === 'string' ? text : '{}'));
  return summary.data?.read_rows ?? 0;
};

const faultOf = (error: unknown, timeoutMs: number): Fault => {
  if (error instanceof ClickHouseError && timeCodes.has(error.code)) return queryTimeout(timeoutMs);
  const fault = toFault(error);
  return error instanceof ClickHouseError && sizeCodes.has(error.code) ? queryTooLarge(fault.message) : fault;
};

/** `isReader`: the user of the address only reads, and its profile forbids to say so again. */
export const createClickhouseReader = ({
  url,
  isReader,
}: {
  readonly url: string;
  readonly isReader: boolean;
}): ClickhouseReader => {
  const client = createClient({
    url,
    application: 'tidemark',
    max_open_connections: 8,
    request_timeout: 3_600_000,
    keep_alive: { enabled: true, idle_socket_ttl: 2_500, eagerly_destroy_stale_sockets: true },
    compression: { request: false, response: false },
    // Names and texts of conditions may be longer than a line of HTTP.
    use_multipart_params_auto: true,
    log: { level: ClickHouseLogLevel.OFF },
  });
  /** A user may kill its own queries. The closed connection ends the query, too, once it has read something. */
  const kill = (queryId: string): void => {
    client
      .command({
        query: 'KILL QUERY WHERE query_id = {id:String} ASYNC',
        query_params: { id: queryId },
        abort_signal: AbortSignal.timeout(5_000),
      })
      .catch(() => undefined);
  };
  return {
    read: async (schema, query, params, { timeoutMs, signal }) => {
      const queryId = `tm-explore-${randomUUID()}`;
      const deadline = AbortSignal.timeout(Math.ceil(timeoutMs) + graceMs);
      const either = AbortSignal.any([signal, deadline]);
      try {
        const answer = await client.query({
          query,
          query_id: queryId,
          query_params: params,
          format: 'JSONEachRow',
          abort_signal: either,
          clickhouse_settings: {
            ...Object.fromEntries(Object.entries(readLimits).map(([name, value]) => [name, String(value)])),
            ...(isReader ? {} : { readonly: '1' }),
            wait_end_of_query: 1,
            max_execution_time: Math.max(1, Math.ceil(timeoutMs / 1000)),
            timeout_before_checking_execution_speed: 0,
            cancel_http_readonly_queries_on_client_close: 1,
            output_format_json_quote_64bit_integers: 1,
          },
        });
        const rowsRead = rowsReadOf(answer.response_headers);
        return { rows: rowsOf(schema, await answer.json()), rowsRead };
      } catch (error) {
        if (either.aborted) kill(queryId);
        if (signal.aborted) throw queryCancelled();
        throw deadline.aborted ? queryTimeout(timeoutMs) : faultOf(error, timeoutMs);
      }
    },
    close: () => client.close(),
  };
};

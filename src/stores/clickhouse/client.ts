import { Readable } from 'node:stream';
import { type BaseQueryParams, ClickHouseLogLevel, createClient, drainStream } from '@clickhouse/client';
import type { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { rowsOf, toFault } from './faults.ts';
import { withLongLists } from './long-lists.ts';
import { createResettingAgent } from './reset-agent.ts';

/** The database of all tables of Tidemark; their SQL files name it too. */
export const database = 'otel';

/** How one statement runs. */
export type StatementOptions = {
  /** The server stops after this time, the client two seconds later; default 10 s. */
  readonly timeoutMs?: number;
  /** Default: a random one. A second statement with the id of a running one is refused (transient). */
  readonly queryId?: string;
  /** Values of `{name:Type}` in the statement; in a query a list of numbers may have any length. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string | number>>;
};

/** The client of ClickHouse. The calls throw the Faults of `toFault` and no other error. */
export type Clickhouse = {
  /** The rows of a query. Rows of another shape than `schema` are an internal Fault `clickhouse_answer_unexpected`. */
  rows<T>(schema: z.ZodType<T>, query: string, options?: StatementOptions): Promise<T[]>;
  /** Resolves when the server answers, without a statement: it costs the server nothing. */
  ping(): Promise<void>;
  /** A statement without rows. It is done once the promise resolves. */
  run(statement: string, options?: StatementOptions): Promise<void>;
  /**
   * `INSERT … FORMAT …` with its body in pieces. Resolves once every row is committed, with the number of rows written into the
   * table and by its views. After a transient Fault none, some or all of them may be stored, now or later.
   */
  insert(statement: string, body: readonly Uint8Array[], options?: StatementOptions): Promise<number>;
  close(): Promise<void>;
};

export type ClickhouseOptions = {
  /** `http[s]://[user:password@]host:port` */
  readonly url: string;
  readonly connectionsMax?: number;
};

const timeoutMsDefault = 10_000;
/** The server's limit should end a statement first: then its outcome is known. */
const graceMs = 2_000;

/** Settings whose defaults differ between servers. */
const insertSettings = {
  // On by default since 26.3: it would gather inserts that are gathered already, and answer later.
  async_insert: 0,
  // Equal blocks are not repeats. Servers since 26.2 ignore this; for them the tables' window is 0.
  insert_deduplicate: 0,
  // On by default, and then a column that the table lacks is lost without an error.
  input_format_skip_unknown_fields: 0,
};

/**
 * The server reads this many bytes of statement and body before it starts, and only then lists the insert in system.processes.
 * Little more than the statement, so that an insert whose body was sent in part can be found there and killed.
 */
const querySizeMax = (statement: string): number => Buffer.byteLength(statement) + 64;

/** Runs one call of the client under its deadline and the settings that all calls share. */
const call = async <T>(
  { timeoutMs = timeoutMsDefault, queryId, params, settings }: StatementOptions,
  work: (common: BaseQueryParams) => Promise<T>,
): Promise<T> => {
  const deadline = AbortSignal.timeout(timeoutMs + graceMs);
  try {
    return await work({
      abort_signal: deadline,
      ...(queryId === undefined ? {} : { query_id: queryId }),
      ...(params === undefined ? {} : { query_params: params }),
      clickhouse_settings: {
        // Otherwise a 200 may precede the failure.
        wait_end_of_query: 1,
        max_execution_time: timeoutMs / 1000,
        // By the clock, not by an estimate.
        timeout_before_checking_execution_speed: 0,
        ...settings,
      },
    });
  } catch (error) {
    throw deadline.aborted
      ? new Fault('transient', 'clickhouse_unavailable', `no answer from ClickHouse within ${timeoutMs} ms`)
      : toFault(error);
  }
};

/** A query whose long lists are in its text, which then may be longer than by default. */
const queryOf = (query: string, options: StatementOptions): { query: string; options: StatementOptions } => {
  const { statement, params } = withLongLists(query, options.params ?? {});
  if (statement === query) return { query, options };
  const settings = { max_query_size: querySizeMax(statement), ...options.settings };
  return { query: statement, options: { ...options, params, settings } };
};

/** One client per process: it keeps connections, and closes idle ones before the server does. */
export const createClickhouse = ({ url, connectionsMax = 10 }: ClickhouseOptions): Clickhouse => {
  const agent = createResettingAgent(url, connectionsMax);
  const client = createClient({
    url,
    ...(agent === undefined ? {} : { http_agent: agent }),
    application: 'tidemark',
    max_open_connections: connectionsMax,
    // Each call has its own deadline; this only bounds a socket without any traffic.
    request_timeout: 3_600_000,
    keep_alive: { enabled: true, idle_socket_ttl: 2_500, eagerly_destroy_stale_sockets: true },
    compression: { request: false, response: false },
    log: { level: ClickHouseLogLevel.OFF },
  });

  return {
    rows: async (schema, text, given = {}) => {
      const { query, options } = queryOf(text, given);
      const found = await call(options, async (common) => {
        const settings = {
          ...common.clickhouse_settings,
          output_format_json_quote_64bit_integers: 1 as const,
        };
        const answer = await client.query({
          ...common,
          clickhouse_settings: settings,
          query,
          format: 'JSONEachRow',
        });
        return answer.json();
      });
      return rowsOf(schema, found);
    },
    ping: () =>
      call({}, async ({ abort_signal }) => {
        const result = await client.ping({
          select: false,
          ...(abort_signal === undefined ? {} : { abort_signal }),
        });
        if (!result.success) throw result.error;
      }),
    run: async (statement, options = {}) => {
      await call(options, (common) => client.command({ ...common, query: statement }));
    },
    insert: (statement, body, options = {}) =>
      call(
        {
          ...options,
          settings: { ...insertSettings, max_query_size: querySizeMax(statement), ...options.settings },
        },
        async (common) => {
          const { stream, summary } = await client.exec({
            ...common,
            query: statement,
            values: Readable.from(body),
            // Without it the body goes in chunks, and the server waits for the whole first one before it starts.
            http_headers: { 'Content-Length': String(body.reduce((sum, piece) => sum + piece.length, 0)) },
          });
          await drainStream(stream);
          return Number(summary?.written_rows ?? 0);
        },
      ),
    close: () => client.close(),
  };
};

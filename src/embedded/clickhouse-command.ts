import { join } from 'node:path';
import type { EngineAccount } from '../config/engine-credentials.ts';
import { basicAuthorization } from './credentials.ts';

/** The configuration of the ClickHouse child. `mark` is unique: a query that carries it identifies the server. */
export type ClickhouseServing = {
  readonly library: string;
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly mark: string;
};

/** Names of the configuration and of its users, in the folder. */
export const configurationFiles = { server: 'tidemark-server.xml', users: 'tidemark-users.xml' } as const;

/**
 * The command line of clickhouse-local that serves the HTTP interface until the last query is cancelled. That query
 * sleeps; its log_comment is the mark that identifies the serving process. `BACKUP … TO File(name)` writes into the
 * folder's `backups`.
 */
export const clickhouseArguments = ({
  folder,
  host,
  port,
  mark,
}: Omit<ClickhouseServing, 'library'>): string[] => [
  '--config-file',
  join(folder, configurationFiles.server),
  '--path',
  folder,
  '--listen_host',
  host,
  '--http_port',
  String(port),
  '--query',
  [
    'SYSTEM START LISTEN HTTP',
    `SELECT count() FROM system.numbers WHERE NOT ignore(sleepEachRow(0.2)) SETTINGS max_block_size=1, ` +
      `function_sleep_max_microseconds_per_block=3000000, max_execution_time=0, log_comment='${mark}'`,
  ].join('; '),
  '--',
  `--backups.allowed_path=${join(folder, 'backups')}/`,
];

/** Counts the never-ending query of the process that carries `mark`: 1 in that process, 0 in any other. */
export const markQuery = (mark: string): string =>
  `SELECT count() FROM system.processes WHERE Settings['log_comment'] = '${mark}'`;

/** Ends the process that carries `mark`: its last query is over, it closes its tables and exits. */
export const endQuery = (mark: string): string =>
  `KILL QUERY WHERE Settings['log_comment'] = '${mark}' ASYNC`;

/** One query over HTTP on a separate connection: an open one would delay the server's end. Throws unless 200. */
export const askClickhouse = async (
  { host, port, account }: { readonly host: string; readonly port: number; readonly account: EngineAccount },
  query: string,
  signal?: AbortSignal,
): Promise<string> => {
  const response = await fetch(`http://${host}:${port}/`, {
    method: 'POST',
    body: query,
    headers: { authorization: basicAuthorization(account), connection: 'close' },
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text.trim();
};

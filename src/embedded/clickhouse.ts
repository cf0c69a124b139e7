import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { askClickhouse, clickhouseArguments, markQuery } from './clickhouse-command.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { createInstaller, type Installer } from './install.ts';

const serverScript = fileURLToPath(new URL('clickhouse-server.ts', import.meta.url));

/**
 * ClickHouse's HTTP interface on `folder`. It has no users but `default` without a password, and its database
 * `default` is an overlay: use a database of your own.
 */
export const createClickhouseEngine = (
  { folder, host, ports, log }: EngineOptions<{ http: number }>,
  installer: Installer = createInstaller(),
): Engine => {
  let mark = '';
  return createEngine({
    name: 'clickhouse',
    url: `http://${host}:${ports.http}`,
    host,
    ports: [{ port: ports.http, variable: 'TIDEMARK_CLICKHOUSE_HTTP_PORT', purpose: 'ClickHouse HTTP' }],
    log,
    prepare: async () => {
      const program = await installer.clickhouse();
      await mkdir(folder, { recursive: true });
      mark = `tidemark-${randomUUID()}`;
      const serving = { folder, host, port: ports.http, mark };
      return program.kind === 'binary'
        ? { command: program.path, args: ['local', ...clickhouseArguments(serving)] }
        : {
            command: process.execPath,
            args: [serverScript, JSON.stringify({ ...serving, library: program.path })],
          };
    },
    answers: async (signal) => (await askClickhouse(host, ports.http, markQuery(mark), signal)) === '1',
  });
};

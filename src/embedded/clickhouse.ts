import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DatabaseAccounts, withAccount } from '../config/engine-credentials.ts';
import { exists } from '../runtime/files.ts';
import { askClickhouse, configurationFiles, markQuery } from './clickhouse-command.ts';
import { clickhouseConfiguration } from './clickhouse-config.ts';
import { createDatabaseAccounts } from './credentials.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { createInstaller, type Installer } from './install.ts';

const serverScript = fileURLToPath(new URL('clickhouse-server.ts', import.meta.url));

type ClickhouseOptions = EngineOptions<{ http: number }> & {
  /** Default: a new one. */
  readonly accounts?: DatabaseAccounts;
  /** Runs it where the kernel cannot confine it, too: who has its credentials then reads every file of this user. */
  readonly isUnconfined?: boolean;
};

/** Another program that could write here before must not choose the content or the place of this file. */
const writeAnew = async (path: string, text: string): Promise<void> => {
  await rm(path, { recursive: true, force: true });
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
};

/** The environment of the child, which SQL can read: only the variables that a server uses. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(['PATH', 'LANG', 'TZ'].map((name) => [name, process.env[name]]));

/**
 * ClickHouse's HTTP interface on `folder`, confined to it. The operator's user may do everything but reach files and the network;
 * the readonly user reads, within limits. Its database `default` is an overlay: use a database of your own.
 */
export const createClickhouseEngine = (
  options: ClickhouseOptions,
  installer: Pick<Installer, 'clickhouse'> = createInstaller(),
): Engine => {
  const { folder, host, ports, accounts = createDatabaseAccounts(), isUnconfined = false } = options;
  let mark = '';
  return createEngine(options, {
    name: 'clickhouse',
    url: withAccount(`http://${host}:${ports.http}`, accounts),
    ports: [{ port: ports.http, variable: 'TIDEMARK_CLICKHOUSE_HTTP_PORT', purpose: 'ClickHouse HTTP' }],
    prepare: async () => {
      const library = await installer.clickhouse();
      await mkdir(folder, { recursive: true });
      const { server, users } = configurationFiles;
      const texts = clickhouseConfiguration({ port: ports.http, accounts, usersFile: users });
      await writeAnew(join(folder, server), texts.server);
      await writeAnew(join(folder, users), texts.users);
      mark = `tidemark-${randomUUID()}`;
      const serving = { library, folder, host, port: ports.http, mark, isUnconfined };
      const { user, password } = accounts;
      return {
        command: process.execPath,
        args: [serverScript, JSON.stringify(serving)],
        env: environment(),
        input: `${JSON.stringify({ user, password })}\n`,
      };
    },
    // The server removes them before it counts as started: they have the hashes of its passwords.
    answers: async (signal) =>
      (await askClickhouse({ host, port: ports.http, account: accounts }, markQuery(mark), signal)) === '1' &&
      !(await exists(join(folder, configurationFiles.users))),
  });
};

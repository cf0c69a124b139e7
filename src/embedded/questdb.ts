import { mkdir, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type DatabaseAccounts, withAccount } from '../config/engine-credentials.ts';
import type { Durability } from '../config/settings.ts';
import { exists } from '../runtime/files.ts';
import { basicAuthorization, createDatabaseAccounts } from './credentials.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { createInstaller, type Installer, type QuestdbProgram } from './install.ts';
import { filesAmple, filesMax } from './open-files.ts';

const heapMax = '512m';

/** The options of Java for the path of QuestDB and of the guard of its HTTP interface. */
export const questdbModules = ({ jar, guard }: Pick<QuestdbProgram, 'jar' | 'guard'>): readonly string[] => [
  ...['-p', jar, '--add-modules', 'io.questdb'],
  ...['-cp', guard],
];

/** QuestDB's own server, guarded: deploy/questdb. */
const mainClass = 'tidemark.QuestdbGuard';

/** Two processors are the machine this is tuned for; more of them may work side by side. */
const workers = String(Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2))));

/** A write of thousands of days occupies one of them for seconds, in which the others apply the writes of other tables. */
const applyWorkers = String(Math.max(2, Number(workers)));

/**
 * Settings of a QuestDB that may have this many open files. An active table holds about seventy. Where the limit is low,
 * QuestDB closes those of a resting table within two seconds: with its defaults (two to ten minutes) some hundred tables
 * would take 20,000, and QuestDB suspends tables whose files it cannot open.
 */
export const restingTables = (files: number): Record<string, string> =>
  files >= filesAmple
    ? {}
    : {
        QDB_CAIRO_IDLE_CHECK_INTERVAL: '1000',
        QDB_CAIRO_INACTIVE_READER_TTL: '1000',
        QDB_CAIRO_INACTIVE_WRITER_TTL: '1000',
        QDB_CAIRO_WAL_INACTIVE_WRITER_TTL: '1000',
      };

/**
 * QuestDB reads `QDB_` and the upper-cased key. Pages are per column and per open writer: with their defaults of up to
 * 16 MB a table of some hundred columns takes gigabytes. Workers spin before they sleep, by default 7000 times after
 * each write: fewer workers that sleep earlier leave the cores to busy processes. The worker that applies writes to
 * tables looks for them ten times a second and merges all of them at once; each write by itself would copy the end of
 * the table again.
 */
const settings = (
  host: string,
  ports: { http: number; pg: number },
  durability: Durability,
): Record<string, string> => ({
  QDB_HTTP_BIND_TO: `${host}:${ports.http}`,
  QDB_HTTP_NET_CONNECTION_LIMIT: '256',
  QDB_HTTP_MIN_ENABLED: 'false',
  QDB_PG_NET_BIND_TO: `${host}:${ports.pg}`,
  QDB_LINE_TCP_ENABLED: 'false',
  QDB_LINE_UDP_ENABLED: 'false',
  QDB_LINE_AUTO_CREATE_NEW_TABLES: 'false',
  QDB_LINE_AUTO_CREATE_NEW_COLUMNS: 'true',
  QDB_CAIRO_COMMIT_MODE: durability === 'power' ? 'sync' : 'nosync',
  QDB_TELEMETRY_ENABLED: 'false',
  QDB_TELEMETRY_DISABLE_COMPLETELY: 'true',
  QDB_METRICS_ENABLED: 'false',
  QDB_CAIRO_MAT_VIEW_ENABLED: 'false',
  QDB_CAIRO_WRITER_DATA_APPEND_PAGE_SIZE: '128K',
  QDB_CAIRO_WAL_WRITER_DATA_APPEND_PAGE_SIZE: '128K',
  QDB_CAIRO_SYSTEM_WRITER_DATA_APPEND_PAGE_SIZE: '128K',
  QDB_CAIRO_WRITER_DATA_INDEX_KEY_APPEND_PAGE_SIZE: '128K',
  QDB_CAIRO_WRITER_DATA_INDEX_VALUE_APPEND_PAGE_SIZE: '128K',
  QDB_CAIRO_O3_COLUMN_MEMORY_SIZE: '128K',
  QDB_SHARED_NETWORK_WORKER_COUNT: '2',
  QDB_SHARED_QUERY_WORKER_COUNT: workers,
  QDB_SHARED_WRITE_WORKER_COUNT: workers,
  QDB_WAL_APPLY_WORKER_COUNT: applyWorkers,
  QDB_VIEW_COMPILER_WORKER_COUNT: '1',
  QDB_EXPORT_WORKER_COUNT: '0',
  // COPY … TO writes files of the server, and a reader may say it: without a place it is refused.
  QDB_CAIRO_SQL_COPY_EXPORT_ROOT: '',
  QDB_MAT_VIEW_REFRESH_WORKER_COUNT: '0',
  QDB_VIEW_COMPILER_WORKER_SLEEP_TIMEOUT: '100',
  QDB_WAL_APPLY_WORKER_SLEEP_TIMEOUT: '100',
  QDB_WAL_APPLY_WORKER_YIELD_THRESHOLD: '1',
  QDB_WAL_APPLY_WORKER_NAP_THRESHOLD: '2',
  QDB_WAL_APPLY_WORKER_SLEEP_THRESHOLD: '3',
  // Naps of a millisecond for a fifth of a second, then sleeps of ten.
  QDB_SHARED_WORKER_YIELD_THRESHOLD: '5',
  QDB_SHARED_WORKER_NAP_THRESHOLD: '20',
  QDB_SHARED_WORKER_SLEEP_THRESHOLD: '220',
  // A query may compute on after its time is up and its client has left: over this wire it takes no worker from writes. A worker
  // more costs an idle machine 1.5 ms of CPU per second; many queries at once would take the processors from writes.
  QDB_PG_WORKER_COUNT: '4',
  QDB_PG_WORKER_YIELD_THRESHOLD: '5',
  QDB_PG_WORKER_NAP_THRESHOLD: '20',
  QDB_PG_WORKER_SLEEP_THRESHOLD: '220',
  QDB_LOG_W_STDOUT_LEVEL: 'ADVISORY,ERROR,CRITICAL',
});

/** Both interfaces require credentials; the readonly user is valid on both. */
const credentials = (accounts: DatabaseAccounts): Record<string, string> => ({
  QDB_HTTP_USER: accounts.user,
  QDB_HTTP_PASSWORD: accounts.password,
  QDB_PG_USER: accounts.user,
  QDB_PG_PASSWORD: accounts.password,
  QDB_PG_READONLY_USER_ENABLED: 'true',
  QDB_PG_READONLY_USER: accounts.readonlyUser,
  QDB_PG_READONLY_PASSWORD: accounts.readonlyPassword,
});

/** Names by which its HTTP interface may be called, at any port: a proxy has another. */
const hostNames = (host: string): string => [...new Set([host, '127.0.0.1', 'localhost', '[::1]'])].join();

/** Options of Java that read the archive of loaded classes, or write it at the end. An unusable one is skipped. */
const classOptions = async (archive: string, isArchiving = false): Promise<string[]> => {
  if (isArchiving) return [`-XX:ArchiveClassesAtExit=${archive}`];
  return (await exists(archive))
    ? [`-XX:SharedArchiveFile=${archive}`, '-Xlog:disable', '-Xlog:all=error:stderr']
    : [];
};

type QuestdbOptions = EngineOptions<{ http: number; pg: number }> & {
  /** Default: a new one. */
  readonly accounts?: DatabaseAccounts;
  /** The program's class archive is written when it is stopped, not read. */
  readonly isArchiving?: boolean;
};

/**
 * QuestDB on the machine's Java; its root is `folder`. A QDB_ variable of the environment overrides the one of
 * Tidemark, except users and passwords.
 */
export const createQuestdbEngine = (
  options: QuestdbOptions,
  installer: Pick<Installer, 'questdb'> = createInstaller(),
): Engine => {
  const { folder, host, ports, durability = 'process', accounts = createDatabaseAccounts() } = options;
  return createEngine(options, {
    name: 'questdb',
    url: withAccount(`http://${host}:${ports.http}`, accounts),
    ports: [
      { port: ports.http, variable: 'TIDEMARK_QUESTDB_HTTP_PORT', purpose: 'QuestDB HTTP' },
      { port: ports.pg, variable: 'TIDEMARK_QUESTDB_PG_PORT', purpose: 'QuestDB PostgreSQL wire' },
    ],
    prepare: async () => {
      const program = await installer.questdb();
      // It unpacks its native code there at every start, and leaves it behind when it is killed.
      const unpacked = join(folder, 'unpacked');
      await rm(unpacked, { recursive: true, force: true });
      await mkdir(unpacked, { recursive: true });
      const classes = await classOptions(program.classArchive, options.isArchiving);
      const properties = { 'java.io.tmpdir': unpacked, 'tidemark.http.hosts': hostNames(host) };
      const definitions = Object.entries(properties).map(([name, value]) => `-D${name}=${value}`);
      // After a crash; else it lies in the folder that the command was started in.
      const report = `-XX:ErrorFile=${join(folder, 'java-crash-%p.log')}`;
      const java = [`-Xmx${heapMax}`, report, ...definitions, ...classes];
      return {
        command: program.java,
        args: [...java, ...questdbModules(program), mainClass, '-d', folder],
        env: {
          ...settings(host, ports, durability),
          ...restingTables(filesMax()),
          ...process.env,
          ...credentials(accounts),
        },
      };
    },
    listening: /server-main enjoy/,
    answers: async (signal) => {
      const url = `http://${host}:${ports.http}/exec?query=${encodeURIComponent('select 1')}`;
      return (await fetch(url, { signal, headers: { authorization: basicAuthorization(accounts) } })).ok;
    },
  });
};

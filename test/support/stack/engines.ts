import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type NatsUserName, natsUserNames } from '../../../src/bus/nats-users.ts';
import type { MonitorEndpoint } from '../../../src/bus/server-monitor.ts';
import type { DatabaseAccounts, EngineAccount } from '../../../src/config/engine-credentials.ts';
import { withInstances } from '../../../src/config/instance-streams.ts';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { Durability } from '../../../src/config/settings.ts';
import { natsRights } from '../../../src/directory/nats-rights.ts';
import type { LogLine } from '../../../src/embedded/child.ts';
import { createClickhouseEngine } from '../../../src/embedded/clickhouse.ts';
import { createAccount, createDatabaseAccounts, createPassword } from '../../../src/embedded/credentials.ts';
import type { Engine } from '../../../src/embedded/engine.ts';
import { createNatsEngine, type NatsAccount } from '../../../src/embedded/nats.ts';
import { createQuestdbEngine } from '../../../src/embedded/questdb.ts';
import { createClickhouse } from '../../../src/stores/clickhouse/client.ts';
import { migrate } from '../../../src/stores/clickhouse/migrate.ts';
import { createNatsCluster } from './nats-cluster.ts';
import { takePorts } from './ports.ts';

type EngineName = Engine['name'];

/** Real engines of one test file. */
export type TestEngines = {
  /** Each of the three throws when it was not requested. */
  readonly nats: Engine;
  readonly questdb: Engine;
  readonly clickhouse: Engine;
  /** An address of this NATS for one of its users, with the rights of that user alone, instead of the tests' user. */
  asUser(url: string, user: NatsUserName): string;
  /** The state that NATS reports. */
  askNats(endpoint: MonitorEndpoint, options?: object): Promise<unknown>;
  /** Who only reads, in both databases. */
  readonly reader: EngineAccount;
  /** Port of QuestDB's Postgres wire. */
  readonly questdbPgPort: number;
  /** The temporary folder all of them live in. */
  folder: string;
  /** The variables a role is given to reach them. */
  env: Record<string, string>;
  /** Every line any of them wrote, as `name: line`. */
  lines: readonly string[];
  /** Kills what runs and removes the folder. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const host = '127.0.0.1';

type OwnOptions = {
  folder: string;
  log: LogLine;
  durability: Durability;
  accounts: DatabaseAccounts;
  natsAccount: EngineAccount;
  /** The users of the roles. */
  natsOthers: readonly NatsAccount[];
};

/** For the names of the shipped pipelines, and QuestDB instances that tests add. */
const rights = natsRights(
  withInstances(loadPipelines(resolve(import.meta.dirname, '../../../pipelines')), ['default', 'b', 'c']),
);

/** Engines as child processes of the test: the default. */
const processEngines = {
  nats: (
    { folder, log, durability, natsAccount: account, natsOthers: others }: OwnOptions,
    [client = 0]: number[],
  ) => createNatsEngine({ folder, host, ports: { client }, log, durability, account, others }),
  questdb: ({ folder, log, durability, accounts }: OwnOptions, [http = 0, pg = 0]: number[]) =>
    createQuestdbEngine({ folder, host, ports: { http, pg }, log, durability, accounts }),
  clickhouse: ({ folder, log, accounts }: OwnOptions, [http = 0]: number[]) =>
    createClickhouseEngine({ folder, host, ports: { http }, log, accounts }),
};

/** With TIDEMARK_TEST_ENGINES=containers they run in containers of the images of deploy/compose.yaml. */
const createFor =
  process.env['TIDEMARK_TEST_ENGINES'] === 'containers'
    ? (await import('../containers/engines.ts')).containerEngines
    : processEngines;

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Makes the tables in the ClickHouse at this address. */
export const makeTables = async (url: string, isPowerSafe = false): Promise<void> => {
  const clickhouse = createClickhouse({ url });
  await migrate({
    clickhouse,
    folder: resolve(import.meta.dirname, '../../../schemas/sql/clickhouse'),
    isPowerSafe,
    log: quiet,
  });
  await clickhouse.close();
};

/** Is given the folder of each engine before it starts; what it answers is called after the engine's end. */
export type FolderHook = (name: EngineName, folder: string) => (() => void) | undefined;

export type EnginesOptions = {
  /** Three NATS servers in a cluster instead of one. */
  readonly hasNatsCluster?: boolean | undefined;
  readonly onFolder?: FolderHook | undefined;
  readonly durability?: Durability | undefined;
  /** With the tables in ClickHouse. */
  readonly hasTables?: boolean | undefined;
  /** The folder of ClickHouse, which stays; default one below that of all. */
  readonly clickhouseFolder?: string;
};

/** A folder of ClickHouse with the tables, where the run has made one (`vitest/made-tables.ts`). */
const madeTables = createFor === processEngines ? process.env['MADE_TABLES'] : undefined;

/**
 * Starts real engines on free ports in a temporary folder:
 * `const engines = await startEngines({ nats: true }); … await engines.stop()`.
 */
export const startEngines = async (
  wanted: Partial<Record<EngineName, boolean>>,
  {
    onFolder,
    durability = 'process',
    hasNatsCluster = false,
    hasTables = false,
    clickhouseFolder,
  }: EnginesOptions = {},
): Promise<TestEngines> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  const lines: string[] = [];
  const log: LogLine = (source, line) => {
    lines.push(`${source}: ${line}`);
  };
  const ports = await takePorts(15);
  const accounts = createDatabaseAccounts();
  const natsAccount = createAccount();
  const natsPasswords = {
    ingress: createPassword(),
    transfer: createPassword(),
    metadata: createPassword(),
    operator: createPassword(),
  };
  const natsOthers = natsUserNames.map((user) => ({
    ...{ user, password: natsPasswords[user], rights: rights[user] },
  }));
  const engines = new Map<EngineName, Engine>();
  const env: Record<string, string> = {};
  let askNats: TestEngines['askNats'] = async () => {
    throw new Error('startEngines was not asked for nats');
  };
  let questdbPgPort = 0;
  const afterEnd: (() => void | Promise<void>)[] = [];
  /** What a container leaves behind beside a process. */
  const own = <Own extends Engine & { remove?(): Promise<void> }>(engine: Own): Own => {
    if (engine.remove !== undefined) afterEnd.push(engine.remove);
    return engine;
  };
  for (const name of ['nats', 'questdb', 'clickhouse'] as const) {
    if (wanted[name] !== true) continue;
    const enginePorts = ports.splice(0, 2);
    if (name === 'questdb') questdbPgPort = enginePorts[1] ?? 0;
    const ownFolder = (name === 'clickhouse' ? clickhouseFolder : undefined) ?? join(folder, name);
    const options = { folder: ownFolder, log, durability, accounts, natsAccount, natsOthers };
    let engine: Engine;
    if (name === 'nats') {
      const nats = own(createFor.nats(options, enginePorts));
      askNats = nats.ask;
      engine = nats;
    } else engine = own<Engine>(createFor[name](options, enginePorts));
    if (name === 'nats' && hasNatsCluster) {
      const servers = [0, 1, 2].map(() => {
        const [client = 0, monitor = 0, route = 0] = ports.splice(0, 3);
        return { client, monitor, route };
      });
      const cluster = createNatsCluster(join(folder, name), servers, log);
      askNats = cluster.ask;
      afterEnd.push(cluster.end);
      engine = cluster;
      env['TIDEMARK_NATS_REPLICAS'] = '3';
    }
    engines.set(name, engine);
    const end = onFolder?.(name, join(folder, name));
    if (end !== undefined) afterEnd.push(end);
    env[`TIDEMARK_${name.toUpperCase()}_URL`] = engine.url;
  }
  const stop = async (): Promise<void> => {
    await Promise.all([...engines.values()].map((engine) => engine.kill()));
    for (const end of afterEnd) await end();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (hasTables && madeTables !== undefined)
      await cp(madeTables, join(folder, 'clickhouse'), { recursive: true, verbatimSymlinks: true });
    await Promise.all([...engines.values()].map((engine) => engine.start()));
    if (hasTables && madeTables === undefined) await makeTables(engines.get('clickhouse')?.url ?? '');
  } catch (error) {
    await stop();
    throw error;
  }
  const started = (name: EngineName): Engine => {
    const engine = engines.get(name);
    if (engine === undefined) throw new Error(`startEngines was not asked for ${name}`);
    return engine;
  };
  return {
    get nats() {
      return started('nats');
    },
    get questdb() {
      return started('questdb');
    },
    get clickhouse() {
      return started('clickhouse');
    },
    // A cluster of the tests asks nobody for credentials.
    asUser: (url, user) =>
      url.replaceAll(`//${natsAccount.user}:${natsAccount.password}@`, `//${user}:${natsPasswords[user]}@`),
    askNats: (endpoint, options) => askNats(endpoint, options),
    reader: { user: accounts.readonlyUser, password: accounts.readonlyPassword },
    questdbPgPort,
    folder,
    env,
    lines,
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

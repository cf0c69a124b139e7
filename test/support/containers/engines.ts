import { join } from 'node:path';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { type NatsUser, usersText } from '../../../src/bus/nats-users.ts';
import { askServer, type MonitorEndpoint } from '../../../src/bus/server-monitor.ts';
import {
  type DatabaseAccounts,
  type EngineAccount,
  withAccount,
} from '../../../src/config/engine-credentials.ts';
import type { Durability } from '../../../src/config/settings.ts';
import type { LogLine } from '../../../src/embedded/child.ts';
import { createPassword } from '../../../src/embedded/credentials.ts';
import type { Engine } from '../../../src/embedded/engine.ts';
import type { NatsAccount } from '../../../src/embedded/nats.ts';
import { restingTables } from '../../../src/embedded/questdb.ts';
import { service } from '../deploy/compose.ts';
import { deployFolder } from '../deploy/dashboards.ts';
import { fetchEngine } from '../stack/fetch-engine.ts';
import { waitFor } from '../wait.ts';
import { docker, firstProcessOf, processesOf } from './docker.ts';
import { containerFilesMax } from './docker-engine.ts';
import { imagesOfRun } from './stand-ins.ts';

/** An engine in a container; `remove` ends the container with its data. */
export type ContainerEngine = Engine & { remove(): Promise<void> };

export type ContainerOptions = {
  readonly log: LogLine;
  readonly durability: Durability;
  readonly accounts: DatabaseAccounts;
  readonly natsAccount: EngineAccount;
  /** The users of the roles. */
  readonly natsOthers: readonly NatsAccount[];
};

const host = '127.0.0.1';
const startTimeoutMs = 120_000;

type Definition = {
  readonly name: Engine['name'];
  readonly url: string;
  /** Ports of this machine, by those in the container. */
  readonly ports: Readonly<Record<number, number>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Text or path of each file in the container. */
  readonly files: readonly ({ readonly target: string } & (
    | { readonly content: string }
    | { readonly source: string }
  ))[];
  readonly log: LogLine;
  /** Whether it serves; a rejection means not yet. */
  answers(): Promise<boolean>;
};

const describeContainer = (definition: Definition): GenericContainer => {
  const { name, ports, environment, files, log } = definition;
  const contents = files.flatMap((file) => ('content' in file ? [{ ...file, mode: 0o644 }] : []));
  const paths = files.flatMap((file) => ('source' in file ? [{ ...file, mode: 0o644 }] : []));
  return (
    new GenericContainer(imagesOfRun()[name])
      .withEnvironment(environment)
      .withCommand([...(service(name).command ?? [])])
      .withCopyContentToContainer(contents)
      .withCopyFilesToContainer(paths)
      .withExposedPorts(
        ...Object.entries(ports).map(([inside, at]) => ({ container: Number(inside), host: at })),
      )
      .withLogConsumer((stream) => {
        stream.on('data', (line: string) => log(name, line.trimEnd()));
      })
      // Whether it serves is asked below, after each start: the library waits only for the first.
      .withWaitStrategy(Wait.forAll([]))
      .withStartupTimeout(startTimeoutMs)
  );
};

/** An engine of the compose stack, in a container that keeps its data and its ports through a kill and a start. */
const createContainerEngine = (definition: Definition): ContainerEngine => {
  const { name, url, answers } = definition;
  let container: StartedTestContainer | undefined;
  let running = false;
  const id = (): string => {
    if (container === undefined) throw new Error(`${name} was not started`);
    return container.getId();
  };
  const untilServing = (): Promise<unknown> => waitFor(`${name} serves`, startTimeoutMs, answers);
  const end = async (...command: readonly string[]): Promise<void> => {
    if (!running || container === undefined) return;
    running = false;
    // A stopped process does not see a signal.
    signal('SIGCONT');
    // It may have ended by itself, which is as good.
    await docker(...command, id()).catch(() => {});
    await docker('wait', id());
  };
  const signal = (sent: NodeJS.Signals): void => {
    if (running || sent === 'SIGCONT') for (const pid of processesOf(id())) process.kill(pid, sent);
  };
  const start = async (): Promise<void> => {
    if (running) return;
    if (container === undefined) container = await describeContainer(definition).start();
    else await docker('start', id());
    running = true;
    await untilServing();
  };
  const stop = (): Promise<void> => end('stop', '--time', '15');
  return {
    name,
    url,
    get running() {
      return running;
    },
    get pid() {
      return running ? firstProcessOf(id()) : undefined;
    },
    start,
    stop,
    kill: () => end('kill'),
    restart: async () => {
      await stop();
      await start();
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    onExit: () => {},
    isWell: async () => true,
    remove: async () => {
      running = false;
      if (container !== undefined) await docker('rm', '--force', '--volumes', id());
      container = undefined;
    },
  };
};

const quoted = ({ user, password, rights }: NatsAccount): NatsUser => ({
  ...{ user, password: JSON.stringify(password), rights },
});

const natsConfiguration = (
  users: readonly NatsAccount[],
  system: EngineAccount,
  durability: Durability,
): string =>
  [
    'server_name: tidemark',
    'listen: "0.0.0.0:4222"',
    'http: "127.0.0.1:8222"',
    'max_payload: 8MB',
    `authorization {\n  ${usersText(users.map(quoted))}\n}`,
    `accounts { $SYS { ${usersText([quoted(system)])} } }`,
    'jetstream {',
    '  store_dir: "/data"',
    '  max_file_store: 48GB',
    '  max_memory_store: 64MB',
    ...(durability === 'power' ? ['  sync_interval: always'] : []),
    '}',
    '',
  ].join('\n');

const isHealthy = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && 'status_code' in answer && answer.status_code === 200;

const nats = (
  { log, durability, natsAccount: account, natsOthers }: ContainerOptions,
  [client = 0]: readonly number[],
) => {
  const system = { user: 'system', password: createPassword() };
  const url = `nats://${host}:${client}`;
  const ask = (endpoint: MonitorEndpoint, options?: object): Promise<unknown> =>
    askServer({ url, ...system }, endpoint, options);
  const engine = createContainerEngine({
    name: 'nats',
    url: withAccount(url, account),
    ports: { 4222: client },
    environment: {},
    files: [
      {
        target: '/etc/nats/nats.conf',
        content: natsConfiguration([account, ...natsOthers], system, durability),
      },
    ],
    log,
    answers: async () => isHealthy(await ask('HEALTHZ')),
  });
  return Object.assign(engine, { ask });
};

const isOk = async (url: string): Promise<boolean> => (await fetchEngine(url)).ok;

/** The pace that vitest.config.ts gives each QuestDB of a test. */
const paceOfTests = (): Record<string, string> => {
  const { JDK_JAVA_OPTIONS: java = '' } = process.env;
  const own = Object.entries(process.env).flatMap(([name, value = '']) =>
    name.startsWith('QDB_') ? [[name, value] as const] : [],
  );
  // The file names a collector, and Java takes one.
  return { JVM_PREPEND: java.replace(/-XX:\+Use\w+GC/g, ''), ...Object.fromEntries(own) };
};

const questdb = (
  { log, durability, accounts }: ContainerOptions,
  [http = 0, pg = 0]: readonly number[],
): ContainerEngine => {
  const url = withAccount(`http://${host}:${http}`, accounts);
  return createContainerEngine({
    name: 'questdb',
    url,
    ports: { 9000: http, 8812: pg },
    environment: {
      ...service('questdb').environment,
      ...paceOfTests(),
      // The cases of the receivers have some three hundred tables.
      ...restingTables(containerFilesMax),
      QDB_CAIRO_COMMIT_MODE: durability === 'power' ? 'sync' : 'nosync',
      QDB_HTTP_USER: accounts.user,
      QDB_HTTP_PASSWORD: accounts.password,
      QDB_PG_USER: accounts.user,
      QDB_PG_PASSWORD: accounts.password,
      QDB_PG_READONLY_USER: accounts.readonlyUser,
      QDB_PG_READONLY_PASSWORD: accounts.readonlyPassword,
    },
    files: [{ target: '/guard/questdb-guard.jar', source: join(deployFolder, 'questdb/questdb-guard.jar') }],
    log,
    answers: () => isOk(`${url}/exec?query=${encodeURIComponent('select 1')}`),
  });
};

const clickhouse = ({ log, accounts }: ContainerOptions, [http = 0]: readonly number[]): ContainerEngine => {
  const url = withAccount(`http://${host}:${http}`, accounts);
  return createContainerEngine({
    name: 'clickhouse',
    url,
    ports: { 8123: http },
    environment: {
      CLICKHOUSE_USER: accounts.user,
      CLICKHOUSE_PASSWORD: accounts.password,
      CLICKHOUSE_READONLY_PASSWORD: accounts.readonlyPassword,
      CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
    },
    files: [
      {
        target: '/etc/clickhouse-server/users.d/tidemark.xml',
        source: join(deployFolder, 'clickhouse/users.xml'),
      },
    ],
    log,
    answers: () => isOk(`${url}/?query=${encodeURIComponent('SELECT 1')}`),
  });
};

/** The engines of the tests in containers of the images and settings of deploy/compose.yaml. */
export const containerEngines = { nats, questdb, clickhouse };

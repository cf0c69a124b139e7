import { mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type NatsUser, type Rights, usersText } from '../bus/nats-users.ts';
import { askServer, type MonitorEndpoint } from '../bus/server-monitor.ts';
import { type EngineAccount, withAccount } from '../config/engine-credentials.ts';
import type { Durability } from '../config/settings.ts';
import { createAccount, createPassword } from './credentials.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { createInstaller, type Installer } from './install.ts';

/** Enough for the byte budgets of all streams and buckets. The server reserves it, it does not allocate it. */
const fileStoreBytesMax = '64GB';

/**
 * Cores that the server spreads its work over. It shares the machine with two databases and all roles, and every message goes
 * through several of its threads: woken on another core each, they cost as much as their work. An operator's own setting counts.
 */
const environment = (): NodeJS.ProcessEnv => ({
  GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 4))),
  ...process.env,
});

/** A user of the server; undefined rights = all. */
export type NatsAccount = EngineAccount & { readonly rights?: Rights | undefined };

const configured = ({ user, password, rights }: NatsAccount): NatsUser => ({
  user,
  password: JSON.stringify(password),
  rights,
});

/**
 * Streams are in the account of clients that name no account: every user is in it, as every client was before there were
 * passwords.
 */
const configuration = (
  folder: string,
  address: string,
  { accounts, system }: { accounts: readonly NatsAccount[]; system: EngineAccount },
  durability: Durability,
): string =>
  [
    'server_name: tidemark',
    `listen: ${JSON.stringify(address)}`,
    `authorization {\n  ${usersText(accounts.map(configured))}\n}`,
    `accounts { $SYS { ${usersText([configured(system)])} } }`,
    'logtime_utc: true',
    'max_payload: 8MB',
    'jetstream {',
    `  store_dir: ${JSON.stringify(join(folder, 'store'))}`,
    `  max_file_store: ${fileStoreBytesMax}`,
    '  max_memory_store: 64MB',
    // A PubAck then waits for fsync; without it the system writes out within two minutes.
    ...(durability === 'power' ? ['  sync_interval: always'] : []),
    '}',
    '',
  ].join('\n');

type NatsOptions = EngineOptions<{ client: number }> & {
  /** The one in the address of the engine. Default: a new one that may do everything. */
  readonly account?: NatsAccount;
  readonly others?: readonly NatsAccount[];
};

/** An engine that also reports its state. */
export type NatsEngine = Engine & {
  /** The answers of its monitoring, which has no port. */
  ask(endpoint: MonitorEndpoint, options?: object): Promise<unknown>;
};

const healthSchema = z.looseObject({ status_code: z.number() });

/** nats-server with JetStream on disk; its configuration file and its store are in `folder`. It has no monitoring port. */
export const createNatsEngine = (
  options: NatsOptions,
  installer: Pick<Installer, 'nats'> = createInstaller(),
): NatsEngine => {
  const { folder, host, ports, account = createAccount(), others = [], durability = 'process' } = options;
  const address = `${host}:${ports.client}`;
  const url = `nats://${address}`;
  const system = { user: 'system', password: createPassword() };
  const ask: NatsEngine['ask'] = (endpoint, asked) => askServer({ url, ...system }, endpoint, asked);
  const engine = createEngine(options, {
    name: 'nats',
    url: withAccount(url, account),
    ports: [{ port: ports.client, variable: 'TIDEMARK_NATS_CLIENT_PORT', purpose: 'NATS clients' }],
    prepare: async () => {
      const command = await installer.nats();
      await mkdir(folder, { recursive: true });
      const path = join(folder, 'nats.conf');
      await rm(path, { force: true });
      const text = configuration(folder, address, { accounts: [account, ...others], system }, durability);
      await writeFile(path, text, { mode: 0o600, flag: 'wx' });
      return { command, args: ['--config', path], env: environment() };
    },
    listening: /Server is ready/,
    // After a failed write (a full disk) a stream refuses messages until the server restarts.
    needsRestartWhenUnwell: true,
    answers: async () => healthSchema.parse(await ask('HEALTHZ')).status_code === 200,
  });
  return Object.assign(engine, { ask });
};

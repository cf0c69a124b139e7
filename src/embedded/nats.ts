import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Durability } from '../config/settings.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import { createInstaller, type Installer } from './install.ts';

/** Enough for the byte budgets of all streams and buckets. The server reserves it, it does not allocate it. */
const fileStoreBytesMax = '48GB';

/**
 * Cores that the server spreads its work over. It shares the machine with two databases and all roles, and every message goes
 * through several of its threads: woken on another core each, they cost as much as their work. An operator's own setting counts.
 */
const environment = (): NodeJS.ProcessEnv => ({
  GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 4))),
  ...process.env,
});

const configuration = (
  folder: string,
  host: string,
  ports: { client: number; monitor: number },
  durability: Durability,
): string =>
  [
    'server_name: tidemark',
    `listen: ${JSON.stringify(`${host}:${ports.client}`)}`,
    `http: ${JSON.stringify(`${host}:${ports.monitor}`)}`,
    'logtime: false',
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

/** nats-server with JetStream on disk; its configuration file and its store are in `folder`. */
export const createNatsEngine = (
  { folder, host, ports, log, durability = 'process' }: EngineOptions<{ client: number; monitor: number }>,
  installer: Installer = createInstaller(),
): Engine =>
  createEngine({
    name: 'nats',
    url: `nats://${host}:${ports.client}`,
    host,
    ports: [
      { port: ports.client, variable: 'TIDEMARK_NATS_CLIENT_PORT', purpose: 'NATS clients' },
      { port: ports.monitor, variable: 'TIDEMARK_NATS_MONITOR_PORT', purpose: 'NATS monitoring' },
    ],
    log,
    prepare: async () => {
      const command = await installer.nats();
      await mkdir(folder, { recursive: true });
      const path = join(folder, 'nats.conf');
      await writeFile(path, configuration(folder, host, ports, durability));
      return { command, args: ['--config', path], env: environment() };
    },
    listening: /Server is ready/,
    // After a failed write (a full disk) a stream takes nothing more until the server has started anew.
    needsRestartWhenUnwell: true,
    answers: async (signal) => (await fetch(`http://${host}:${ports.monitor}/healthz`, { signal })).ok,
  });

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { LogLine } from '../../../src/embedded/child.ts';
import { createEngine, type Engine } from '../../../src/embedded/engine.ts';
import { createInstaller } from '../../../src/embedded/install.ts';
import type { NatsEngine } from '../../../src/embedded/nats.ts';

const host = '127.0.0.1';

/** Ports of one server: for clients, for monitoring, and for the other servers. */
export type ServerPorts = { readonly client: number; readonly monitor: number; readonly route: number };

/** Three servers that look like one engine: what is killed, stopped or paused is the one that leads METRICS. */
export type NatsCluster = Engine & {
  readonly servers: readonly Engine[];
  /** The state that a running server reports. */
  ask: NatsEngine['ask'];
  /** Name and place of the server that leads a stream; undefined while none does. */
  leaderOf(stream: string): Promise<number | undefined>;
  end(): Promise<void>;
};

export type ClusterOptions = {
  /** Servers give clients the addresses of each other. Otherwise not: a client would bypass its proxy. */
  readonly isAdvertised?: boolean;
  /** Further lines in the configuration of each server. */
  readonly lines?: readonly string[];
};

const configuration = (
  folder: string,
  index: number,
  all: readonly ServerPorts[],
  { isAdvertised = false, lines = [] }: ClusterOptions,
): string => {
  const own = all[index];
  if (own === undefined) throw new Error(`server ${index} has no ports`);
  return [
    `server_name: nats-${index}`,
    `listen: "${host}:${own.client}"`,
    `http: "${host}:${own.monitor}"`,
    'logtime: false',
    'max_payload: 8MB',
    `jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))}, max_file_store: 48GB, max_memory_store: 64MB }`,
    'cluster {',
    '  name: tidemark',
    `  listen: "${host}:${own.route}"`,
    `  routes: [${all.map(({ route }) => `"nats-route://${host}:${route}"`).join(', ')}]`,
    ...(isAdvertised ? [] : ['  no_advertise: true']),
    '}',
    ...lines,
    '',
  ].join('\n');
};

const createServer = (
  folder: string,
  index: number,
  all: readonly ServerPorts[],
  log: LogLine,
  options: ClusterOptions,
): Engine => {
  const ports = all[index];
  if (ports === undefined) throw new Error(`server ${index} has no ports`);
  const ownLog: LogLine = (_, line) => log('nats', `server ${index}: ${line}`);
  return createEngine(
    { host, log: ownLog },
    {
      name: 'nats',
      url: `nats://${host}:${ports.client}`,
      ports: Object.entries(ports).map(([purpose, port]) => ({ port, variable: '', purpose })),
      prepare: async () => {
        await mkdir(folder, { recursive: true });
        const path = join(folder, 'nats.conf');
        await writeFile(path, configuration(folder, index, all, options));
        return { command: await createInstaller().nats(), args: ['--config', path] };
      },
      listening: /Server is ready/,
      answers: async (signal) => (await fetch(`http://${host}:${ports.monitor}/healthz`, { signal })).ok,
    },
  );
};

const streamLeaders = z.object({
  account_details: z
    .array(
      z.object({
        stream_detail: z
          .array(
            z.object({ name: z.string(), cluster: z.object({ leader: z.string().optional() }).optional() }),
          )
          .default([]),
      }),
    )
    .default([]),
});

/** Three nats-servers with JetStream in one cluster, on loopback. */
export const createNatsCluster = (
  folder: string,
  ports: readonly ServerPorts[],
  log: LogLine,
  options: ClusterOptions = {},
): NatsCluster => {
  const servers = ports.map((_, index) => createServer(join(folder, `${index}`), index, ports, log, options));
  const monitorUrl = (): string => {
    const index = Math.max(
      0,
      servers.findIndex(({ running }) => running),
    );
    return `http://${host}:${ports[index]?.monitor}`;
  };
  const leaderOf = async (stream: string): Promise<number | undefined> => {
    const answer = streamLeaders.parse(await (await fetch(`${monitorUrl()}/jsz?streams=true`)).json());
    const details = answer.account_details.flatMap(({ stream_detail }) => stream_detail);
    const leader = details.find(({ name }) => name === stream)?.cluster?.leader;
    const index = servers.findIndex((server, at) => leader === `nats-${at}` && server.running);
    return index === -1 ? undefined : index;
  };
  /** The server that is ill-treated: the leader, or any where none leads just now. */
  const victim = async (): Promise<Engine> => {
    const index = await leaderOf('METRICS').catch(() => undefined);
    const found = servers[index ?? servers.findIndex(({ running }) => running)] ?? servers[0];
    if (found === undefined) throw new Error('there are no servers');
    return found;
  };
  let pausing: Promise<Engine> | undefined;
  const start = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.start()));
  };
  return {
    name: 'nats',
    url: servers.map(({ url }) => url).join(),
    servers,
    leaderOf,
    ask: async (endpoint, options = {}) => {
      // The port has its own name for one of the options.
      const query = new URLSearchParams(
        Object.entries(options).map(([name, value]) => [
          name === 'consumer' ? 'consumers' : name,
          String(value),
        ]),
      );
      return (await fetch(`${monitorUrl()}/${endpoint.toLowerCase()}?${query}`)).json();
    },
    get running() {
      return servers.every(({ running }) => running);
    },
    get pid() {
      return servers[0]?.pid;
    },
    start,
    stop: async () => (await victim()).stop(),
    kill: async () => (await victim()).kill(),
    restart: async () => {
      await (await victim()).stop();
      await start();
    },
    pause: () => {
      pausing = victim().then((server) => {
        server.pause();
        return server;
      });
    },
    resume: () => {
      void pausing?.then((server) => server.resume());
    },
    onExit: (listener) => {
      for (const server of servers) server.onExit(listener);
    },
    isWell: async () => true,
    end: async () => {
      await Promise.all(servers.map((server) => server.kill()));
    },
  };
};

import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../src/embedded/engine.ts';
import { type RoleProcess, type Stack, startStack } from '../support/stack/stack.ts';
import { openTcpProxy, type TcpProxy } from '../support/stack/tcp-proxy.ts';
import type { Receiver } from './load.ts';
import { engineNames } from './schedule.ts';

/** A process that can be killed, paused and stopped, and is started again. */
export type Victim = {
  readonly name: string;
  readonly isRunning: boolean;
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL when it has not ended in time; answers whether it ended by itself. */
  stop(): Promise<boolean>;
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Starts it; an engine is waited for until it answers. */
  start(): Promise<void>;
};

/** The whole line with proxies on every way: two ingress, two transfer, metadata and the engines. */
export type Cluster = {
  readonly stack: Stack;
  readonly victims: ReadonlyMap<string, Victim>;
  /** By name: `transfer-0>nats`, `producer>ingress-1` (all of its receivers). */
  readonly links: ReadonlyMap<string, readonly TcpProxy[]>;
  readonly receivers: readonly Receiver[];
  /** What the process wrote, in all its lives. */
  linesOf(name: string): readonly string[];
  stop(): Promise<void>;
};

export const ackWaitSeconds = 6;

/** Beyond this a stopped role is killed, ms: a half-sent insert ends after 30 s. */
const stopMsMax = 60_000;

const victimOfRole = (role: RoleProcess): Victim => ({
  name: role.name,
  get isRunning() {
    return role.running;
  },
  kill: () => role.kill(),
  stop: async () => {
    const hasEnded = await Promise.race([
      role.stop().then(() => true),
      delay(stopMsMax, false, { ref: false }),
    ]);
    if (!hasEnded) await role.kill();
    return hasEnded;
  },
  signal: (signal) => role.signal(signal),
  start: async () => {
    if (!role.running) role.start();
  },
});

const victimOfEngine = (engine: Engine): Victim => ({
  name: engine.name,
  get isRunning() {
    return engine.running;
  },
  kill: () => engine.kill(),
  stop: async () => {
    await engine.stop();
    return true;
  },
  signal: (signal) => (signal === 'SIGSTOP' ? engine.pause() : engine.resume()),
  start: () => engine.start(),
});

export type ClusterOptions = {
  /** How long the streams remember an id; until then after each connect every insert of spans is guarded. */
  readonly duplicateWindowSeconds: number;
  /** Three NATS servers in a cluster; what befalls NATS befalls the one that leads METRICS. */
  readonly hasNatsCluster?: boolean;
};

/** Starts all of it on loopback, with small budgets so that a stream can be filled. */
export const startCluster = async ({
  duplicateWindowSeconds,
  hasNatsCluster = false,
}: ClusterOptions): Promise<Cluster> => {
  const links = new Map<string, TcpProxy[]>();
  const stack = await startStack({
    traces: true,
    ingress: 2,
    transfer: 2,
    ackWaitSeconds,
    duplicateWindowSeconds,
    hasNatsCluster,
    bytesMax: { METRICS: '4MiB', TRACES: '4MiB' },
    roleEnv: async (role, engines) => {
      const env: Record<string, string> = {};
      for (const name of engineNames) {
        const proxies: TcpProxy[] = [];
        let { url } = engines[name];
        for (const { port } of url.split(',').map((each) => new URL(each))) {
          const proxy = await openTcpProxy(Number(port));
          proxies.push(proxy);
          url = url.replace(`:${port}`, `:${proxy.port}`);
        }
        links.set(`${role}>${name}`, proxies);
        env[`TIDEMARK_${name.toUpperCase()}_URL`] = url;
      }
      return env;
    },
  });
  const receivers: Receiver[] = [];
  for (const [index, ingress] of stack.ingress.entries()) {
    const push = await openTcpProxy(ingress.ports['push'] ?? 0);
    const otlp = await openTcpProxy(ingress.ports['otlp'] ?? 0);
    const grpc = await openTcpProxy(ingress.ports['grpc'] ?? 0);
    links.set(`producer>ingress-${index}`, [push, otlp, grpc]);
    receivers.push({ push: push.port, otlp: otlp.port, grpc: grpc.port });
  }
  const victims = [
    ...[...stack.ingress, ...stack.transfer, stack.metadata].map(victimOfRole),
    ...engineNames.map((name) => victimOfEngine(stack.engines[name])),
  ];
  return {
    stack,
    victims: new Map(victims.map((victim) => [victim.name, victim])),
    links,
    receivers,
    linesOf: (name) => {
      const role = [...stack.ingress, ...stack.transfer, stack.metadata].find((each) => each.name === name);
      return role?.lines ?? stack.engines.lines.filter((line) => line.startsWith(`${name}: `));
    },
    stop: async () => {
      await stack.stop();
      await Promise.all([...links.values()].flat().map((proxy) => proxy.close()));
    },
  };
};

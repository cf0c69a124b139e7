import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import { toFault } from './nats-fault.ts';

/** A connection to NATS that comes back by itself, and says when it went and when it came back. */
export type Bus = {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  manager(): Promise<JetStreamManager>;
  readonly connected: boolean;
  /** When the connection was lost, in ms since the epoch; undefined while connected. */
  readonly disconnectedSince: number | undefined;
  onDisconnect(listener: () => void): void;
  onReconnect(listener: () => void): void;
  /** Sends what is buffered and closes; the listeners are not called. */
  close(): Promise<void>;
};

const optionsOf = (url: string, name: string): NodeConnectionOptions => {
  const parsed = new URL(url);
  const options: NodeConnectionOptions = {
    servers: `${parsed.hostname}:${parsed.port || 4222}`,
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 50,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 2_000,
  };
  if (parsed.username !== '' && parsed.password !== '') {
    options.user = decodeURIComponent(parsed.username);
    options.pass = decodeURIComponent(parsed.password);
  } else if (parsed.username !== '') {
    options.token = decodeURIComponent(parsed.username);
  }
  if (parsed.protocol === 'tls:') options.tls = {};
  return options;
};

/**
 * Connects to the server at `url` (`nats://[user:password@|token@]host:port`, `tls://…`). Throws a transient Fault when the
 * server does not answer now; once connected, a lost connection is taken up again for ever.
 */
export const connectBus = async (url: string, name: string): Promise<Bus> => {
  const nc = await connect(optionsOf(url, name)).catch((error: unknown) => {
    throw new Fault('transient', 'nats_unreachable', `NATS does not answer at ${new URL(url).host}`, error);
  });
  const disconnectListeners: (() => void)[] = [];
  const reconnectListeners: (() => void)[] = [];
  let disconnectedSince: number | undefined;
  let closing = false;
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (closing) continue;
      if (status.type === 'disconnect' && disconnectedSince === undefined) {
        disconnectedSince = Date.now();
        for (const listener of disconnectListeners) listener();
      }
      if (status.type === 'reconnect') {
        disconnectedSince = undefined;
        for (const listener of reconnectListeners) listener();
      }
    }
  };
  void follow();
  return {
    nc,
    js: jetstream(nc),
    manager: () =>
      jetstreamManager(nc).catch((error: unknown) => {
        throw toFault(error);
      }),
    get connected() {
      return disconnectedSince === undefined && !nc.isClosed();
    },
    get disconnectedSince() {
      return disconnectedSince;
    },
    onDisconnect: (listener) => {
      disconnectListeners.push(listener);
    },
    onReconnect: (listener) => {
      reconnectListeners.push(listener);
    },
    close: async () => {
      closing = true;
      if (disconnectedSince === undefined) await nc.drain().catch(() => undefined);
      await nc.close();
    },
  };
};

/** Connects as soon as the server answers, trying every 200 ms until `signal` says to stop. */
export const connectBusWhenUp = async (
  url: string,
  name: string,
  signal: AbortSignal,
  onWait: (fault: unknown) => void,
): Promise<Bus> => {
  let told = false;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await connectBus(url, name);
    } catch (error) {
      if (!told) onWait(error);
      told = true;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
};

import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { inTime } from './in-time.ts';

const askEveryMs = 10_000;
const askMsMax = 1_000;

/**
 * Asks the server for its `max_payload` of now, over a connection of its own: after a reload, the server takes larger messages over open
 * connections, too, but tells only new ones. Asks at most every ten seconds, and never fails: the limit stays as it was then.
 */
export const sizeLimitAsker = (nc: NatsConnection, options: NodeConnectionOptions): (() => Promise<void>) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking = Promise.resolve();
  const ask = async (): Promise<void> => {
    const { info } = nc;
    const other = await connect({ ...options, servers: nc.getServer(), reconnect: false, timeout: askMsMax });
    // Another server of the cluster may have another limit. What the server tells this connection later counts more.
    if (info !== undefined && other.info?.server_id === info.server_id)
      info.max_payload = Math.max(info.max_payload, other.info.max_payload);
    await other.close();
  };
  return () => {
    const now = performance.now();
    if (now - askedAt < askEveryMs) return asking;
    askedAt = now;
    asking = inTime('NATS', ask(), now + askMsMax).catch(() => undefined);
    return asking;
  };
};

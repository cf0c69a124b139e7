import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { inTime } from './in-time.ts';

const askEveryMs = 10_000;
const askMsMax = 1_000;
/** Connections of one ask: behind one name of several servers, each may meet another one. */
const triesMax = 8;

/**
 * Asks the server for its `max_payload` of now, over a connection of its own: after a reload, the server takes larger messages over open
 * connections, too, but tells only new ones. Asks at most every ten seconds, and never fails: the limit stays as it was then.
 */
export const sizeLimitAsker = (nc: NatsConnection, options: NodeConnectionOptions): (() => Promise<void>) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking = Promise.resolve();
  /** Whether it met the server of the connection. */
  const ask = async (): Promise<boolean> => {
    const { info } = nc;
    const other = await connect({ ...options, servers: nc.getServer(), reconnect: false, timeout: askMsMax });
    // Another server of the cluster may have another limit. What the server tells this connection later counts more.
    const isOwn = info !== undefined && other.info?.server_id === info.server_id;
    if (isOwn && other.info !== undefined)
      info.max_payload = Math.max(info.max_payload, other.info.max_payload);
    await other.close();
    return isOwn;
  };
  const askOften = async (endsAt: number): Promise<void> => {
    for (let tries = 0; tries < triesMax && performance.now() < endsAt; tries++)
      if (await ask().catch(() => false)) return;
  };
  return () => {
    // Without a connection there is no limit to raise, and the next ask must not wait for this one.
    if (nc.info === undefined) return asking;
    const now = performance.now();
    if (now - askedAt < askEveryMs) return asking;
    askedAt = now;
    asking = inTime('NATS', askOften(now + askMsMax), now + askMsMax).catch(() => undefined);
    return asking;
  };
};

import { connect } from '@nats-io/transport-node';

/** The figures of a server; the names are those of nats-server. */
export type MonitorEndpoint = 'HEALTHZ' | 'JSZ' | 'VARZ' | 'CONNZ';

/** The address of one server for a user of its system account. */
export type MonitorTarget = { readonly url: string; readonly user: string; readonly password: string };

const timeoutMs = 4_000;

/**
 * The figures of nats-server's monitoring port, read over a connection of the system account, because that port has no
 * authentication. Rejects when the server does not answer within four seconds.
 */
export const askServer = async (
  { url, user, password: pass }: MonitorTarget,
  endpoint: MonitorEndpoint,
  options: object = {},
): Promise<unknown> => {
  const { host } = new URL(url);
  const nc = await connect({ servers: host, user, pass, reconnect: false, timeout: timeoutMs });
  try {
    const subject = `$SYS.REQ.SERVER.PING.${endpoint}`;
    const answer: { data?: unknown } = (
      await nc.request(subject, JSON.stringify(options), { timeout: timeoutMs })
    ).json();
    return answer.data;
  } finally {
    await nc.close();
  }
};

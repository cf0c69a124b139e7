import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { connect, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type OnSocket = (error: Error | null, socket: Duplex) => void;

/** A TCP connection that is not there after this time counts as refused. */
const connectMsMax = 10_000;

/**
 * Lets `socket`, whose bytes travel on `tcp`, end with a reset where it ends with an error, as at the deadline of a request. A plain close
 * leaves what was written with the kernel, which sends it for minutes: a complete insert would arrive after its retry.
 */
const resetOnError = (socket: Duplex, tcp: Socket): void => {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    // Nothing was sent before the connection is there, and a reset would wait for it.
    if (error !== undefined && !socket.destroyed && !tcp.connecting) tcp.resetAndDestroy();
    return destroy(error);
  };
};

class ResettingHttpAgent extends HttpAgent {
  override createConnection(options: ClientRequestArgs, onSocket?: OnSocket): Duplex | null | undefined {
    const socket = super.createConnection(options, onSocket);
    if (socket instanceof Socket) resetOnError(socket, socket);
    return socket;
  }
}

/** A TLS socket cannot be reset: it gets a TCP socket that can. */
class ResettingHttpsAgent extends HttpsAgent {
  override createConnection(options: RequestOptions, onSocket: OnSocket): undefined {
    const tcp = connect({ host: options.host ?? 'localhost', port: Number(options.port) });
    tcp.setNoDelay(true);
    const fail = (error: Error): void => onSocket(error, tcp);
    tcp.once('error', fail);
    const late = setTimeout(() => tcp.destroy(new Error('no TCP connection in time')), connectMsMax);
    tcp.once('close', () => clearTimeout(late));
    tcp.once('connect', () => {
      clearTimeout(late);
      tcp.off('error', fail);
      // The TLS socket reports what happens to the connection from here on.
      tcp.on('error', () => {});
      const over = { ...options, socket: tcp };
      const socket = super.createConnection(over);
      if (!(socket instanceof Socket)) return;
      resetOnError(socket, tcp);
      onSocket(null, socket);
    });
    return undefined;
  }
}

/** The connections to this address, of which a request that fails or is too late leaves nothing on the way. */
export const createResettingAgent = (url: string, connectionsMax: number): HttpAgent => {
  const options = { keepAlive: true, maxSockets: connectionsMax };
  return new URL(url).protocol === 'https:'
    ? new ResettingHttpsAgent(options)
    : new ResettingHttpAgent(options);
};

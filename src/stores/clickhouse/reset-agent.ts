import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Lets a connection that is there end with a reset where it ends with an error, as at the deadline of a request. A plain close leaves what
 * was written with the kernel, which sends it for minutes: a complete insert would arrive after its retry.
 */
const resetOnError = (socket: Socket): void => {
  const destroy = socket.destroy.bind(socket);
  let cause: Error | undefined;
  let isOpen = false;
  socket.once('connect', () => {
    isOpen = true;
  });
  socket.destroy = (error) => {
    cause ??= error;
    if (error !== undefined && !socket.destroyed && isOpen) socket.resetAndDestroy();
    // `resetAndDestroy` comes here without the error.
    return destroy(error ?? cause);
  };
};

class ResettingAgent extends HttpAgent {
  override createConnection(
    options: ClientRequestArgs,
    onSocket?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | null | undefined {
    const socket = super.createConnection(options, onSocket);
    if (socket instanceof Socket) resetOnError(socket);
    return socket;
  }
}

/**
 * For the client of an `http://` address: connections of which a request that fails or is too late leaves nothing on the way. Undefined for
 * `https://`, where a connection cannot be reset: what arrives late is found by a look (src/transfer/blocks/late-looks.ts).
 */
export const createResettingAgent = (url: string, connectionsMax: number): HttpAgent | undefined =>
  new URL(url).protocol === 'http:'
    ? new ResettingAgent({ keepAlive: true, maxSockets: connectionsMax })
    : undefined;

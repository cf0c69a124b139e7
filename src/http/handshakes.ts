import { type Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Called for each handshake that fails, but for clients that only close their connection, as probes do. */
export type OnFailedHandshake = (address: string, code: string) => void;

/** The client's end of a connection, which the connection and the TLS session on it share. */
export const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** The connection below a TLS session keeps its address, which the session itself has no more once the server has refused it. */
const addressOf = (socket: TLSSocket): string => {
  const below: unknown = Reflect.get(socket, '_parent');
  return socket.remoteAddress ?? (below instanceof Socket ? below.remoteAddress : undefined) ?? '';
};

const closedCode = 'ECONNRESET';

const handshakes = new WeakMap<Server, ReadonlyMap<string, Socket>>();

/** Follows the connections of a TLS server whose handshake has not ended: to the server itself they are no connections yet. */
export const followHandshakes = (server: Server, onFailed: OnFailedHandshake = () => {}): void => {
  const unfinished = new Map<string, Socket>();
  handshakes.set(server, unfinished);
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    unfinished.set(peer, socket);
    socket.once('close', () => {
      if (unfinished.get(peer) === socket) unfinished.delete(peer);
    });
  });
  server.on('secureConnection', (socket: Socket) => unfinished.delete(peerOf(socket)));
  server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException, socket: TLSSocket) => {
    // Where the certificate of the client is refused, the error itself is only that the connection has ended.
    const why = String(socket.authorizationError ?? code);
    if (why !== closedCode) onFailed(addressOf(socket), why);
  });
};

/** Closes the connections of a server whose TLS handshake has not ended: nothing was asked over them. */
export const endHandshakes = (server: Server): void => {
  for (const socket of handshakes.get(server)?.values() ?? []) socket.destroy();
};

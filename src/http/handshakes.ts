import type { Server, Socket } from 'node:net';

/** The client's end of a connection, which the connection and the TLS session on it share. */
export const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const handshakes = new WeakMap<Server, ReadonlyMap<string, Socket>>();

/** Follows the connections of a TLS server whose handshake has not ended: to the server itself they are no connections yet. */
export const followHandshakes = (server: Server): void => {
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
};

/** Closes the connections of a server whose TLS handshake has not ended: nothing was asked over them. */
export const endHandshakes = (server: Server): void => {
  for (const socket of handshakes.get(server)?.values() ?? []) socket.destroy();
};

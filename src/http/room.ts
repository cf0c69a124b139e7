import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionCount } from './connections.ts';
import { peerOf } from './handshakes.ts';

/** How long a connection beyond the limit may take to send the request that gets the answer 503. */
const refusedMs = 5000;

const keeps = new WeakMap<IncomingMessage, () => void>();

/**
 * Says that the sender of a request has shown its credential: until the answer is complete its connection makes room for no other, and
 * until it is sent the connection may be silent for `keptStallTimeoutMs`. On a server that makes no room it changes nothing.
 */
export const keepConnection = (request: IncomingMessage): void => keeps.get(request)?.();

/** The connections of a server: those that have to make room for others, and those too many that wait for their answer. */
export type Room = {
  /** A new connection: below TLS, where the server has it. */
  admit(socket: Socket): void;
  isRefused(socket: Socket): boolean;
  /** A request begins. */
  begin(request: IncomingMessage, response: ServerResponse): void;
};

/** The requests that are kept, on one connection. */
type Connection = { readonly socket: Socket; kept: number };

const refusing = () => {
  const refused = new Set<string>();
  return {
    isRefused: (socket: Socket): boolean => refused.size > 0 && refused.has(peerOf(socket)),
    refuse: (socket: Socket): void => {
      const peer = peerOf(socket);
      const timer = setTimeout(() => socket.destroy(), refusedMs);
      refused.add(peer);
      socket.once('close', () => {
        clearTimeout(timer);
        refused.delete(peer);
      });
    },
  };
};

/** `keptStallTimeoutMs`: undefined where no connection makes room for another. */
export const createRoom = (
  connections: ConnectionCount,
  keptStallTimeoutMs: number | undefined,
  ended: (reason: string) => void,
): Room => {
  const makesRoom = keptStallTimeoutMs !== undefined;
  const { isRefused, refuse } = refusing();
  /** By peer, because TLS has a socket of its own over the counted one. */
  const byPeer = new Map<string, Connection>();
  /** The oldest first. */
  const movable = new Set<Connection>();

  const make = (): void => {
    const [oldest] = movable;
    if (oldest === undefined) return;
    movable.delete(oldest);
    ended('connections_max');
    connections.release(oldest.socket);
    oldest.socket.destroy();
  };

  const follow = (socket: Socket): void => {
    const peer = peerOf(socket);
    const connection: Connection = { socket, kept: 0 };
    byPeer.set(peer, connection);
    movable.add(connection);
    socket.once('close', () => {
      movable.delete(connection);
      if (byPeer.get(peer) === connection) byPeer.delete(peer);
    });
  };

  const keep = ({ socket }: IncomingMessage, response: ServerResponse, connection: Connection): void => {
    if (response.writableEnded || connection.socket.destroyed) return;
    let isKept = true;
    const leave = (): void => {
      if (!isKept) return;
      isKept = false;
      connection.kept--;
      // A slow reader of a long answer goes on: the kernel reports its progress a megabyte at a time.
      if (connection.kept === 0 && !connection.socket.destroyed) movable.add(connection);
    };
    connection.kept++;
    movable.delete(connection);
    // Node sets it back at the next request.
    socket.setTimeout(keptStallTimeoutMs ?? 0);
    response.once('prefinish', leave).once('close', leave);
  };

  return {
    admit: (socket) => {
      if (makesRoom && connections.isFull) make();
      const admission = connections.admit(socket);
      if (admission.kind === 'taken') {
        if (makesRoom) follow(socket);
        return;
      }
      ended(admission.reason);
      if (admission.kind === 'end') socket.destroy();
      else refuse(socket);
    },
    isRefused,
    begin: (request, response) => {
      if (!makesRoom) return;
      const connection = byPeer.get(peerOf(request.socket));
      if (connection === undefined) return;
      keeps.set(request, () => keep(request, response, connection));
      response.once('close', () => {
        // Behind those that did nothing meanwhile.
        if (movable.delete(connection)) movable.add(connection);
      });
    },
  };
};

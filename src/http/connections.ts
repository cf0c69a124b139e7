import type { Socket } from 'node:net';
import { addressOf } from './client-address.ts';

/** How many connections there may be; 0 = any number. Those of an address that is exempt count towards the first alone. */
export type ConnectionCaps = {
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  readonly isExempt: (address: string) => boolean;
};

/** Why a connection is refused. */
export const connectionRefusals = ['connections_max', 'address_connections_max'] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

/** A counted connection: accepted, refused with an answer, or refused and closed without an answer. */
export type Admission =
  | { readonly kind: 'taken' }
  | { readonly kind: 'answer' | 'end'; readonly reason: ConnectionRefusal };

/** Counts the connections of servers that share a limit. */
export type ConnectionCount = {
  /** Whether the next connection is one too many. */
  readonly isFull: boolean;
  /** Admits or refuses a new connection, and counts it until it is closed or released. */
  admit(socket: Socket): Admission;
  /** Counts a connection no longer, that is about to be closed. */
  release(socket: Socket): void;
};

/** Refused connections that may wait for their answer at once; more would cost what the limit saves. */
const answeredAtOnceMax = 256;

export const createConnectionCount = (caps: ConnectionCaps): ConnectionCount => {
  let taken = 0;
  let answering = 0;
  const byAddress = new Map<string, number>();
  const leaves = new WeakMap<Socket, () => void>();

  const refusalOf = (address: string): ConnectionRefusal | undefined => {
    if (caps.connectionsMax > 0 && taken >= caps.connectionsMax) return 'connections_max';
    const isOver =
      caps.addressConnectionsMax > 0 && (byAddress.get(address) ?? 0) >= caps.addressConnectionsMax;
    return isOver && !caps.isExempt(address) ? 'address_connections_max' : undefined;
  };

  const leave = (address: string): void => {
    taken--;
    const rest = (byAddress.get(address) ?? 1) - 1;
    if (rest === 0) byAddress.delete(address);
    else byAddress.set(address, rest);
  };

  const release = (socket: Socket): void => {
    leaves.get(socket)?.();
    leaves.delete(socket);
  };

  return {
    get isFull() {
      return caps.connectionsMax > 0 && taken >= caps.connectionsMax;
    },
    release,
    admit: (socket) => {
      // Undefined for a peer that has gone already.
      const address = addressOf(socket.remoteAddress ?? '');
      const reason = refusalOf(address);
      if (reason === undefined) {
        taken++;
        byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
        leaves.set(socket, () => leave(address));
        socket.once('close', () => release(socket));
        return { kind: 'taken' };
      }
      if (answering >= answeredAtOnceMax) return { kind: 'end', reason };
      answering++;
      socket.once('close', () => {
        answering--;
      });
      return { kind: 'answer', reason };
    },
  };
};

import type { Server } from 'node:net';
import { Fault } from '../model/fault.ts';

/** Where a server listens, and the settings that change it. */
export type ListenPlace = {
  readonly host: string;
  readonly port: number;
  readonly portVariable: string;
  /** Default `TIDEMARK_BIND_HOST`. */
  readonly hostVariable?: string;
};

const faultOf = (
  error: NodeJS.ErrnoException,
  { host, port, portVariable, hostVariable = 'TIDEMARK_BIND_HOST' }: ListenPlace,
): Fault => {
  if (error.code === 'EADDRINUSE') {
    return new Fault(
      'permanent',
      'port_in_use',
      `port ${port} is in use; set ${portVariable} to another one`,
      error,
    );
  }
  if (error.code === 'EACCES') {
    return new Fault(
      'permanent',
      'port_denied',
      `no permission to listen on port ${port}; set ${portVariable} to another one`,
      error,
    );
  }
  return new Fault(
    'transient',
    'listen_failed',
    `cannot listen on ${host}, port ${port}: ${error.message}; set ${hostVariable} to an address that this host has`,
    error,
  );
};

const listenOnce = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });

/**
 * Listens; `::` is every address, of a host without IPv6 every IPv4 address. Throws a Fault that names the setting to change.
 */
export const listen = async (server: Server, place: ListenPlace): Promise<void> => {
  const { host, port } = place;
  try {
    await listenOnce(server, host, port).catch((error: NodeJS.ErrnoException) => {
      if (host === '::' && error.code === 'EAFNOSUPPORT') return listenOnce(server, '0.0.0.0', port);
      throw error;
    });
  } catch (error) {
    throw error instanceof Error ? faultOf(error, place) : error;
  }
};

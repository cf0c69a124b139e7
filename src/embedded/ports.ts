import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { NamedPort, WantedPorts } from '../config/port-settings.ts';
import { settingFault } from '../config/settings.ts';
import { errorText, Fault } from '../model/fault.ts';

/** A port we need is taken: the message names the port and the variable that changes it. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError';
}

const probe = (host: string, port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(bound));
    });
  });

/** Codes of an address that this machine does not have, or that is none. */
const wrongHostCodes: ReadonlySet<unknown> = new Set([
  ...[
    'EADDRNOTAVAIL',
    'EAI_AGAIN',
    'EAI_FAIL',
    'EAI_NODATA',
    'EAI_NONAME',
    'ENOTFOUND',
    'EINVAL',
    'EAFNOSUPPORT',
  ],
]);

/** Of these some pass: a machine that starts may get its address or its names later. */
const passingCodes: ReadonlySet<unknown> = new Set(['EADDRNOTAVAIL', 'EAI_AGAIN', 'EAI_FAIL']);

/** Why nothing can listen there, by its setting; the error itself where no setting changes that. */
const faultOf = (
  error: unknown,
  host: string,
  { port, variable }: NamedPort,
  hostVariable?: string,
): unknown => {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'EACCES')
    return settingFault(variable, `no permission to listen on port ${port}`, 'Set another port');
  if (hostVariable === undefined || !wrongHostCodes.has(error.code)) return error;
  const fault = settingFault(
    hostVariable,
    `nothing can listen on ${host} (${errorText(error)})`,
    'Set it to an address that this machine has, as 127.0.0.1, or 0.0.0.0 for all of them',
  );
  return passingCodes.has(error.code) ? new Fault('transient', 'listen_failed', fault.message) : fault;
};

/** As the roles listen: `::` is every IPv4 address of a machine without IPv6. */
const isFree = async (host: string, port: number): Promise<boolean> => {
  const probed = await probe(host, port).catch((error: NodeJS.ErrnoException) => {
    if (host === '::' && error.code === 'EAFNOSUPPORT') return probe('0.0.0.0', port);
    throw error;
  });
  return probed !== undefined;
};

/**
 * Throws a PortInUseError that lists every one of these ports something already listens on, or a permanent Fault `config_invalid` for a
 * host or port on which nothing can listen, `listen_failed` (transient) for a host that this machine does not have now.
 */
export const requireFreePorts = async (wanted: WantedPorts): Promise<void> => {
  const sentences: string[] = [];
  for (const { ports, ...common } of wanted) {
    for (const each of ports) {
      const { host = common.host, hostVariable = common.hostVariable, port, variable, purpose } = each;
      const free = await isFree(host, port).catch((error: unknown) => {
        throw faultOf(error, host, each, hostVariable);
      });
      if (free) continue;
      sentences.push(`Port ${port} (${purpose}) is in use; set ${variable} to another port.`);
    }
  }
  if (sentences.length > 0) throw new PortInUseError(sentences.join('\n'));
};

/**
 * Below the ports that Linux uses for outgoing connections (32768 and up): one of those could take a port before its
 * server does.
 */
const freePortRange = { first: 15_000, end: 32_000 } as const;

/** `count` different ports nothing listens on right now. Another process may still take one before you do. */
export const freePorts = async (count: number, host = '127.0.0.1'): Promise<number[]> => {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = await probe(host, randomInt(freePortRange.first, freePortRange.end));
    if (port !== undefined) ports.add(port);
  }
  return [...ports];
};

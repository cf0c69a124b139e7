import { readFileSync } from 'node:fs';
import { settingFault } from '../config/settings.ts';
import { parseTrustedProxies, type TrustedProxies } from '../http/client-address.ts';
import { errorText } from '../model/fault.ts';

/** Addresses that count as this machine itself, beside loopback. */
export type LocalPeers = TrustedProxies;

/** In `TIDEMARK_CONSOLE_LOCAL_PEERS`: the gateways of the default routes, over IPv4. */
export const gatewayName = 'gateway';

const routesFile = '/proc/net/route';

/** An address as the kernel writes it in the table of routes: `010011AC` is 172.17.0.1. */
const addressOfHex = (hex: string): string =>
  (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.');

const noAddress = '00000000';

/** The gateways of the default routes in the text of `/proc/net/route`. */
const gatewaysIn = (routes: string): string[] =>
  routes
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, destination, gateway]) => destination === noAddress && gateway !== noAddress)
    .map(([, , gateway = '']) => addressOfHex(gateway));

const setting = 'TIDEMARK_CONSOLE_LOCAL_PEERS';

/** Without a route none, and a warning: the compose stack sets the name on every network, and ingress waits for metadata. */
const gateways = (readRoutes: () => string, warn: (text: string) => void): string[] => {
  let why = 'there is no default route over IPv4';
  try {
    const found = gatewaysIn(readRoutes());
    if (found.length > 0) return found;
  } catch (error) {
    why = `the routes cannot be read: ${errorText(error)}`;
  }
  warn(`${setting}: ${gatewayName} counts as no address: ${why}. Write the address from which requests come`);
  return [];
};

/**
 * The peers of `gateway, 10.89.0.1`. No networks: what counts as this machine is one address of it. `warn` gets a text where there is
 * no gateway. Throws a permanent Fault that names the setting.
 */
export const localPeersOf = (
  text: string,
  warn: (text: string) => void,
  readRoutes = (): string => readFileSync(routesFile, 'utf8'),
): LocalPeers => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .flatMap((entry) => (entry === gatewayName ? gateways(readRoutes, warn) : entry));
  const parsed = parseTrustedProxies(entries.join());
  const network = entries.find((entry) => entry.includes('/'));
  if ('proxies' in parsed && network === undefined) return parsed.proxies;
  const entry = network ?? ('wrong' in parsed ? parsed.wrong : '');
  throw settingFault(
    setting,
    `${entry} is not an IP address`,
    `Write addresses like 172.18.0.1, or ${gatewayName}, separated by commas`,
  );
};

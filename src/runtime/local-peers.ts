import { readFileSync } from 'node:fs';
import { settingFault } from '../config/settings.ts';
import { parseTrustedProxies, type TrustedProxies } from '../http/client-address.ts';

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
export const gatewaysIn = (routes: string): string[] =>
  routes
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, destination, gateway]) => destination === noAddress && gateway !== noAddress)
    .map(([, , gateway = '']) => addressOfHex(gateway));

const wrong = (reason: string, remedy: string) =>
  settingFault('TIDEMARK_CONSOLE_LOCAL_PEERS', reason, remedy);

const gateways = (readRoutes: () => string): string[] => {
  const found = gatewaysIn(readRoutes());
  if (found.length > 0) return found;
  throw wrong(
    `${gatewayName}: there is no default route over IPv4`,
    'Write the address from which the published port is reached',
  );
};

/**
 * The peers of `gateway, 10.89.0.1`. No networks: what counts as this machine is one address of it. Throws a permanent Fault that
 * names the setting.
 */
export const localPeersOf = (
  text: string,
  readRoutes = (): string => readFileSync(routesFile, 'utf8'),
): LocalPeers => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .flatMap((entry) => (entry === gatewayName ? gateways(readRoutes) : entry));
  const parsed = parseTrustedProxies(entries.join());
  const network = entries.find((entry) => entry.includes('/'));
  if ('proxies' in parsed && network === undefined) return parsed.proxies;
  const entry = network ?? ('wrong' in parsed ? parsed.wrong : '');
  throw wrong(
    `${entry} is not an IP address`,
    `Write addresses like 172.18.0.1, or ${gatewayName}, separated by commas`,
  );
};

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Proxies whose X-Forwarded-For counts. */
export type TrustedProxies = BlockList;

/** Parses a list of addresses and networks (`10.0.0.0/8, 192.168.1.7, fd00::/8`); undefined names what does not parse. */
export const parseTrustedProxies = (text: string): { proxies: TrustedProxies } | { wrong: string } => {
  const proxies = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [address = '', prefix] = entry.split('/');
    const version = isIP(address);
    const bits = prefix === undefined ? undefined : Number(prefix);
    const isPrefix =
      bits === undefined || (Number.isInteger(bits) && bits >= 0 && bits <= (version === 4 ? 32 : 128));
    if (version === 0 || !isPrefix) return { wrong: entry };
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, bits, family);
  }
  return { proxies };
};

/** An IPv4 address that arrived on an IPv6 socket is told as IPv4. */
const plain = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address);

const isTrusted = (proxies: TrustedProxies, address: string): boolean => {
  const version = isIP(address);
  return version !== 0 && proxies.check(address, version === 4 ? 'ipv4' : 'ipv6');
};

/**
 * The client's address: the socket's, or, behind trusted proxies, the last address in X-Forwarded-For that is not one of them
 * (what stands before it may be made up).
 */
export const clientAddress = (request: IncomingMessage, proxies: TrustedProxies): string => {
  const socket = plain(request.socket.remoteAddress ?? '');
  if (!isTrusted(proxies, socket)) return socket;
  const header = request.headers['x-forwarded-for'];
  const chain = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => plain(part.trim()));
  for (const address of chain.reverse()) {
    if (isIP(address) === 0) break;
    if (!isTrusted(proxies, address)) return address;
  }
  return socket;
};

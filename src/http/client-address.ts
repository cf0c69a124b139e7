import { BlockList, isIP } from 'node:net';
import type { Incoming } from './incoming.ts';

/** Proxies whose X-Forwarded-For counts. */
export type TrustedProxies = BlockList;

/** The longest address with a port, brackets and a zone; a longer text is not an address. */
const entryLengthMax = 128;

/** Returns an IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`, `::ffff:a00:1`) in the form of IPv4. */
const plain = (address: string): string => {
  const mapped = /^(?:0{0,4}:){0,5}:?ffff:(.+)$/i.exec(address)?.[1];
  if (mapped === undefined || isIP(address) !== 6) return address;
  if (isIP(mapped) === 4) return mapped;
  const [, high, low] = /^([\da-f]{1,4}):([\da-f]{1,4})$/i.exec(mapped) ?? [];
  if (high === undefined || low === undefined) return address;
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.');
};

/** The groups of one side of `::`; an IPv4 address at the end is two of them. */
const groupsOf = (side: string): number[] =>
  (side === '' ? [] : side.split(':')).flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [first = 0, second = 0, third = 0, fourth = 0] = group.split('.').map(Number);
    return [first * 256 + second, third * 256 + fourth];
  });

/** An address of a socket in one form: IPv4 also where it is written as IPv6, without a zone. */
export const addressOf = (address: string): string =>
  address.includes(':') ? plain(address.split('%')[0] ?? '') : address;

/**
 * Whether all hosts of the network of an IPv6 address with these first groups share 64 bits: a local one (fc00::/7, fe80::/10), and
 * IPv4 behind a translator (64:ff9b::/32).
 */
const isShared = (first = 0, second = 0): boolean =>
  (first & 0xfe00) === 0xfc00 || (first & 0xffc0) === 0xfe80 || (first === 0x64 && second === 0xff9b);

/**
 * What the limit of failures counts by: an IPv4 address, and of an IPv6 address its network of 64 bits, all of which one host may take
 * addresses from; the address itself where many hosts share these.
 */
export const networkOf = (address: string): string => {
  const told = addressOf(address);
  if (isIP(told) !== 6) return told;
  const [left = '', right] = told.split('::');
  const [before, after] = [groupsOf(left), groupsOf(right ?? '')];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  const groups = [...before, ...zeros, ...after];
  const text = (some: readonly number[]): string => some.map((group) => group.toString(16)).join(':');
  return isShared(groups[0], groups[1]) ? text(groups) : `${text(groups.slice(0, 4))}::/64`;
};

/** An entry of X-Forwarded-For without the port, brackets or zone that some proxies add to the address. */
const bare = (entry: string): string => {
  if (entry.length > entryLengthMax) return '';
  const unbracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? entry;
  const withoutPort = /^([\d.]+):\d+$/.exec(unbracketed)?.[1] ?? unbracketed;
  return plain(withoutPort.split('%')[0] ?? '');
};

/** Parses a list of addresses and networks (`10.0.0.0/8, 192.168.1.7, fd00::/8`); `wrong` names the entry that does not parse. */
export const parseTrustedProxies = (text: string): { proxies: TrustedProxies } | { wrong: string } => {
  const proxies = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [written = '', prefix, ...more] = entry.split('/');
    const address = plain(written);
    const version = isIP(address);
    // In an IPv4 network that is written as IPv6, the first 96 bits are the prefix of such addresses.
    const above = address === written ? 0 : 96;
    const bits = prefix === undefined ? undefined : Number(prefix) - above;
    // Number('') is 0: a prefix that was left out would be that of every address.
    const isWritten = more.length === 0 && /^\d{1,3}$/.test(prefix ?? '0');
    const isPrefix = isWritten && (bits === undefined || (bits >= 0 && bits <= (version === 4 ? 32 : 128)));
    if (version === 0 || !isPrefix) return { wrong: entry };
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, bits, family);
  }
  return { proxies };
};

/** Whether this is the address of a trusted proxy. */
export const isTrusted = (proxies: TrustedProxies, address: string): boolean => {
  const told = plain(address);
  const version = isIP(told);
  return version !== 0 && proxies.check(told, version === 4 ? 'ipv4' : 'ipv6');
};

/**
 * The client's address: the socket's, or, behind trusted proxies, the last address in X-Forwarded-For that is not a trusted proxy
 * (a client can forge the entries before it).
 */
export const clientAddress = (request: Incoming, proxies: TrustedProxies): string => {
  const socket = bare(request.socket.remoteAddress ?? '');
  if (!isTrusted(proxies, socket)) return socket;
  const header = request.headers['x-forwarded-for'];
  const chain = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => bare(part.trim()));
  for (const address of chain.reverse()) {
    if (isIP(address) === 0) break;
    if (!isTrusted(proxies, address)) return address;
  }
  return socket;
};

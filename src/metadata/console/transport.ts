import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { clientAddress, isTrusted, type TrustedProxies } from '../../http/client-address.ts';
import { Fault } from '../../model/fault.ts';
import type { LocalPeers } from '../../runtime/local-peers.ts';

/**
 * How a request travelled: `encrypted` by TLS here, or up to a trusted proxy that says so; `local`: in plain text, and never
 * beyond this machine. `open` is everything else: a cookie would be readable on its way.
 */
export type Transport = 'encrypted' | 'local' | 'open';

/** The sender of a request from a browser. */
export type Visitor = {
  readonly transport: Transport;
  /** Of the client, behind trusted proxies too. */
  readonly address: string;
  /** The one cookie that counts on this transport. */
  readonly cookieName: string;
};

/** Peers whose word or place counts, by their addresses. */
export type Peers = {
  readonly proxies: TrustedProxies;
  /** They count as this machine, as loopback does. */
  readonly local: LocalPeers;
};

const encryptedCookie = '__Host-tidemark';

const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);

/** Whether a Host names this machine itself: another name could be a proxy's in front of it. */
const isLoopbackHost = (host: string): boolean => {
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
  return name === 'localhost' || name === '[::1]' || isLoopbackAddress(name);
};

/**
 * Whether the page that a browser names, if it names one, came in plain text from this machine: a proxy may put its own Host into a
 * request, but leaves the origin of the page.
 */
const isLocalOrigin = (origin: string | undefined): boolean => {
  const page = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined;
  return origin === undefined || (page?.protocol === 'http:' && isLoopbackHost(page.host));
};

/** The last entry: a client can write those before it. */
const forwardedProtocol = (request: IncomingMessage): string =>
  String(request.headers['x-forwarded-proto'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
    .toLowerCase() ?? '';

const transportOf = (request: IncomingMessage, { proxies, local }: Peers): Transport => {
  const { socket, headers } = request;
  if (socket instanceof TLSSocket) return 'encrypted';
  const peer = socket.remoteAddress ?? '';
  if (isTrusted(proxies, peer)) return forwardedProtocol(request) === 'https' ? 'encrypted' : 'open';
  const isHere = isLoopbackAddress(peer) || isTrusted(local, peer);
  // The host of a local peer, too: a browser of another machine names this one otherwise.
  const isLocal = isHere && isLoopbackHost(headers.host ?? '') && isLocalOrigin(headers.origin);
  return isLocal ? 'local' : 'open';
};

/**
 * Cookies have no port: without TLS, the name tells the consoles of one machine from each other. By the port that the browser names: in
 * containers all have the same one of their own.
 */
const localCookie = ({ headers }: IncomingMessage): string =>
  `tidemark-${new URL(`http://${headers.host}`).port || '80'}`;

/** The sender of a request, by its connection and its fields. */
export const visitorOf = (request: IncomingMessage, peers: Peers): Visitor => {
  const transport = transportOf(request, peers);
  const cookieName = transport === 'local' ? localCookie(request) : encryptedCookie;
  return { transport, address: clientAddress(request, peers.proxies), cookieName };
};

/** The value of a Set-Cookie field; without a value it removes the cookie. */
export const cookieText = ({ cookieName, transport }: Visitor, value?: string): string =>
  [
    `${cookieName}=${value ?? ''}`,
    ...(value === undefined ? ['Max-Age=0'] : []),
    ...['Path=/', 'HttpOnly', 'SameSite=Strict'],
    ...(transport === 'encrypted' ? ['Secure'] : []),
  ].join('; ');

const safeMethods: readonly (string | undefined)[] = ['GET', 'HEAD'];

const isSameOrigin = ({ headers }: IncomingMessage, { transport }: Visitor): boolean => {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin === `${transport === 'encrypted' ? 'https' : 'http'}://${headers.host ?? ''}`;
};

/**
 * Refuses a request that a page of another origin could have made a browser send with the cookie: it has to say that it is of the
 * same origin, and one that changes something needs a header field that no form can send. Permanent Fault `cross_site`.
 */
export const requireSameOrigin = (request: IncomingMessage, visitor: Visitor): void => {
  const isMarked = request.headers['x-tidemark-console'] === '1';
  if (isSameOrigin(request, visitor) && (isMarked || safeMethods.includes(request.method))) return;
  throw new Fault(
    'permanent',
    'cross_site',
    'a request with the cookie of the console must come from the console itself',
  );
};

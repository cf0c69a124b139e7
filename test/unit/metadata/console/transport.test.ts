import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { parseTrustedProxies } from '../../../../src/http/client-address.ts';
import { cookieText, requireSameOrigin, visitorOf } from '../../../../src/metadata/console/transport.ts';
import { localPeersOf } from '../../../../src/runtime/local-peers.ts';

const parsed = parseTrustedProxies('10.0.0.0/8');
if (!('proxies' in parsed)) throw new Error('the proxies do not parse');
const { proxies } = parsed;
const peers = { proxies, local: localPeersOf('172.18.0.1', () => undefined) };

type Given = { peer?: string; tls?: boolean; headers?: Record<string, string>; method?: string };

const requestOf = ({ peer = '127.0.0.1', tls = false, headers = {}, method = 'GET' }: Given) => {
  const socket = new Socket();
  const own = tls ? new TLSSocket(socket) : socket;
  Object.defineProperties(own, { remoteAddress: { value: peer }, localPort: { value: 10300 } });
  const request = new IncomingMessage(own);
  request.method = method;
  Object.assign(request.headers, { host: '127.0.0.1:10300', ...headers });
  return request;
};

const visitorFor = (given: Given) => visitorOf(requestOf(given), peers);

describe('the transport of a visitor', () => {
  it.each<[string, Given, string]>([
    ['TLS', { tls: true, peer: '203.0.113.9' }, 'encrypted'],
    ['this machine', {}, 'local'],
    ['this machine by name', { headers: { host: 'localhost:10300' } }, 'local'],
    ['this machine over IPv6', { peer: '::1', headers: { host: '[::1]:10300' } }, 'local'],
    ['another machine', { peer: '203.0.113.9' }, 'open'],
    [
      'a proxy on this machine, by the name that it serves',
      { headers: { host: 'tidemark.example' } },
      'open',
    ],
    [
      'a proxy on this machine that puts its own Host there, to a page over TLS',
      { headers: { origin: 'https://tidemark.example' } },
      'open',
    ],
    ['such a proxy, to a page in plain text', { headers: { origin: 'http://tidemark.example' } }, 'open'],
    ['such a proxy, to a page without an origin', { headers: { origin: 'null' } }, 'open'],
    ['a tunnel to this machine', { headers: { origin: 'http://localhost:8080' } }, 'local'],
    ['a published port of a container, from its gateway', { peer: '172.18.0.1' }, 'local'],
    ['the same on a socket of IPv6', { peer: '::ffff:172.18.0.1' }, 'local'],
    // A port that is published on every address comes from there too, with the name that a browser elsewhere was given.
    [
      'such a port from another machine',
      { peer: '172.18.0.1', headers: { host: '203.0.113.5:10300', origin: 'http://203.0.113.5:10300' } },
      'open',
    ],
    [
      'such a port behind a proxy with TLS that is not a trusted one',
      { peer: '172.18.0.1', headers: { origin: 'https://tidemark.example' } },
      'open',
    ],
    ['another container of the same bridge', { peer: '172.18.0.9' }, 'open'],
    ['a name that begins like this machine', { headers: { host: '127.0.0.1.example' } }, 'open'],
    [
      'a trusted proxy over https',
      { peer: '10.1.1.1', headers: { 'x-forwarded-proto': 'https' } },
      'encrypted',
    ],
    ['a trusted proxy over http', { peer: '10.1.1.1', headers: { 'x-forwarded-proto': 'http' } }, 'open'],
    [
      'a trusted proxy behind a forged entry',
      { peer: '10.1.1.1', headers: { 'x-forwarded-proto': 'https, http' } },
      'open',
    ],
    ['a trusted proxy that says nothing', { peer: '10.1.1.1' }, 'open'],
    [
      'an unknown proxy that says https',
      { peer: '192.0.2.1', headers: { 'x-forwarded-proto': 'https' } },
      'open',
    ],
  ])('over %s is judged by what cannot be forged', (_, given, transport) => {
    expect(visitorFor(given).transport).toBe(transport);
  });

  it('decides about the cookie: __Host- and Secure over TLS, a name with the port on this machine', () => {
    expect(cookieText(visitorFor({ tls: true }), 'v')).toBe(
      '__Host-tidemark=v; Path=/; HttpOnly; SameSite=Strict; Secure',
    );
    expect(cookieText(visitorFor({}), 'v')).toBe('tidemark-10300=v; Path=/; HttpOnly; SameSite=Strict');
    expect(cookieText(visitorFor({}))).toContain('Max-Age=0');
  });

  // In containers each console has the same port of its own: a log-in to the second ended the session of the first.
  it('tells consoles of one machine apart by the port that the browser names', () => {
    const nameAt = (host: string): string => visitorFor({ peer: '172.18.0.1', headers: { host } }).cookieName;
    const hosts = ['127.0.0.1:20300', 'localhost:20300', '[::1]:443', '127.0.0.1', 'localhost:80'];
    const names = ['tidemark-20300', 'tidemark-20300', 'tidemark-443', 'tidemark-80', 'tidemark-80'];
    expect(hosts.map(nameAt)).toEqual(names);
  });

  it('names the client behind a trusted proxy', () => {
    const headers = { 'x-forwarded-for': '198.51.100.7, 10.2.2.2', 'x-forwarded-proto': 'https' };
    expect(visitorFor({ peer: '10.1.1.1', headers }).address).toBe('198.51.100.7');
    expect(visitorFor({ peer: '203.0.113.9', headers }).address).toBe('203.0.113.9');
  });
});

describe('a request with the cookie', () => {
  const isTaken = (given: Given): boolean => {
    const request = requestOf(given);
    try {
      requireSameOrigin(request, visitorOf(request, peers));
      return true;
    } catch {
      return false;
    }
  };
  const marked = { 'x-tidemark-console': '1' };
  const same = { 'sec-fetch-site': 'same-origin' };
  it.each<[Given, boolean]>([
    [{ headers: same }, true],
    [{ headers: { 'sec-fetch-site': 'none' } }, false],
    [{ headers: { 'sec-fetch-site': 'same-site' } }, false],
    [{ headers: { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:10300' } }, false],
    [{}, false],
    [{ headers: { origin: 'http://127.0.0.1:10300' } }, true],
    [{ headers: { origin: 'http://127.0.0.1:9999' } }, false],
    [{ headers: { origin: 'http://127.0.0.1:10300' }, tls: true }, false],
    [{ headers: { origin: 'null' } }, false],
    [{ method: 'POST', headers: same }, false],
    [{ method: 'POST', headers: marked }, false],
    [{ method: 'POST', headers: { ...same, ...marked } }, true],
    [{ method: 'DELETE', headers: { 'sec-fetch-site': 'cross-site', ...marked } }, false],
  ])('%j is taken: %s', (given, taken) => {
    expect(isTaken(given)).toBe(taken);
  });
});

import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  clientAddress,
  isTrusted,
  parseTrustedProxies,
  type TrustedProxies,
} from '../../../src/http/client-address.ts';

const proxiesOf = (text: string): TrustedProxies => {
  const parsed = parseTrustedProxies(text);
  if ('wrong' in parsed) throw new Error(parsed.wrong);
  return parsed.proxies;
};

/** A request as it comes from this address with this X-Forwarded-For. */
const from = (address: string, forwarded?: string): IncomingMessage => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  const request = new IncomingMessage(socket);
  if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded;
  return request;
};

describe('the address of a client', () => {
  const trusted = '10.0.0.0/8, ::1, fd00::/8';

  it.each([
    ['203.0.113.9', undefined, '203.0.113.9'],
    // On a socket for both families, IPv4 comes as IPv6.
    ['::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['::ffff:cb00:7109', undefined, '203.0.113.9'],
    ['0:0:0:0:0:ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['2001:db8::1', undefined, '2001:db8::1'],
    ['2001:db8::ffff:203.0.113.9', undefined, '2001:db8::ffff:203.0.113.9'],
    ['fe80::1%eth0', undefined, 'fe80::1'],
    // The addresses that an untrusted peer names do not count.
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['2001:db8::1', '198.51.100.1', '2001:db8::1'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['::1', '2001:db8::7', '2001:db8::7'],
    ['fd12::1', '2001:db8::7, fd00::2, ::ffff:10.0.0.1', '2001:db8::7'],
    ['::1', '198.51.100.1, 2001:db8::7', '2001:db8::7'],
    ['::1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['::1', '198.51.100.1:4711', '198.51.100.1'],
    ['::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['::1', '[2001:db8::7]', '2001:db8::7'],
    ['::1', 'unknown', '::1'],
    ['::1', '', '::1'],
    ['::1', '198.51.100.1, unknown', '::1'],
  ])('of %s that forwards for %s is %s', (address, forwarded, expected) => {
    expect(clientAddress(from(address, forwarded), proxiesOf(trusted))).toBe(expected);
  });
});

describe('a trusted proxy', () => {
  it.each([
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::ffff:10.1.2.3', '10.1.2.3', true],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/8', 'fe00::1', false],
    ['::/0', '10.1.2.3', true],
    ['', '127.0.0.1', false],
  ])('of %j: %s is %s', (text, address, expected) => {
    expect(isTrusted(proxiesOf(text), address)).toBe(expected);
  });

  it.each([
    ...['10.0.0.0/33', 'fd00::/129', '::ffff:10.0.0.0/95', 'proxy.example', '10.0.0', '1.2.3.4/x'],
    // Every address would be trusted, or another network than the one that was meant.
    ...[
      '10.1.0.0/',
      '::ffff:10.1.0.0/',
      'fd00::/',
      '10.1.0.0/16/99',
      '10.1.0.0/16/',
      '10.1.0.0/ 16',
      '10.1.0.0/1e1',
    ],
  ])('is not written %s', (text) => {
    expect(parseTrustedProxies(`10.0.0.1, ${text}`)).toEqual({ wrong: text });
  });
});

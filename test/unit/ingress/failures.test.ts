import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseTrustedProxies } from '../../../src/http/client-address.ts';
import { createFailureLimit, isFailure } from '../../../src/ingress/failures.ts';
import { type RefusalReason, Refused } from '../../../src/ingress/refused.ts';

const proxy = '10.0.0.1';

/** A request over a connection of its own. */
const from = (address: string, client?: string): IncomingMessage => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  const request = new IncomingMessage(socket);
  if (client !== undefined) request.headers['x-forwarded-for'] = client;
  return request;
};

const limitOf = (failuresMax = 20) => {
  const clock = { ms: 1_000 };
  const parsed = parseTrustedProxies(proxy);
  if ('wrong' in parsed) throw new Error(parsed.wrong);
  const limit = createFailureLimit({ failuresMax, trustedProxies: parsed.proxies, now: () => clock.ms });
  /** How many of this many concurrent failures are refused for their number. */
  const fail = (count: number, address: string, client?: string): number =>
    Array.from({ length: count }, () => limit.failed(from(address, client))).filter((wait) => wait > 0)
      .length;
  const isShut = (address: string, client?: string): boolean =>
    limit.retryAfterSeconds(from(address, client)) > 0;
  return { limit, clock, fail, isShut };
};

describe('failures of an address', () => {
  it('are let through up to the limit and refused for their number above it', () => {
    const { fail, isShut } = limitOf();
    expect(fail(20, '192.0.2.1')).toBe(0);
    expect(isShut('192.0.2.1')).toBe(true);
    expect(isShut('192.0.2.2')).toBe(false);
    expect(fail(5, '192.0.2.1')).toBe(5);
  });

  it('are made good for at the rate of the limit, however many there were', () => {
    const { fail, isShut, clock } = limitOf();
    fail(10_000, '192.0.2.1');
    clock.ms += 49;
    expect(isShut('192.0.2.1')).toBe(true);
    clock.ms += 2;
    expect(isShut('192.0.2.1')).toBe(false);
    clock.ms += 1_000;
    expect(fail(21, '192.0.2.1')).toBe(1);
  });

  it('do not count against an address that has shown a valid credential in the last minute', () => {
    const { limit, fail, isShut, clock } = limitOf();
    fail(100, '192.0.2.1');
    limit.passed(from('192.0.2.1'));
    expect([isShut('192.0.2.1'), fail(100, '192.0.2.1')]).toEqual([false, 0]);
    clock.ms += 60_001;
    expect([isShut('192.0.2.1'), fail(21, '192.0.2.1')]).toEqual([false, 1]);
  });

  it('are those of the client that a trusted proxy names, and the proxy is never shut out', () => {
    const { limit, fail, isShut } = limitOf();
    fail(100, proxy, '198.51.100.1');
    expect([isShut(proxy, '198.51.100.1'), isShut(proxy, '198.51.100.2')]).toEqual([true, false]);
    expect(fail(100, proxy)).toBe(0);
    // One client's valid request speaks for no other, over the same connection either.
    limit.passed(from(proxy, '198.51.100.2'));
    expect(isShut(proxy, '198.51.100.1')).toBe(true);
    fail(100, '192.0.2.1', '198.51.100.3');
    expect([isShut(proxy, '198.51.100.3'), isShut('192.0.2.1')]).toEqual([false, true]);
  });

  // A host has 2^64 addresses of its network.
  it('are those of the network of 64 bits over IPv6, and of the address over IPv4 that is written as IPv6', () => {
    const { fail, isShut } = limitOf();
    for (let host = 1; host <= 20; host++) fail(1, `2001:db8:0:1::${host.toString(16)}`);
    expect([isShut('2001:DB8::1:aaaa:bbbb:cccc:dddd'), isShut('2001:db8:0:2::1')]).toEqual([true, false]);
    fail(20, '::ffff:192.0.2.1');
    expect([isShut('192.0.2.1'), isShut('::ffff:192.0.2.2')]).toEqual([true, false]);
  });

  // Every host of a local network has the same 64 bits, and so has IPv4 behind a translator.
  it.each([
    ['fe80::1%eth0', 'fe80:0:0:0::1', 'fe80::2%eth0'],
    ['fd12:3456::1', 'FD12:3456::0.0.0.1', 'fd12:3456::0.0.0.2'],
    ['fc00::1', 'fc00:0::1', 'fc00::1:0:0:1'],
    ['64:ff9b::c000:201', '64:ff9b::192.0.2.1', '64:ff9b::c000:202'],
  ])('are those of %s alone, in a network over IPv6 that many hosts share', (address, same, neighbour) => {
    const { fail, isShut } = limitOf();
    fail(20, address);
    expect([isShut(same), isShut(neighbour)]).toEqual([true, false]);
  });

  it('are remembered of ten thousand addresses at most', () => {
    const { fail, isShut } = limitOf(1);
    for (let index = 0; index < 10_001; index += 1) fail(1, `192.0.${index >> 8}.${index & 255}`);
    expect([isShut('192.0.0.0'), isShut('192.0.0.1'), isShut('192.0.39.16')]).toEqual([false, true, true]);
  });

  it('have no limit where that is 0', () => {
    const { fail, isShut } = limitOf(0);
    expect([fail(100, '192.0.2.1'), isShut('192.0.2.1')]).toEqual([0, false]);
  });

  it('are mistakes of the sender', () => {
    const failuresOf = (...reasons: RefusalReason[]) =>
      reasons.filter((reason) => isFailure(new Refused(reason)));
    const reasons = ['unauthorized', 'body_not_json', 'body_too_large', 'inflate_ratio_exceeded'] as const;
    expect(failuresOf(...reasons)).toEqual(reasons);
    expect(failuresOf('not_stored', 'unconfirmed', 'aborted', 'too_many_failures')).toEqual([]);
  });
});

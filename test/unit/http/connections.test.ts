import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createConnectionCount } from '../../../src/http/connections.ts';

const from = (address: string): Socket => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  return socket;
};

// The hosts of a subnet share a network of 64 bits over IPv6.
it('the connections of an address are its own over IPv6, and those of IPv4 that is written as IPv6', () => {
  const count = createConnectionCount({
    ...{ connectionsMax: 0, addressConnectionsMax: 2 },
    isExempt: () => false,
  });
  const kindsOf = (...addresses: string[]) => addresses.map((address) => count.admit(from(address)).kind);
  const first = from('2001:db8::1');
  expect(count.admit(first).kind).toBe('taken');
  expect(kindsOf('2001:db8::1', '2001:db8::1', '2001:db8::2')).toEqual(['taken', 'answer', 'taken']);
  count.release(first);
  expect(kindsOf('2001:db8::1')).toEqual(['taken']);
  expect(kindsOf('fe80::1%eth0', 'fe80::1%eth0', 'fe80::2%eth0')).toEqual(['taken', 'taken', 'taken']);
  expect(kindsOf('192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1')).toEqual(['taken', 'taken', 'answer']);
});

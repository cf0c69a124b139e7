import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createConnectionCount } from '../../../src/http/connections.ts';

const from = (address: string): Socket => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  return socket;
};

// A host has 2^64 addresses of its network.
it('the connections of an address are those of its network of 64 bits over IPv6', () => {
  const count = createConnectionCount({
    ...{ connectionsMax: 0, addressConnectionsMax: 2 },
    isExempt: () => false,
  });
  const first = from('2001:db8::1');
  const kinds = [first, from('2001:db8::2'), from('2001:db8:0:0:5::3'), from('2001:db8:0:1::1')].map(
    (socket) => count.admit(socket).kind,
  );
  expect(kinds).toEqual(['taken', 'taken', 'answer', 'taken']);
  count.release(first);
  expect(count.admit(from('2001:db8::9')).kind).toBe('taken');
});

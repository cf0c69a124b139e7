import { type AddressInfo, createServer, type Server } from 'node:net';
import type { NatsConnection, ServerInfo } from '@nats-io/transport-node';
import { afterEach, expect, it } from 'vitest';
import { sizeLimitAsker } from '../../../src/bus/size-limit.ts';

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

const infoOf = (id: string, sizeMax: number): ServerInfo =>
  ({ server_id: id, max_payload: sizeMax, version: '2.12.0', proto: 1, headers: true }) as ServerInfo;

/** A name with several servers behind it: each connection meets the next of these, the last one again and again. */
const setUp = async (ids: readonly string[]) => {
  let met = 0;
  server = createServer((socket) => {
    const id = ids[Math.min(met++, ids.length - 1)] ?? '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n');
    });
    socket.write(`INFO ${JSON.stringify(infoOf(id, 8_000))}\r\n`);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const nc: { info: ServerInfo | undefined; getServer(): string } = {
    info: infoOf('own', 1_000),
    getServer: () => `127.0.0.1:${port}`,
  };
  return { nc, ask: sizeLimitAsker(nc as NatsConnection, {}), met: () => met };
};

it('the limit of the own server is learned behind a name of several, which an ask may meet first', async () => {
  const { nc, ask, met } = await setUp(['other', 'third', 'own']);
  await ask();
  expect(nc.info?.max_payload).toBe(8_000);
  expect(met()).toBe(3);
});

it('the limit of another server does not count, and it is asked a few times only', async () => {
  const { nc, ask, met } = await setUp(['other']);
  await ask();
  await ask();
  expect(nc.info?.max_payload).toBe(1_000);
  expect(met()).toBeLessThanOrEqual(8);
});

it('an ask while the connection is lost does not put off the next one', async () => {
  const { nc, ask, met } = await setUp(['own']);
  const { info } = nc;
  nc.info = undefined;
  await ask();
  expect(met()).toBe(0);
  nc.info = info;
  await ask();
  expect(nc.info?.max_payload).toBe(8_000);
});

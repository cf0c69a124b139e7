import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { createApiServer } from '../../../../src/metadata/api/listening.ts';
import { answerShared } from '../../../../src/metadata/shared-answer.ts';
import { openRaw } from '../../../support/http/raw-client.ts';
import { makeAuthority, makeCertificate } from '../../../support/stack/certificates.ts';

/** Far more than the buffers of the kernel on both sides. */
const large = Buffer.alloc(64 * 2 ** 20, 'x');
const headers = { 'Content-Type': 'text/plain' };

const served = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  const authority = makeAuthority(folder, 'authority');
  const { cert, key } = makeCertificate(folder, 'own', authority);
  const certificate = { options: { cert, key }, onChange: () => {} };
  const server = createApiServer(() => answerShared(large, 200, headers), certificate);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const secure = once(server, 'secureConnection');
  const client = await openRaw(port, { tls: { ca: authority.cert } });
  const [socket]: TLSSocket[] = await secure;
  return { client, socket };
};

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

it('an answer that everybody may ask for takes little memory where it is not read', async () => {
  const { client, socket } = await served();
  client.socket.once('data', () => client.socket.pause());
  client.send(get.repeat(2));
  await once(client.socket, 'data');
  expect(socket?.bytesWritten).toBeGreaterThan(0);
  expect(socket?.bytesWritten).toBeLessThan(large.length / 2);
  client.destroy();
});

it('it comes whole where it is read, on a connection that goes on', async () => {
  const { client } = await served();
  let received = 0;
  const both = Promise.withResolvers<void>();
  client.socket.removeAllListeners('data').on('data', ({ length }: Buffer) => {
    received += length;
    if (received > 2 * large.length) both.resolve();
  });
  client.send(get.repeat(2));
  await both.promise;
  client.destroy();
});

it('a connection with more than two open requests is ended behind the answers to two', async () => {
  const { client } = await served();
  let received = 0;
  client.socket.removeAllListeners('data').on('data', ({ length }: Buffer) => {
    received += length;
  });
  const ended = once(client.socket, 'end');
  client.send(get.repeat(3));
  await ended;
  expect(Math.floor(received / large.length)).toBe(2);
});

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createClickhouse } from '../../../../src/stores/clickhouse/client.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../../../support/stack/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-reset-'));
const trusted = getCACertificates('default');
let certificate: Certificate;
let authority: string;
beforeAll(() => {
  const made = makeAuthority(folder, 'authority');
  authority = made.cert;
  certificate = makeCertificate(folder, 'clickhouse', made);
  setDefaultCACertificates([...trusted, authority]);
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true });
});

const body = [Buffer.alloc(1_000, 7)];

/** A client of a server that answers this way, and the TCP connections that the server has. */
const open = async (scheme: 'http' | 'https', answer: RequestListener) => {
  const server: Server =
    scheme === 'http'
      ? createServer(answer)
      : createTlsServer({ cert: certificate.cert, key: certificate.key }, answer);
  const connections: Socket[] = [];
  server.on('connection', (socket) => {
    if (socket instanceof Socket) connections.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: Pick<AddressInfo, 'port'> = JSON.parse(JSON.stringify(server.address()));
  const clickhouse = createClickhouse({ url: `${scheme}://localhost:${port}` });
  onTestFinished(async () => {
    await clickhouse.close();
    server.closeAllConnections();
    server.close();
  });
  return { clickhouse, connections };
};

// What a closed socket has not sent yet, the kernel sends for minutes: the rows of a complete insert would be stored after its retry.
it('an insert over http that gets no answer in time ends with a reset, so nothing of it arrives later', async () => {
  const ends: string[] = [];
  const { clickhouse } = await open('http', (request) => {
    request.resume();
    let end = 'closed';
    request.socket.on('error', (error) => {
      if ('code' in error) end = String(error.code);
    });
    request.socket.on('close', () => ends.push(end));
  });
  await expect(
    clickhouse.insert('INSERT INTO t FORMAT Native', body, { timeoutMs: 1 }),
  ).rejects.toMatchObject({ kind: 'transient', code: 'clickhouse_unavailable' });
  await expect.poll(() => ends).toEqual(['ECONNRESET']);
});

it.each(['http', 'https'] as const)('calls over %s share a connection', async (scheme) => {
  const { clickhouse, connections } = await open(scheme, (request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  for (let calls = 0; calls < 3; calls++) await clickhouse.run('SELECT 1');
  await clickhouse.insert('INSERT INTO t FORMAT Native', body);
  expect(connections).toHaveLength(1);
});

it.each(['http', 'https'] as const)('a server over %s that is away is a transient fault', async (scheme) => {
  const { clickhouse, connections } = await open(scheme, ({ socket }) => socket.destroy());
  const isAway = { kind: 'transient', code: 'clickhouse_unavailable' };
  await expect(clickhouse.run('SELECT 1')).rejects.toMatchObject(isAway);
  expect(connections).toHaveLength(1);
  const gone = createClickhouse({ url: `${scheme}://127.0.0.1:1` });
  await expect(gone.run('SELECT 1')).rejects.toThrow('ECONNREFUSED 127.0.0.1:1');
  await gone.close();
});

it('a certificate that is not trusted is a transient fault that says so', async () => {
  const { clickhouse } = await open('https', (_, response) => response.end());
  setDefaultCACertificates(trusted);
  await expect(clickhouse.run('SELECT 1')).rejects.toThrow('self-signed certificate in certificate chain');
  setDefaultCACertificates([...trusted, authority]);
});

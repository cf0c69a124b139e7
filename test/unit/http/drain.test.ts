import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createConnectionCount } from '../../../src/http/connections.ts';
import { type Certificate, createLimitedServer, drain } from '../../../src/http/limited-server.ts';
import { makeAuthority } from '../../support/stack/certificates.ts';

const limits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  stallTimeoutMs: 30_000,
  headerBytesMax: 8_192,
};

const startServer = async (
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  tls?: Certificate,
): Promise<{ server: Server; port: number }> => {
  const connections = createConnectionCount({
    connectionsMax: 0,
    addressConnectionsMax: 0,
    isExempt: () => true,
  });
  const answer = () => ({ body: '', headers: {} });
  const server = createLimitedServer(
    { listener, protocolAnswer: answer, overloadAnswer: answer },
    { limits, connections, tls },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  const address: AddressInfo | string | null = server.address();
  return { server, port: address === null || typeof address === 'string' ? 0 : address.port };
};

const ok = (_request: IncomingMessage, response: ServerResponse): void => {
  response.end('ok');
};

/** The `Connection` field of the answer to a request on the one connection of this agent. */
const ask = (port: number, agent: Agent): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request({ port, agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.headers.connection));
    });
    sent.once('error', reject);
    sent.end();
  });

const openAgent = (): Agent => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
};

// A client that is cut while its connection is idle learns of it by a request that is lost.
it('a server that ends answers each open connection once more, tells it so, and takes no new one', async () => {
  const { server, port } = await startServer(ok);
  const agents = Array.from({ length: 12 }, openAgent);
  for (const agent of agents) expect(await ask(port, agent)).toBe('keep-alive');
  const ended = drain(server, 60_000);
  await expect(ask(port, openAgent())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  for (const agent of agents) expect(await ask(port, agent)).toBe('close');
  await ended;
});

it('a request that is open when it begins gets it, too', async () => {
  let answer = (): void => {};
  const { server, port } = await startServer((_request, response) => {
    answer = () => response.end('ok');
  });
  const asked = ask(port, openAgent());
  await once(server, 'request');
  const ended = drain(server, 60_000);
  answer();
  expect(await asked).toBe('close');
  await ended;
});

it('of requests that were sent one behind the other each is answered, and the last one says that it is', async () => {
  const answers: (() => void)[] = [];
  const { server, port } = await startServer((_request, response) => {
    answers.push(() => response.end('ok'));
    if (answers.length === 3) for (const answer of answers) answer();
  });
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(server, 'request');
  const ended = drain(server, 60_000);
  socket.write('GET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'end');
  expect(text.match(/^Connection: .*$/gm)).toEqual([
    'Connection: keep-alive',
    'Connection: keep-alive',
    'Connection: close',
  ]);
  socket.destroy();
  await ended;
});

it('connections without a request are cut after their time', async () => {
  const { server, port } = await startServer(ok);
  const agent = openAgent();
  await ask(port, agent);
  await drain(server, 50);
  await expect(ask(port, agent)).rejects.toMatchObject({ code: expect.stringMatching(/^ECONN/) });
});

// Node ends a handshake by its time limit alone, which may be as long as a header may take.
it('over TLS, connections whose handshake has not ended are cut then, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { cert, key } = makeAuthority(folder, 'authority');
  const tls = { options: { cert, key, handshakeTimeout: 600_000 }, onChange: () => {} };
  const { server, port } = await startServer(ok, tls);
  const socket = connect(port, '127.0.0.1');
  const cut = once(socket, 'close');
  await once(server, 'connection');
  await drain(server, 50);
  await cut;
});

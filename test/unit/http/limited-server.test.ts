import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createConnectionCount } from '../../../src/http/connections.ts';
import { createLimitedServer, type HttpLimits } from '../../../src/http/limited-server.ts';
import { answersIn, exchange, openRaw, type RawConnection } from '../../support/http/raw-client.ts';

const short: HttpLimits = {
  headersTimeoutMs: 200,
  requestTimeoutMs: 200,
  idleTimeoutMs: 200,
  stallTimeoutMs: 2_000,
  headerBytesMax: 4_096,
};
const long: HttpLimits = {
  ...short,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
};

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

const started = async (listener: RequestListener, limits: HttpLimits, connectionsMax = 0) => {
  const ended: string[] = [];
  const answer = (text: string) => ({ body: text, headers: { 'Content-Type': 'text/plain' } });
  server = createLimitedServer(
    {
      listener,
      protocolAnswer: (status) => answer(String(status)),
      overloadAnswer: () => answer('full'),
      makesRoom: true,
      onEnded: (reason) => ended.push(reason),
    },
    {
      limits,
      connections: createConnectionCount({ connectionsMax, addressConnectionsMax: 0, isExempt: () => false }),
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, ended };
};

const get = (path = '/', fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

// The live view of drops is one answer that lasts for hours.
it('no timeout of headers, requests or idle connections cuts an answer in progress', async () => {
  const { port, ended } = await started((_, response) => {
    const timer = setInterval(() => response.write('line\n'), 50);
    response.once('close', () => clearInterval(timer));
  }, short);
  const connection = await openRaw(port);
  connection.send(get());
  // Five times the longest of them.
  await connection.until(/(?:line[\s\S]*?){20}/);
  expect(ended).toEqual([]);
  connection.destroy();
});

// A scheme has no case (RFC 9110 section 4.2.3), and the adapter of the routes reads it in lower case alone.
it.each(['HTTP://a/v1/traces', 'Http://a/v1/traces', 'http://a/v1/traces'])(
  'a target in absolute form reaches the listener, in any case: %s',
  async (target) => {
    const { port } = await started(({ url = '' }, response) => response.end(url), long);
    for (let request = 0; request < 2; request++) {
      const [answer] = answersIn(await exchange(port, get(target, 'Connection: close\r\n')));
      expect(answer?.body).toBe('http://a/v1/traces');
    }
  },
);

describe('where a connection too many takes the place of one that has no request under way', () => {
  let waiting = 0;
  const ok: RequestListener = (request, response) => {
    if (request.url === '/wait') waiting++;
    else response.writeHead(200, { 'Content-Length': 2 }).end('ok');
  };

  /** Connections whose answers are due, and never come. */
  const holding = async (port: number, count: number): Promise<RawConnection[]> => {
    waiting = 0;
    const all = await Promise.all(Array.from({ length: count }, () => openRaw(port)));
    for (const connection of all) connection.send(get('/wait'));
    await expect.poll(() => waiting).toBe(count);
    return all;
  };

  const halfOpen = async (port: number): Promise<RawConnection> => {
    const connection = await openRaw(port);
    connection.send('GET / HTTP/1.1\r\nX: ');
    return connection;
  };

  it('half a header blocks no other client, and the oldest is closed first', async () => {
    const { port, ended } = await started(ok, long, 3);
    const held = [await halfOpen(port), await halfOpen(port), await halfOpen(port)];
    for (let count = 0; count < 10; count++) {
      const [answer] = answersIn(await exchange(port, get('/', 'Connection: close\r\n')));
      expect(answer?.status).toBe(200);
    }
    expect(await held[0]?.ended).toBe('');
    expect(ended).toEqual(['connections_max']);
    expect(held.slice(1).map(({ socket }) => socket.destroyed)).toEqual([false, false]);
    for (const connection of held) connection.destroy();
  });

  it('one that was answered and is kept goes too, and one whose answer is due does not', async () => {
    const { port } = await started(ok, long, 3);
    const busy = await holding(port, 2);
    const kept = await openRaw(port);
    kept.send(get());
    await kept.until('ok');
    const [answer] = answersIn(await exchange(port, get('/', 'Connection: close\r\n')));
    expect(answer?.status).toBe(200);
    await kept.ended;
    expect(busy.map(({ socket, text }) => [socket.destroyed, text])).toEqual([
      [false, ''],
      [false, ''],
    ]);
    for (const connection of busy) connection.destroy();
  });

  it('where none can be closed, the new one gets 503', async () => {
    const { port, ended } = await started(ok, long, 2);
    const busy = await holding(port, 2);
    const [answer] = answersIn(await exchange(port, get()));
    expect([answer?.status, answer?.body, ended]).toEqual([503, 'full', ['connections_max']]);
    for (const connection of busy) connection.destroy();
  });
});

it('an announced body gets 100 Continue where the listener does not send it', async () => {
  const { port } = await started((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'Content-Length': 2 }).end('ok'));
  }, long);
  const connection = await openRaw(port);
  connection.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n');
  await connection.until('100 Continue');
  connection.send('x');
  expect(await connection.until('ok')).toContain('200 OK');
  connection.destroy();
});

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createConnectionCount } from '../../../src/http/connections.ts';
import { type Certificate, createLimitedServer, type HttpLimits } from '../../../src/http/limited-server.ts';
import { keepConnection } from '../../../src/http/room.ts';
import { answersIn, exchange, openRaw, type RawConnection } from '../../support/http/raw-client.ts';
import { makeAuthority, makeCertificate } from '../../support/stack/certificates.ts';

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

type More = { connectionsMax?: number; openRequestsMax?: number; tls?: Certificate | undefined };

const started = async (
  listener: RequestListener,
  limits: HttpLimits,
  { connectionsMax = 0, openRequestsMax = 128, tls }: More = {},
) => {
  const ended: string[] = [];
  const answer = (text: string) => ({ body: text, headers: { 'Content-Type': 'text/plain' } });
  server = createLimitedServer(
    {
      listener,
      protocolAnswer: (status) => answer(String(status)),
      overloadAnswer: () => answer('full'),
      makesRoom: true,
      openRequestsMax,
      onEnded: (reason) => ended.push(reason),
    },
    {
      limits,
      tls,
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

const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const authority = makeAuthority(folder, 'authority');
const { cert, key } = makeCertificate(folder, 'own', authority);
const certificate: Certificate = { options: { cert, key }, onChange: () => {} };

describe.each([
  ['plain', undefined, {}],
  ['over TLS', certificate, { tls: { ca: authority.cert } }],
] as const)(
  '%s, where a connection too many takes the place of one whose sender has shown no credential',
  (_, tls, options) => {
    let waiting = 0;
    const ok: RequestListener = (request, response) => {
      const { url } = request;
      if (url === '/admitted') keepConnection(request);
      if (url === '/admitted' || url === '/wait') waiting++;
      else if (request.method === 'GET') response.writeHead(200, { 'Content-Length': 2 }).end('ok');
    };
    const serve = (connectionsMax: number, limits = long) => started(ok, limits, { connectionsMax, tls });

    /** Connections whose answers are due, and never come. */
    const holding = async (port: number, count: number, path = '/admitted'): Promise<RawConnection[]> => {
      waiting = 0;
      const all = await Promise.all(Array.from({ length: count }, () => openRaw(port, options)));
      for (const connection of all) connection.send(get(path));
      await expect.poll(() => waiting).toBe(count);
      return all;
    };

    const opened = async (port: number, text: string): Promise<RawConnection> => {
      const connection = await openRaw(port, options);
      connection.send(text);
      return connection;
    };
    const asked = async (port: number) => {
      const [answer] = answersIn(await exchange(port, get('/', 'Connection: close\r\n'), options));
      return answer;
    };

    it.each([
      ['half a header', 'GET / HTTP/1.1\r\nX: '],
      ['half a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx'],
      ['a request that is not answered', get('/wait')],
    ])('%s blocks no other client, and the oldest is closed first', async (_what, text) => {
      const { port, ended } = await serve(3);
      const held = [await opened(port, text), await opened(port, text), await opened(port, text)];
      for (let count = 0; count < 10; count++) expect((await asked(port))?.status).toBe(200);
      expect(await held[0]?.ended).toBe('');
      expect(ended).toEqual(['connections_max']);
      expect(held.slice(1).map(({ socket }) => socket.destroyed)).toEqual([false, false]);
      for (const connection of held) connection.destroy();
    });

    it('one that was answered goes too, and one whose admitted answer is due does not', async () => {
      const { port } = await serve(3);
      const busy = await holding(port, 2);
      const kept = await openRaw(port, options);
      kept.send(get());
      await kept.until('ok');
      expect((await asked(port))?.status).toBe(200);
      await kept.ended;
      expect(busy.map(({ socket, text }) => [socket.destroyed, text])).toEqual([
        [false, ''],
        [false, ''],
      ]);
      for (const connection of busy) connection.destroy();
    });

    it('where none can be closed, the new one gets 503', async () => {
      const { port, ended } = await serve(2);
      const busy = await holding(port, 2);
      const [answer] = answersIn(await exchange(port, get(), options));
      expect([answer?.status, answer?.body, ended]).toEqual([503, 'full', ['connections_max']]);
      for (const connection of busy) connection.destroy();
    });

    it('an admitted request may be silent for longer than the others', async () => {
      const limits = { ...long, stallTimeoutMs: 100, keptStallTimeoutMs: 60_000 };
      const { port, ended } = await serve(0, limits);
      const [admitted] = await holding(port, 1);
      const [other] = await holding(port, 1, '/wait');
      expect(await other?.ended).toBe('');
      expect([ended, admitted?.socket.destroyed]).toEqual([['stalled'], false]);
      admitted?.destroy();
    });
  },
);

describe('an admitted answer that nobody reads', () => {
  const bytes = 32 * 2 ** 20;
  const paused = async (connectionsMax: number) => {
    const answered = Promise.withResolvers<void>();
    const { port, ended } = await started(
      (request, response) => {
        if (request.url !== '/admitted') return;
        keepConnection(request);
        response.end(Buffer.alloc(bytes));
        answered.resolve();
      },
      { ...long, stallTimeoutMs: 100, keptStallTimeoutMs: 600_000 },
      { connectionsMax },
    );
    const reader = await openRaw(port);
    reader.socket.pause();
    reader.send(get('/admitted'));
    await answered.promise;
    return { port, ended, reader };
  };

  it('is sent whole to who goes on after a pause that ends any other', async () => {
    const { port, ended, reader } = await paused(0);
    const other = await openRaw(port);
    other.send(get('/wait'));
    expect(await other.ended).toBe('');
    let read = 0;
    reader.socket.on('data', ({ length }) => {
      read += length;
    });
    reader.socket.resume();
    await expect.poll(() => read, { timeout: 20_000 }).toBeGreaterThan(bytes);
    expect(ended).toEqual(['stalled']);
    reader.destroy();
  });

  it('makes room for a connection too many', async () => {
    const { port, ended, reader } = await paused(1);
    const other = await openRaw(port);
    await expect.poll(() => ended).toEqual(['connections_max']);
    for (const connection of [reader, other]) connection.destroy();
  });
});

describe('more requests without an answer than a connection may have', () => {
  const patient: HttpLimits = { ...long, stallTimeoutMs: 60_000 };

  it('end it behind the answers to those that were taken, and no other is taken', async () => {
    const waiting: ServerResponse[] = [];
    const { port, ended } = await started((_, response) => waiting.push(response), patient, {
      openRequestsMax: 3,
    });
    const answers = exchange(port, get().repeat(5));
    await expect.poll(() => ended).toEqual(['pipelined']);
    for (const [at, response] of waiting.entries()) response.end(String(at));
    expect(answersIn(await answers).map(({ body }) => body)).toEqual(['0', '1', '2']);
    expect(waiting.length).toBe(3);
  });

  it('are not read while their sender sends on', async () => {
    const waiting: ServerResponse[] = [];
    const { port, ended } = await started(
      (request, response) => {
        request.resume();
        waiting.push(response);
      },
      patient,
      { openRequestsMax: 3 },
    );
    const { socket, ...connection } = await openRaw(port);
    const fields = `X-Long: ${'x'.repeat(3_000)}\r\n`;
    connection.send(get('/', fields).repeat(10_000));
    await expect.poll(() => ended).toEqual(['pipelined']);
    for (const response of waiting) response.end('taken');
    expect(answersIn(await connection.until(/(?:taken[\s\S]*){3}/)).length).toBe(3);
    expect(socket.writableLength).toBeGreaterThan(10_000_000);
    await connection.ended;
  });

  it('end it where their sender reads no answer', async () => {
    const { port, ended } = await started(
      () => {},
      { ...long, stallTimeoutMs: 8_000 },
      { openRequestsMax: 3 },
    );
    expect(await exchange(port, get().repeat(5))).toBe('');
    expect(ended).toEqual(['pipelined']);
  });
});

it('a refused body in many short pieces is not read on, and one in long ones is', async () => {
  const { port, ended } = await started((_, response) => {
    response.writeHead(401, { 'Content-Length': 2 }).end('no');
  }, long);
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const honest = await openRaw(port);
  honest.send(`${head}${`400\r\n${'x'.repeat(1024)}\r\n`.repeat(5_000)}0\r\n\r\n${get()}`);
  await honest.until(/(?: 401 [\s\S]*){2}/);
  expect(ended).toEqual([]);
  honest.destroy();
  const hostile = await openRaw(port);
  hostile.send(head + '1\r\nx\r\n'.repeat(10_000));
  await hostile.ended;
  expect(ended).toEqual(['body_refused']);
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

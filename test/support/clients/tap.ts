import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** One request of a client and its answer, as they went over the wire. Times are those of performance.now(). */
export type Exchange = {
  readonly arrivedAt: number;
  readonly bodySha256: string;
  /** Of HTTP; of gRPC where that is the transport. */
  readonly status: number;
  /** From Retry-After or RetryInfo. */
  readonly retryAfterSeconds: number | undefined;
  readonly answeredAt: number;
};

/** Stands between a client and a receiver, passes every byte on, and remembers what went through. */
export type Tap = {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
  /** Resolves once an answer with this status is about to be passed on. */
  answered(status: number): Promise<void>;
};

/** What a tap remembers. */
export type Exchanges = Omit<Tap, 'url'> & { add(exchange: Exchange): void };

export const createExchanges = (): Exchanges => {
  const exchanges: Exchange[] = [];
  const waiting: { readonly status: number; readonly resolve: () => void }[] = [];
  return {
    exchanges,
    add: (exchange) => {
      exchanges.push(exchange);
      for (const { status, resolve } of waiting) if (status === exchange.status) resolve();
    },
    answered: (status) =>
      new Promise((resolve) => {
        if (exchanges.some((exchange) => exchange.status === status)) resolve();
        else waiting.push({ status, resolve });
      }),
  };
};

const readAll = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

type Answer = { readonly message: IncomingMessage; readonly bytes: Buffer };

const ask = (port: number, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path: url, headers });
    outgoing.once('error', reject);
    outgoing.once('response', (message) => {
      readAll(message).then((bytes) => resolve({ message, bytes }), reject);
    });
    outgoing.end(body);
  });

/** Starts one in front of a port of this machine; it ends with the test. `path` is the path its URL has. */
export const startTap = async (port: number, path: string): Promise<Tap> => {
  const { exchanges, add, answered } = createExchanges();

  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const arrivedAt = performance.now();
    const body = await readAll(incoming);
    const { message, bytes } = await ask(port, incoming, body);
    const { statusCode: status = 0, headers } = message;
    const retryAfter = headers['retry-after'];
    add({
      arrivedAt,
      bodySha256: createHash('sha256').update(body).digest('hex'),
      status,
      retryAfterSeconds: retryAfter === undefined ? undefined : Number(retryAfter),
      answeredAt: performance.now(),
    });
    outgoing.writeHead(status, message.rawHeaders).end(bytes);
  };

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  onTestFinished(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  return { url: `http://127.0.0.1:${address.port}${path}`, exchanges, answered };
};

/**
 * Listens on the port of a stopped process and cuts the first connection, as a dying process does. `cut` resolves once that has happened
 * and the port is free again; `free` frees it without a connection.
 */
export const cutFirstConnection = async (
  port: number,
): Promise<{ readonly cut: Promise<void>; readonly free: () => void }> => {
  const server = createTcpServer();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const cut = new Promise<void>((resolve) => {
    server.once('close', resolve);
    server.once('connection', (socket) => {
      socket.resetAndDestroy();
      server.close();
    });
  });
  return { cut, free: () => server.close() };
};

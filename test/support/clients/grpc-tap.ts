import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { onTestFinished } from 'vitest';
import { retrySecondsIn } from '../grpc/client.ts';
import { createExchanges, type Tap } from './tap.ts';

/** Where a status says how long to wait: for most clients, and for that of Python. */
const retryFields = ['grpc-status-details-bin', 'google.rpc.retryinfo-bin'] as const;

type Answer = {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly bytes: Buffer;
};

/** The fields of a head without those that belong to one connection. */
const passed = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== ':authority' && name !== 'date'));

/** Rejects when the receiver resets the call; resets it when the client does. */
const ask = (
  upstream: ClientHttp2Session,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  body: Buffer,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const call = upstream.request(passed(headers));
    stream.once('close', () => call.close(constants.NGHTTP2_CANCEL));
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    call
      .on('response', (fields) => {
        head = fields;
      })
      .on('trailers', (fields) => {
        trailers = fields;
      })
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .once('end', () => resolve({ headers: head, trailers, bytes: Buffer.concat(chunks) }))
      .once('error', reject)
      .once('close', () => reject(new Error('the receiver ended the call')));
    call.end(body);
  });

const without = (fields: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

const pass = (stream: ServerHttp2Stream, { headers, trailers, bytes }: Answer): void => {
  if (stream.destroyed) return;
  // A status without a message is one block of fields: so it was sent, and some clients look for it only there.
  if (headers['grpc-status'] !== undefined) {
    stream.respond(passed(headers), { endStream: true });
    return;
  }
  stream.respond(passed(headers), { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(passed(trailers)));
  stream.end(bytes);
};

/**
 * Starts a tap for gRPC in front of a port of this machine; it ends with the test. Its statuses are those of gRPC. With
 * `dropsRetryInfo` no client learns how long it should wait.
 */
export const startGrpcTap = async (port: number, dropsRetryInfo: boolean): Promise<Tap> => {
  const { exchanges, add, answered } = createExchanges();
  const dropped = dropsRetryInfo ? retryFields : [];
  const sessions = new Set<ServerHttp2Session | ClientHttp2Session>();

  const serve = async (
    upstream: ClientHttp2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ): Promise<void> => {
    const arrivedAt = performance.now();
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks);
    const { bytes, ...answer } = await ask(upstream, stream, headers, body);
    const fields = without(answer.headers, dropped);
    const last = { ...fields, ...answer.trailers };
    const details = Buffer.from(String(last['grpc-status-details-bin'] ?? ''), 'base64');
    add({
      arrivedAt,
      bodySha256: createHash('sha256').update(body).digest('hex'),
      status: Number(last['grpc-status']),
      retryAfterSeconds: retrySecondsIn(details),
      answeredAt: performance.now(),
    });
    pass(stream, { bytes, headers: fields, trailers: answer.trailers });
  };

  const server = createServer();
  server.on('session', (session) => {
    const upstream = connect(`http://127.0.0.1:${port}`);
    for (const each of [session, upstream]) {
      sessions.add(each);
      each.on('error', () => {}).once('close', () => sessions.delete(each));
    }
    session.once('close', () => upstream.destroy());
    upstream.once('close', () => session.destroy());
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      serve(upstream, stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const closed = once(server, 'close');
  onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    server.close();
    await closed;
  });
  return { url: `http://127.0.0.1:${address.port}`, exchanges, answered };
};

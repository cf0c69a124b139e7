import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { codes, type GrpcCode } from '../../../../src/ingress/grpc/status.ts';
import { refusedReply } from '../../../../src/ingress/otlp/refusal.ts';
import { partialReply } from '../../../../src/ingress/otlp/reply.ts';
import { otlpSignals } from '../../../../src/ingress/otlp/signals.ts';
import { notStored, Refused, retryAfter } from '../../../../src/ingress/refused.ts';
import { connectGrpc, endOf, type GrpcClient } from '../../../support/grpc/client.ts';
import { type Door, messageBytesMax, openDoor } from '../../../support/grpc/door.ts';
import { traceExportPath } from '../../../support/otlp/export-paths.ts';

const message = Buffer.from('a message');

let reply: ReturnType<typeof refusedReply> | Error | undefined;
let door: Door;
let client: GrpcClient;
beforeAll(async () => {
  door = await openDoor({
    answer: async () => {
      if (reply instanceof Error) throw reply;
      return reply ?? { status: 200, contentType: '', headers: { 'X-Request-Id': '7' }, body: '' };
    },
  });
  client = await connectGrpc(door.address);
});
afterEach(() => {
  reply = undefined;
});
afterAll(async () => {
  client.close();
  await door.drain();
});

const send = (options: Parameters<GrpcClient['call']>[2] = {}, bytes: Uint8Array = message) =>
  client.call(traceExportPath, bytes, options);

describe('a unary call', () => {
  it('reaches the line as a request of protobuf, and is answered with its message and OK', async () => {
    const end = await send({ metadata: { 'x-mon-token': 'secret', 'user-agent': 'test/1' } });
    expect(end).toMatchObject({ code: codes.ok, reset: 0, messages: [Buffer.alloc(0)] });
    expect(end.headers).toMatchObject({
      ':status': 200,
      'content-type': 'application/grpc',
      'x-request-id': '7',
    });
    const { request, body } = door.seen.at(-1) ?? expect.fail('nothing came');
    expect(body).toEqual(message);
    expect(request.headers).toMatchObject({
      ...{ 'x-mon-token': 'secret', 'user-agent': 'test/1' },
      ...{ 'content-type': 'application/x-protobuf', 'content-encoding': 'identity' },
    });
    expect(request.socket.remoteAddress).toBe('127.0.0.1');
  });

  it('hands over the inflated bytes of a compressed message', async () => {
    const end = await send({ flags: 1, metadata: { 'grpc-encoding': 'gzip' } }, gzipSync(message));
    expect(end.code).toBe(codes.ok);
    expect(door.seen.at(-1)?.body).toEqual(message);
  });

  it('carries a partial success as a message with OK', async () => {
    reply = partialReply(otlpSignals.traces, 'protobuf', 2, 'why');
    const end = await send();
    expect(end.code).toBe(codes.ok);
    expect(end.messages[0]?.toString()).toContain('why');
  });

  it('may arrive in pieces of any size', async () => {
    const stream = client.open(traceExportPath);
    const ended = endOf(stream);
    for (const byte of [0, 0, 0, 0, 3, 1, 2, 3]) {
      await new Promise((resolve) => stream.write(Buffer.of(byte), resolve));
    }
    stream.end();
    expect((await ended).code).toBe(codes.ok);
    expect(door.seen.at(-1)?.body).toEqual(Buffer.of(1, 2, 3));
  });

  it('hands over a message as long as the limit, larger than a window of the client', async () => {
    const bytes = Buffer.alloc(messageBytesMax, 7);
    expect((await send({}, bytes)).code).toBe(codes.ok);
    expect(door.seen.at(-1)?.body.equals(bytes)).toBe(true);
  });
});

describe('a call that is refused', () => {
  it.each<[string, Refused, number, number | undefined]>([
    ['a wrong token', new Refused('unauthorized'), codes.unauthenticated, undefined],
    ['a disabled application', new Refused('application_disabled'), codes.permissionDenied, undefined],
    ['overload', notStored('why'), codes.unavailable, 1],
    ['no confirmation', new Refused('unconfirmed', '', { headers: retryAfter(2) }), codes.unavailable, 2],
    [
      'too many requests',
      new Refused('rate_limited', 'x', { headers: retryAfter(3) }),
      codes.resourceExhausted,
      3,
    ],
    [
      'a broken message',
      new Refused('body_malformed', 'x', { field: 'a.b' }),
      codes.invalidArgument,
      undefined,
    ],
    ['a large message', new Refused('body_too_large', 'x'), codes.invalidArgument, undefined],
    ['an unknown encoding', new Refused('encoding_unsupported', 'x'), codes.unimplemented, undefined],
    ['a defect', new Refused('internal'), codes.unavailable, undefined],
  ])('for %s has the code, and RetryInfo where a retry is wanted', async (_, refused, code, retrySeconds) => {
    reply = refusedReply('protobuf', refused);
    const end = await send();
    expect(end).toMatchObject({ code, retrySeconds, messages: [], reset: 0 });
    expect(end.message).not.toBe('');
    expect(end.headers).not.toHaveProperty('retry-after');
  });

  // The exporter of OpenTelemetry for Python reads it there and nowhere else.
  it('says how long to wait in the metadata google.rpc.retryinfo-bin, too', async () => {
    reply = refusedReply('protobuf', new Refused('unconfirmed', '', { headers: retryAfter(2) }));
    // RetryInfo { retry_delay (1): Duration { seconds (1): 2 } }
    const retryInfo = Buffer.of(0x0a, 2, 0x08, 2).toString('base64');
    expect((await send()).headers).toMatchObject({ 'google.rpc.retryinfo-bin': retryInfo });
    reply = refusedReply('protobuf', new Refused('unauthorized'));
    expect((await send()).headers).not.toHaveProperty('google.rpc.retryinfo-bin');
  });

  it('names the faulty field of a broken message', async () => {
    reply = refusedReply('protobuf', new Refused('body_malformed', 'not a number', { field: 'a.b' }));
    const { details, message: text } = await send();
    expect(text).toBe('not a number');
    expect(details).toContain('google.rpc.BadRequest');
    expect(details).toContain('a.b');
  });

  it('keeps its message below the limits of clients, whole characters only', async () => {
    reply = refusedReply('protobuf', new Refused('body_malformed', '😀é%\n'.repeat(5000), { field: 'a' }));
    const end = await send();
    expect(end.code).toBe(codes.invalidArgument);
    expect(end.message.startsWith('😀é%\n😀')).toBe(true);
    expect(JSON.stringify(end.headers).length).toBeLessThan(8192);
  });

  it('is UNAVAILABLE after a defect of the program, and tells nothing of it', async () => {
    reply = new Error('secret');
    const end = await send();
    expect(end.code).toBe(codes.unavailable);
    expect(JSON.stringify(end)).not.toContain('secret');
  });
});

describe('bytes that are no call of one message', () => {
  // The codes of gRPC's documents on status codes and on compression.
  it.each<[string, GrpcCode, Buffer, RegExp]>([
    ['no bytes', codes.unimplemented, Buffer.alloc(0), /no message/],
    ['half a prefix', codes.unimplemented, Buffer.of(0, 0, 0), /no message/],
    [
      'two messages',
      codes.unimplemented,
      Buffer.of(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1),
      /more bytes than its one message/,
    ],
    [
      'compression without a name',
      codes.internal,
      Buffer.of(1, 0, 0, 0, 1, 1),
      /grpc-encoding names no compression/,
    ],
    [
      'a message that ends early',
      codes.invalidArgument,
      Buffer.of(0, 0, 0, 0, 5, 1),
      /ends after 1 of 5 bytes/,
    ],
    ['unknown flags', codes.invalidArgument, Buffer.of(2, 0, 0, 0, 1, 1), /unknown flags 2/],
  ])('are refused with the code for %s', async (_, code, raw, says) => {
    const before = door.refused.length;
    const end = await send({ raw });
    expect(end).toMatchObject({ code, retrySeconds: undefined, reset: 0 });
    expect(end.message).toMatch(says);
    // The line, which gives the others theirs, is none here.
    if (door.refused.length === before) return;
    expect(door.refused.at(-1)).toBe('protocol_error');
    expect(end.headers['x-request-id']).toMatch(/^\d+$/);
  });

  it('are INTERNAL when the message is marked as compressed and grpc-encoding is identity', async () => {
    const end = await send({ flags: 1, metadata: { 'grpc-encoding': 'identity' } });
    expect(end).toMatchObject({ code: codes.internal, reset: 0 });
  });

  it('are INVALID_ARGUMENT at once when the prefix tells a length above the limit', async () => {
    const raw = Buffer.alloc(5);
    raw.writeUInt32BE(messageBytesMax + 1, 1);
    const end = await send({ raw, isOpen: true });
    expect(end).toMatchObject({ code: codes.invalidArgument, retrySeconds: undefined, reset: 0 });
    expect(end.message).toContain(`${messageBytesMax + 1} bytes`);
  });

  it.each(['gzip', 'deflate', 'zstd'])('are INTERNAL with a message that is no %s', async (encoding) => {
    const end = await send({ flags: 1, metadata: { 'grpc-encoding': encoding } });
    expect(end).toMatchObject({ code: codes.internal, retrySeconds: undefined, reset: 0 });
    expect(end.message).toMatch(/^the message .*grpc-encoding/);
    expect(end.details).not.toContain('BadRequest');
  });
});

describe('a request for something else', () => {
  it.each(['/opentelemetry.proto.collector.metrics.v1.MetricsService/Export', '/nothing', '/'])(
    '%s is UNIMPLEMENTED, and the answer names what there is',
    async (path) => {
      const end = await client.call(path, message);
      expect(end.code).toBe(codes.unimplemented);
      expect(end.message).toContain(traceExportPath);
      expect(end.headers['x-request-id']).toMatch(/^\d+$/);
      expect(door.refused.at(-1)).toBe('path_unknown');
    },
  );

  it.each([
    [{ 'content-type': 'application/json' }, 415],
    [{ 'content-type': 'application/grpc+json' }, 415],
    [{ 'content-type': 'application/grpc-web' }, 415],
  ])('with %j is answered %i over HTTP', async (metadata, status) => {
    expect((await send({ metadata })).headers[':status']).toBe(status);
  });

  it('with another method than POST is answered 405 over HTTP', async () => {
    const stream = client.session.request({ ':method': 'GET', ':path': traceExportPath });
    expect((await endOf(stream)).headers[':status']).toBe(405);
  });

  it('with a Content-Type that names protobuf is served', async () => {
    const { code } = await send({ metadata: { 'content-type': 'application/grpc+proto' } });
    expect(code).toBe(codes.ok);
  });
});

describe('the time of a call', () => {
  it('that is over before its message has arrived is DEADLINE_EXCEEDED', async () => {
    const end = await send({ raw: Buffer.of(0, 0, 0), isOpen: true, metadata: { 'grpc-timeout': '80m' } });
    expect(end).toMatchObject({ code: codes.deadlineExceeded, reset: 0 });
  });

  it('that is over in the middle of its message is DEADLINE_EXCEEDED', async () => {
    const raw = Buffer.of(0, 0, 0, 0, 9, 1);
    const end = await send({ raw, isOpen: true, metadata: { 'grpc-timeout': '80m' } });
    expect(end).toMatchObject({ code: codes.deadlineExceeded, reset: 0 });
  });

  // Until then it costs its client next to nothing.
  it('until its message has begun is that of a header, however long the whole may take', async () => {
    const slow = await openDoor({ limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 600_000 } });
    const patient = await connectGrpc(slow.address);
    const begun = patient.open(traceExportPath);
    const ended = endOf(begun);
    await new Promise((resolve) => begun.write(Buffer.of(0, 0, 0, 0, 1), resolve));
    const late = [Buffer.alloc(0), Buffer.of(0, 0, 0)].map((raw) =>
      patient.call(traceExportPath, message, { raw, isOpen: true }),
    );
    for (const end of await Promise.all(late))
      expect(end).toMatchObject({ code: codes.deadlineExceeded, reset: 0 });
    begun.end(Buffer.of(7));
    expect((await ended).code).toBe(codes.ok);
    patient.close();
    await slow.drain();
  });

  it('reaches the line, with a part left for the way of the answer', async () => {
    const before = performance.now();
    await send({ metadata: { 'grpc-timeout': '2S' } });
    const { answerBy = 0 } = door.seen.at(-1)?.request ?? {};
    expect(answerBy - before).toBeGreaterThan(1700);
    expect(answerBy - performance.now()).toBeLessThan(1801);
  });

  it.each(['1', 'S', '123456789S', '-1S', '1.5S', '1 S'])('%j is INVALID_ARGUMENT', async (timeout) => {
    expect((await send({ metadata: { 'grpc-timeout': timeout } })).code).toBe(codes.invalidArgument);
  });
});

describe('a call that its client resets', () => {
  it('ends the reading of its message, and other calls of the connection go on', async () => {
    const stream = client.open(traceExportPath);
    const ended = endOf(stream);
    await new Promise((resolve) => stream.write(Buffer.of(0, 0, 0, 0, 9, 1), resolve));
    stream.close(8);
    await ended;
    expect((await send()).code).toBe(codes.ok);
  });
});

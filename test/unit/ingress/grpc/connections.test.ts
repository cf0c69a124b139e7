import { mkdtempSync, rmSync } from 'node:fs';
import { constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { codes } from '../../../../src/ingress/grpc/status.ts';
import { successReply } from '../../../../src/ingress/otlp/reply.ts';
import { type CallEnd, connectGrpc, endOf, type GrpcClient } from '../../../support/grpc/client.ts';
import { type Door, type DoorOptions, openDoor } from '../../../support/grpc/door.ts';
import { openRaw } from '../../../support/http/raw-client.ts';
import { traceExportPath } from '../../../support/otlp/export-paths.ts';
import { makeAuthority, makeCertificate } from '../../../support/stack/certificates.ts';
import { waitFor } from '../../../support/wait.ts';

const message = Buffer.from('a message');
const boundMs = 30_000;

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const open = async (options: DoorOptions = {}): Promise<Door> => {
  const door = await openDoor(options);
  opened.push(() => door.drain());
  return door;
};

const clientOf = async (door: Door): Promise<GrpcClient> => {
  const client = await connectGrpc(door.address);
  opened.push(
    () =>
      new Promise<void>((resolve) => {
        if (client.session.destroyed) return resolve();
        client.session.once('close', () => resolve());
        client.close();
      }),
  );
  return client;
};

describe('a client of another protocol', () => {
  it('has an answer that names the port for it', async () => {
    const door = await open();
    const raw = await openRaw(door.port);
    raw.send('POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
    expect(await raw.ended).toMatch(/^HTTP\/1\.1 400 .*send OTLP\/HTTP to the port/s);
    expect(await door.ended('malformed')).toBe(1);
  });

  it.each(['PROXY TCP4 192.0.2.1 192.0.2.2 1024 4317\r\n', '\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c'])(
    'has the remedy in a GOAWAY behind a proxy that sends %j',
    async (header) => {
      const door = await open();
      const raw = await openRaw(door.port);
      raw.send(`${header}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`);
      expect(await raw.ended).toContain('a header of the PROXY protocol, which this port does not take');
      expect(await door.ended('malformed')).toBe(1);
    },
  );

  // HTTP/2 begins with the same letter.
  it('has it also where its first byte comes alone', async () => {
    const door = await open();
    const raw = await openRaw(door.port);
    raw.send('P');
    const client = await clientOf(door);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
    raw.send('OST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
    expect(await raw.ended).toMatch(/^HTTP\/1\.1 400 .*send OTLP\/HTTP to the port/s);
  });
});

describe('the end of a connection', () => {
  /** Calls one after the other as long as each connection lasts, and goes over to another one at GOAWAY. */
  const callUntil = async (door: Door, isDone: () => boolean): Promise<CallEnd[]> => {
    const ends: CallEnd[] = [];
    while (!isDone()) {
      const client = await connectGrpc(door.address);
      let isLast = false;
      client.session.on('goaway', () => {
        isLast = true;
      });
      while (!isLast && !isDone()) ends.push(await client.call(traceExportPath, message));
      client.close();
    }
    return ends;
  };

  it('by age comes with GOAWAY, and every call is answered or was never begun', async () => {
    const door = await open({ ageMsMax: 200 });
    let isDone = false;
    const calling = Promise.all(Array.from({ length: 4 }, () => callUntil(door, () => isDone)));
    await waitFor('ends by age', boundMs, async () => (await door.ended('age')) >= 8);
    isDone = true;
    const ends = (await calling).flat();
    const answered = ends.filter(({ code }) => code === codes.ok);
    expect(answered.length).toBeGreaterThan(8);
    // What a client may begin again over another connection.
    const isUnprocessed = ({ code, reset }: CallEnd): boolean =>
      code === undefined && reset === constants.NGHTTP2_REFUSED_STREAM;
    expect(ends.filter((end) => end.code !== codes.ok && !isUnprocessed(end))).toEqual([]);
    expect(door.seen).toHaveLength(answered.length);
  });

  it('for its idleness comes with GOAWAY', async () => {
    const door = await open({ limits: { idleTimeoutMs: 200 } });
    const client = await clientOf(door);
    const goaway = new Promise((resolve) => client.session.once('goaway', resolve));
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    expect(await door.ended('idle')).toBe(1);
  });

  it('at the stop of the receiver waits for the answers of its calls', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const door = await openDoor({ answer: () => promise.then(() => successReply('protobuf')) });
    const client = await connectGrpc(door.address);
    const calling = client.call(traceExportPath, message);
    await waitFor('the call', boundMs, () => door.seen.length === 1);
    const goaway = new Promise((told) => client.session.once('goaway', told));
    const draining = door.drain();
    await goaway;
    resolve();
    expect(await calling).toMatchObject({ code: codes.ok, reset: 0 });
    await draining;
  });
});

// A client that sends a byte every few seconds would keep the stop of the receiver waiting.
it('a message that has not arrived some time after the receiver began to stop is UNAVAILABLE', async () => {
  const door = await openDoor();
  const client = await connectGrpc(door.address);
  const calling = client.call(traceExportPath, message, { raw: Buffer.of(0, 0, 0, 0, 9, 1), isOpen: true });
  await client.call(traceExportPath, message);
  await door.drain({ laggardsMs: 600_000, allMs: 100 });
  expect(await calling).toMatchObject({ code: codes.unavailable, retrySeconds: 1, reset: 0 });
});

it('a message that arrives slowly, or has not begun, is UNAVAILABLE sooner than one that arrives fast', async () => {
  let nowMs = 0;
  const door = await openDoor({ now: () => nowMs });
  const client = await connectGrpc(door.address);
  const begun = Buffer.of(0, 0, 0, 0, 2, 1);
  const fast = client.open(traceExportPath);
  const ended = endOf(fast);
  fast.write(begun);
  const silent = client.call(traceExportPath, message, { raw: Buffer.of(0), isOpen: true });
  const other = await connectGrpc(door.address);
  const slow = other.call(traceExportPath, message, { raw: begun, isOpen: true });
  // By its answer, the calls before it have arrived.
  for (const each of [client, other]) await each.call(traceExportPath, message);
  const draining = door.drain({ laggardsMs: 0, allMs: 600_000 });
  const refusal = { code: codes.unavailable, retrySeconds: 1, reset: 0 };
  expect(await silent).toMatchObject(refusal);
  fast.end(Buffer.of(2));
  expect(await ended).toMatchObject({ code: codes.ok, reset: 0 });
  nowMs = Number.MAX_SAFE_INTEGER;
  expect(await slow).toMatchObject(refusal);
  await draining;
});

describe('over TLS', () => {
  const certificates = () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
    opened.push(() => rmSync(folder, { recursive: true, force: true }));
    const authority = makeAuthority(folder, 'authority');
    const { cert, key } = makeCertificate(folder, 'own', authority);
    return { authority, tls: { options: { cert, key, handshakeTimeout: 600_000 }, onChange: () => {} } };
  };

  it('a client that offers h2 is served, and one of HTTP/1 gets an answer', async () => {
    const { authority, tls } = certificates();
    const door = await open({ tls });
    const client = await connectGrpc(door.address, { ca: authority.cert });
    opened.push(() => client.close());
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
    const raw = await openRaw(door.port);
    raw.send('GET / HTTP/1.1\r\n\r\n');
    await raw.ended;
    expect(await door.ended('tls_handshake')).toBe(1);
  });

  it('a connection whose handshake has not ended does not hold the stop of the receiver', async () => {
    const door = await openDoor({ tls: certificates().tls });
    const raw = await openRaw(door.port);
    raw.send(Buffer.of(22, 3, 1));
    await waitFor('the connection', boundMs, async () => (await door.connections()) === 1);
    await door.drain();
    await raw.ended;
  });
});

describe('grpc.health.v1.Health', () => {
  const check = '/grpc.health.v1.Health/Check';
  const watch = '/grpc.health.v1.Health/Watch';
  const asks = (service: string): Buffer =>
    service === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.of(0x0a, service.length), Buffer.from(service)]);
  const traces = 'opentelemetry.proto.collector.trace.v1.TraceService';

  it.each(['', traces])('Check of %j is SERVING while requests can be accepted', async (service) => {
    let why: string | undefined;
    const client = await clientOf(await open({ unready: () => why }));
    const serving = await client.call(check, asks(service));
    expect([serving.code, serving.messages]).toEqual([codes.ok, [Buffer.of(8, 1)]]);
    why = 'NATS is away';
    expect((await client.call(check, asks(service))).messages).toEqual([Buffer.of(8, 2)]);
  });

  it('Check of an unknown service is NOT_FOUND, and of something else INVALID_ARGUMENT', async () => {
    const client = await clientOf(await open());
    expect((await client.call(check, asks('other'))).code).toBe(codes.notFound);
    expect((await client.call(check, Buffer.of(1, 2, 3))).code).toBe(codes.invalidArgument);
    expect((await client.call('/grpc.health.v1.Health/List', asks(''))).code).toBe(codes.unimplemented);
  });

  it('a message that is compressed, has fields that are unknown, or a long name, is read like any other', async () => {
    const client = await clientOf(await open());
    const serving = { code: codes.ok, messages: [Buffer.of(8, 1)] };
    const unknownField = Buffer.concat([Buffer.of(0x10, 1), asks(traces)]);
    expect(await client.call(check, unknownField)).toMatchObject(serving);
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(asks(traces))],
      ['identity', asks(traces)],
    ] as const) {
      const options = { flags: encoding === 'gzip' ? 1 : 0, metadata: { 'grpc-encoding': encoding } };
      expect(await client.call(check, bytes, options)).toMatchObject(serving);
    }
    const long = Buffer.concat([Buffer.of(0x0a, 0xc8, 1), Buffer.alloc(200, 'a')]);
    expect((await client.call(check, long)).code).toBe(codes.notFound);
    const options = { flags: 1, metadata: { 'grpc-encoding': 'snappy' } };
    expect((await client.call(check, asks(''), options)).code).toBe(codes.unimplemented);
  });

  it('a call whose message does not arrive in its time is DEADLINE_EXCEEDED', async () => {
    const client = await clientOf(await open());
    for (const path of [check, watch]) {
      const end = await client.call(path, asks(''), { isOpen: true, metadata: { 'grpc-timeout': '80m' } });
      expect(end).toMatchObject({ code: codes.deadlineExceeded, reset: 0 });
    }
  });

  it('Watch answers the state now and each change, and UNAVAILABLE when the connection ends', async () => {
    let why: string | undefined;
    const door = await openDoor({ unready: () => why });
    const client = await connectGrpc(door.address);
    const stream = client.open(watch);
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const ended = endOf(stream);
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, traces.length + 2), asks(traces)]));
    await waitFor('the state', boundMs, () => bytes === 7);
    why = 'NATS is away';
    await waitFor('the change', boundMs, () => bytes === 14);
    await door.drain();
    const { code, messages } = await ended;
    expect(code).toBe(codes.unavailable);
    expect(messages).toEqual([Buffer.of(8, 1), Buffer.of(8, 2)]);
  });

  // Without an end of its own it keeps the connection open, and the receiver cannot stop.
  it('Watch whose message comes after the notice of the end answers the state and UNAVAILABLE', async () => {
    const door = await openDoor();
    const client = await connectGrpc(door.address);
    const stream = client.open(watch);
    const ended = endOf(stream);
    await client.call(check, asks(''));
    const goaway = new Promise((told) => client.session.once('goaway', told));
    const draining = door.drain();
    await goaway;
    stream.end(Buffer.alloc(5));
    expect(await ended).toMatchObject({ code: codes.unavailable, messages: [Buffer.of(8, 2)] });
    await draining;
  });

  it('Watch of an unknown service answers SERVICE_UNKNOWN and stays open', async () => {
    const client = await clientOf(await open());
    const stream = client.open(watch);
    const first = new Promise((resolve) => stream.once('data', resolve));
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, 7), asks('other')]));
    expect(await first).toEqual(Buffer.of(0, 0, 0, 0, 2, 8, 3));
    expect(stream.closed).toBe(false);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callsMax } from '../../../../src/ingress/grpc/connection.ts';
import { codes } from '../../../../src/ingress/grpc/status.ts';
import { traceExportPath } from '../../../../src/ingress/otlp/refusal.ts';
import { successReply } from '../../../../src/ingress/otlp/reply.ts';
import { type CallEnd, connectGrpc, endOf, type GrpcClient } from '../../../support/grpc/client.ts';
import { type Door, type DoorOptions, openDoor } from '../../../support/grpc/door.ts';
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

/** A connection below HTTP/2, with what it has received. */
type Raw = { readonly socket: Socket; text(): string; readonly closed: Promise<void> };

const openRaw = (door: Door): Raw => {
  const socket = connect(door.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  opened.push(() => {
    socket.destroy();
  });
  return {
    socket,
    text: () => text,
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
  };
};

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

const types = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  windowUpdate: 8,
  continuation: 9,
} as const;
const settings = frame(types.settings, 0, 0);

const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

/** The fields of a call, in literals of HPACK. */
const fields = Buffer.concat([
  literal(':method', 'POST'),
  literal(':scheme', 'http'),
  literal(':authority', 'x'),
  // Longer than 126 bytes no literal of one length byte can be.
  literal(':path', traceExportPath),
  literal('content-type', 'application/grpc'),
]);

describe('a hostile connection', () => {
  it.each<[string, Buffer]>([
    ['PINGs (section 6.7)', frame(types.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS (section 6.5)', settings],
  ])('that floods with %s is closed, and others are served', async (_, flood) => {
    const door = await open();
    const client = await clientOf(door);
    const raw = openRaw(door);
    raw.socket.write(Buffer.concat([preface, settings, ...Array.from({ length: 2000 }, () => flood)]));
    await raw.closed;
    expect(await door.ended('flood')).toBe(1);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  it('that begins calls and resets them at once is closed (CVE-2023-44487)', async () => {
    const door = await open({ answer: () => new Promise(() => {}) });
    const raw = openRaw(door);
    const calls = Array.from({ length: 3000 }, (_, index) => [
      frame(types.headers, 4, 2 * index + 1, fields),
      frame(types.reset, 0, 2 * index + 1, Buffer.alloc(4)),
    ]);
    raw.socket.write(Buffer.concat([preface, settings, ...calls.flat()]));
    await raw.closed;
    expect(door.seen.length).toBeLessThan(1000);
  });

  it('whose reset calls still cost work is closed when there are too many of them', async () => {
    const endings: (() => void)[] = [];
    let began: () => void = () => {};
    const door = await open({
      answer: () => {
        began();
        return new Promise((resolve) => endings.push(() => resolve(successReply('protobuf'))));
      },
    });
    const client = await clientOf(door);
    const closed = new Promise<void>((resolve) => client.session.once('close', () => resolve()));
    // Each call is whole, so its work has begun before it is reset.
    for (let count = 0; !client.session.destroyed && count < 3 * callsMax; count++) {
      const work = new Promise<void>((resolve) => {
        began = resolve;
      });
      const stream = client.open(traceExportPath);
      const ended = endOf(stream);
      stream.end(Buffer.of(0, 0, 0, 0, 0));
      await Promise.race([work, closed]);
      stream.close(constants.NGHTTP2_CANCEL);
      await ended;
    }
    await closed;
    expect(door.seen.length).toBeLessThan(3 * callsMax);
    for (const end of endings) end();
  });

  it('that never ends its header fields is closed (section 6.10)', async () => {
    const door = await open();
    const raw = openRaw(door);
    const piece = frame(types.continuation, 0, 1, literal('x', 'y'.repeat(100)));
    raw.socket.write(
      Buffer.concat([
        ...[preface, settings, frame(types.headers, 0, 1, fields)],
        ...Array.from({ length: 2000 }, () => piece),
      ]),
    );
    await raw.closed;
    expect(door.seen).toHaveLength(0);
  });

  it('that sends more header fields than the limit has its call refused, and the connection goes on', async () => {
    const door = await open();
    const client = await clientOf(door);
    const end = await client.call(traceExportPath, message, { metadata: { big: 'x'.repeat(40_000) } });
    expect(end.code).toBe(codes.invalidArgument);
    expect(end.message).toContain('the limit is 16384 bytes');
    expect(door.seen).toHaveLength(0);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  it('that overflows a window is closed (section 6.9.1)', async () => {
    const door = await open();
    const raw = openRaw(door);
    const most = Buffer.alloc(4);
    most.writeUInt32BE(2 ** 31 - 1);
    raw.socket.write(Buffer.concat([preface, settings, frame(types.windowUpdate, 0, 0, most)]));
    await raw.closed;
  });

  it('with more calls at a time than the limit is closed, and no more of them are processed (section 5.1.2)', async () => {
    const endings: (() => void)[] = [];
    const door = await open({
      answer: () => new Promise((resolve) => endings.push(() => resolve(successReply('protobuf')))),
    });
    const raw = openRaw(door);
    const call = (index: number): Buffer[] => [
      frame(types.headers, 4, 2 * index + 1, fields),
      frame(types.data, 1, 2 * index + 1, Buffer.alloc(5)),
    ];
    raw.socket.write(Buffer.concat([preface, settings, frame(types.settings, 1, 0)]));
    await waitFor('SETTINGS', boundMs, () => raw.text().length > 0);
    raw.socket.write(Buffer.concat(Array.from({ length: callsMax + 5 }, (_, index) => call(index)).flat()));
    await waitFor('the calls', boundMs, () => door.seen.length >= callsMax);
    await raw.closed;
    expect(door.seen).toHaveLength(callsMax);
    for (const end of endings) end();
  });

  it('that never says anything, or nothing after its preface, is closed in time', async () => {
    const door = await open({ limits: { headersTimeoutMs: 200 } });
    const silent = openRaw(door);
    const half = openRaw(door);
    half.socket.write(preface);
    await Promise.all([silent.closed, half.closed]);
    expect(await door.ended('header_timeout')).toBe(2);
  });

  it('beyond the number of connections is closed, and counted', async () => {
    const door = await open({ connectionsMax: 1 });
    await clientOf(door);
    await openRaw(door).closed;
    expect(await door.ended('connections_max')).toBe(1);
  });
});

describe('a client of another protocol', () => {
  it('has an answer that names the port for it', async () => {
    const door = await open();
    const raw = openRaw(door);
    raw.socket.write('POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
    await raw.closed;
    expect(raw.text()).toMatch(/^HTTP\/1\.1 400 .*send OTLP\/HTTP to the port/s);
    expect(await door.ended('malformed')).toBe(1);
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

describe('over TLS', () => {
  it('a client that offers h2 is served, and one of HTTP/1 gets an answer', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
    opened.push(() => rmSync(folder, { recursive: true, force: true }));
    const authority = makeAuthority(folder, 'authority');
    const { cert, key } = makeCertificate(folder, 'own', authority);
    const door = await open({ tls: { options: { cert, key }, onChange: () => {} } });
    const client = await connectGrpc(door.address, { ca: authority.cert });
    opened.push(() => client.close());
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
    const raw = openRaw(door);
    raw.socket.write('GET / HTTP/1.1\r\n\r\n');
    await raw.closed;
    expect(await door.ended('tls_handshake')).toBe(1);
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

  it('Watch of an unknown service answers SERVICE_UNKNOWN and stays open', async () => {
    const client = await clientOf(await open());
    const stream = client.open(watch);
    const first = new Promise((resolve) => stream.once('data', resolve));
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, 7), asks('other')]));
    expect(await first).toEqual(Buffer.of(0, 0, 0, 0, 2, 8, 3));
    expect(stream.closed).toBe(false);
  });
});

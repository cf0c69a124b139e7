import { constants } from 'node:http2';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readMs } from '../../../../src/ingress/grpc/answer.ts';
import { callsMax, resetBurst } from '../../../../src/ingress/grpc/connection.ts';
import { watchersMax } from '../../../../src/ingress/grpc/health.ts';
import { codes } from '../../../../src/ingress/grpc/status.ts';
import { waitingCallsMax } from '../../../../src/ingress/grpc/waiting-calls.ts';
import { successReply } from '../../../../src/ingress/otlp/reply.ts';
import { connectGrpc, endOf, type GrpcClient } from '../../../support/grpc/client.ts';
import { type Door, type DoorOptions, openDoor } from '../../../support/grpc/door.ts';
import {
  callFields,
  callFrames,
  flags,
  frame,
  framesIn,
  goawaysIn,
  indexedLiteral,
  literal,
  preface,
  reset,
  settings,
  streamOf,
  types,
  windowUpdate,
} from '../../../support/grpc/frames.ts';
import { openRaw, type RawConnection } from '../../../support/http/raw-client.ts';
import { traceExportPath } from '../../../support/otlp/export-paths.ts';
import { waitFor } from '../../../support/wait.ts';

const message = Buffer.from('a message');
const boundMs = 30_000;

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
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

const rawOf = async (door: Door): Promise<RawConnection> => {
  const raw = await openRaw(door.port);
  opened.push(() => raw.destroy());
  return raw;
};

const many = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));

/** The head of a call; its message is yet to come. */
const headOf = (stream: number, fields = callFields(), bits = 0): Buffer =>
  frame(types.headers, flags.endHeaders | bits, stream, fields);

/** Whether the trailers of a call have come. */
const isAnswered = (raw: RawConnection, stream: number): boolean =>
  framesIn(raw.text).some(
    (each) => each.stream === stream && each.type === types.headers && (each.bits & flags.endStream) !== 0,
  );

/** Above those of every flood. */
const lastStream = 99_999;

type Flood = { readonly what: string; readonly bytes: Buffer; readonly reason: 'flood' | 'malformed' };

// In the order of the sections of RFC 9113.
const floods: readonly Flood[] = [
  {
    what: 'frames of unknown types (4.1)',
    bytes: many(20_000, () => frame(0x42, 0, 0, Buffer.alloc(10))),
    reason: 'malformed',
  },
  {
    what: 'calls that it resets at once (5.4.2, CVE-2023-44487)',
    bytes: many(3000, (index) => Buffer.concat([headOf(streamOf(index)), reset(streamOf(index))])),
    reason: 'flood',
  },
  {
    what: 'calls that it makes the receiver reset (5.4.2, CVE-2025-8671)',
    bytes: many(3000, (index) =>
      Buffer.concat([callFrames(streamOf(index)), windowUpdate(streamOf(index), 0)]),
    ),
    reason: 'malformed',
  },
  {
    what: 'calls that go on after their end (5.1)',
    bytes: many(3000, (index) =>
      Buffer.concat([callFrames(streamOf(index)), frame(types.data, 0, streamOf(index), Buffer.alloc(5))]),
    ),
    reason: 'malformed',
  },
  {
    what: 'empty DATA (6.1, CVE-2019-9518)',
    bytes: Buffer.concat([headOf(1), many(5000, () => frame(types.data, 0, 1))]),
    reason: 'flood',
  },
  {
    what: 'PRIORITY (6.3, CVE-2019-9513)',
    bytes: many(20_000, () => frame(types.priority, 0, 1, Buffer.of(0, 0, 0, 0, 1))),
    reason: 'malformed',
  },
  {
    what: 'resets of calls that never were (6.4)',
    bytes: many(3000, (index) => reset(streamOf(index))),
    reason: 'malformed',
  },
  { what: 'SETTINGS (6.5, CVE-2019-9515)', bytes: many(2000, () => settings()), reason: 'flood' },
  {
    what: 'acknowledgements of SETTINGS (6.5)',
    bytes: many(5000, () => frame(types.settings, flags.ack, 0)),
    reason: 'malformed',
  },
  {
    what: 'sizes of the table of fields (6.5.2)',
    bytes: many(2000, (index) => settings([1, index % 2 === 0 ? 65_536 : 0])),
    reason: 'flood',
  },
  {
    what: 'PINGs (6.7, CVE-2019-9512)',
    bytes: many(2000, () => frame(types.ping, 0, 0, Buffer.alloc(8))),
    reason: 'flood',
  },
  {
    what: 'a window above 2^31-1 (6.9.1)',
    bytes: windowUpdate(0, 2 ** 31 - 1),
    reason: 'malformed',
  },
  {
    what: 'windows of calls above 2^31-1 (6.9.1)',
    bytes: many(3000, (index) =>
      Buffer.concat([headOf(streamOf(index)), windowUpdate(streamOf(index), 2 ** 31 - 1)]),
    ),
    reason: 'malformed',
  },
  {
    what: 'CONTINUATION (6.10, CVE-2024-27316)',
    bytes: Buffer.concat([
      frame(types.headers, 0, 1, callFields()),
      many(2000, () => frame(types.continuation, 0, 1, literal('x', 'y'.repeat(100)))),
    ]),
    reason: 'malformed',
  },
  {
    what: 'empty CONTINUATION (6.10)',
    bytes: Buffer.concat([
      frame(types.headers, 0, 1, callFields()),
      many(2000, () => frame(types.continuation, 0, 1)),
    ]),
    reason: 'malformed',
  },
  {
    what: 'fields that are not allowed (8.2.1)',
    bytes: many(3000, (index) =>
      headOf(streamOf(index), Buffer.concat([callFields(), literal('UPPER', 'x')]), flags.endStream),
    ),
    reason: 'flood',
  },
];

const calm = (debugData = '') => ({ code: constants.NGHTTP2_ENHANCE_YOUR_CALM, debugData });

describe('a hostile connection', () => {
  it.each(floods)('that floods with $what is closed, and others are served', async ({ bytes, reason }) => {
    const door = await open();
    const client = await clientOf(door);
    const raw = await rawOf(door);
    raw.send(Buffer.concat([preface, settings(), bytes]));
    await raw.ended;
    expect(await door.ended(reason)).toBe(1);
    expect(door.seen.length).toBeLessThan(1000);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  // Clients learn from the code to come back more slowly, and those of gRPC from the word about PINGs to send fewer of them.
  it.each<[string, Buffer, { code: number; debugData: string }]>([
    ['PINGs', many(300, () => frame(types.ping, 0, 0, Buffer.alloc(8))), calm('too_many_pings')],
    ['SETTINGS', many(300, () => settings()), calm()],
    [
      'resets',
      many(400, (index) => Buffer.concat([headOf(streamOf(index)), reset(streamOf(index))])),
      calm(),
    ],
    [
      'resets without an error',
      many(400, (index) => Buffer.concat([headOf(streamOf(index)), reset(streamOf(index), 0)])),
      calm(),
    ],
  ])('that floods with %s gets a GOAWAY with ENHANCE_YOUR_CALM', async (_, bytes, goaway) => {
    const door = await open();
    const raw = await rawOf(door);
    raw.send(Buffer.concat([preface, settings(), bytes]));
    const goaways = goawaysIn(await raw.ended);
    expect(goaways[0]).toEqual(goaway);
    expect(new Set(goaways.map(({ code }) => code))).toEqual(new Set([goaway.code]));
    expect(await door.ended('flood')).toBe(1);
  });

  it('that resets calls one after the other is closed once there are too many of them, and not before', async () => {
    const door = await open();
    const raw = await rawOf(door);
    raw.send(Buffer.concat([preface, settings()]));
    const resetCalls = (from: number, to: number): Buffer =>
      many(to - from, (index) =>
        Buffer.concat([headOf(streamOf(from + index)), reset(streamOf(from + index))]),
      );
    // In two parts, each below the work that a connection may have at once.
    for (const last of [callsMax, resetBurst]) {
      raw.send(resetCalls(last - callsMax + 1, last));
      raw.send(callFrames(streamOf(last)));
      await waitFor('the answer', boundMs, () => isAnswered(raw, streamOf(last)));
    }
    raw.send(resetCalls(resetBurst + 1, 3 * resetBurst));
    expect(goawaysIn(await raw.ended)).toEqual([calm()]);
    expect(await door.ended('flood')).toBe(1);
  });

  // Each holds up to 11 KB and costs its client some bytes: hundreds of connections with a hundred each took all memory of a process.
  it('that begins calls without a message holds a bounded number of them, and ends its own, not those of others', async () => {
    const door = await open();
    const client = await clientOf(door);
    const upload = client.open(traceExportPath);
    const ended = endOf(upload);
    await new Promise((resolve) => upload.write(Buffer.of(0, 0, 0, 0, 1), resolve));
    const heads = many(callsMax, (index) => headOf(streamOf(index)));
    const raws = await Promise.all(
      Array.from({ length: Math.ceil(waitingCallsMax / callsMax) + 1 }, () => rawOf(door)),
    );
    for (const raw of raws) raw.send(Buffer.concat([preface, settings(), heads]));
    const isRefused = (): boolean => raws.some((raw) => isAnswered(raw, streamOf(0)));
    await waitFor('the end of a call too many', boundMs, isRefused);
    upload.end(Buffer.of(7));
    expect(await ended).toMatchObject({ code: codes.ok, reset: 0 });
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  // Nothing of it is kept, and each frame costs the sender its bytes.
  it.each<[string, Buffer]>([
    ['windows one byte larger (6.9)', many(20_000, () => windowUpdate(0, 1))],
    [
      'short fields that stand for long ones (RFC 7541 section 7.3)',
      Buffer.concat([
        headOf(3, Buffer.concat([callFields(), indexedLiteral('x', 'y'.repeat(4000))])),
        many(200, (index) =>
          headOf(streamOf(index + 2), Buffer.concat([callFields(), Buffer.alloc(15_000, 0xbe)])),
        ),
      ]),
    ],
    [
      'DATA of padding alone (6.1)',
      Buffer.concat([
        headOf(1),
        many(5000, () =>
          frame(types.data, flags.padded, 1, Buffer.concat([Buffer.of(99), Buffer.alloc(99)])),
        ),
      ]),
    ],
  ])('that floods with %s is served like others, and nothing of it begins', async (_, bytes) => {
    const door = await open();
    const client = await clientOf(door);
    const raw = await rawOf(door);
    raw.send(Buffer.concat([preface, settings(), bytes, callFrames(lastStream)]));
    await waitFor('the answer', boundMs, () => isAnswered(raw, lastStream));
    expect(door.seen).toHaveLength(1);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
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

  // RESOURCE_EXHAUSTED, which exporters take a reset of Node for, is repeated for ever.
  it.each<[string, Record<string, string>, string]>([
    ['a field of 20,000 bytes', { big: 'x'.repeat(20_000) }, 'the limit is 16384 bytes'],
    ['fields of 60,000 bytes', { a: 'x'.repeat(30_000), b: 'x'.repeat(30_000) }, 'the limit is 16384 bytes'],
    [
      '120 fields more',
      Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, 'x'])),
      'too many fields: the limit is 100',
    ],
  ])('that sends %s has its call refused, and the connection goes on', async (_, metadata, told) => {
    const door = await open();
    const client = await clientOf(door);
    // The limits that Node has from SETTINGS hold once these are acknowledged.
    await client.call(traceExportPath, message);
    const end = await client.call(traceExportPath, message, { metadata });
    expect(end).toMatchObject({ code: codes.invalidArgument, reset: 0 });
    expect(end.message).toContain(told);
    expect(door.seen).toHaveLength(1);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  it('with more calls at a time than the limit is closed, and no more of them are processed (5.1.2)', async () => {
    const endings: (() => void)[] = [];
    const door = await open({
      answer: () => new Promise((resolve) => endings.push(() => resolve(successReply('protobuf')))),
    });
    const raw = await rawOf(door);
    raw.send(Buffer.concat([preface, settings(), frame(types.settings, flags.ack, 0)]));
    await waitFor('SETTINGS', boundMs, () => framesIn(raw.text).length > 0);
    raw.send(many(callsMax + 5, (index) => callFrames(streamOf(index))));
    await waitFor('the calls', boundMs, () => door.seen.length >= callsMax);
    await raw.ended;
    expect(door.seen).toHaveLength(callsMax);
    for (const end of endings) end();
  });

  it('whose calls never send their message has each of them ended in time', async () => {
    const door = await open({ limits: { requestTimeoutMs: 200 } });
    const client = await clientOf(door);
    const calls = Array.from({ length: callsMax }, () => {
      const stream = client.open(traceExportPath);
      stream.write(Buffer.of(0));
      return endOf(stream);
    });
    const ends = await Promise.all(calls);
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([codes.deadlineExceeded]));
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });

  it.each<[string, number]>([
    ['opens no window', 0],
    ['opens its windows byte by byte', 1],
  ])('that %s has its answers given up in time, and goes on (6.9)', async (_, increment) => {
    const partial = { ...successReply('protobuf'), body: 'x'.repeat(100) };
    const door = await open({ answer: async () => partial });
    const raw = await rawOf(door);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    // SETTINGS_INITIAL_WINDOW_SIZE
    raw.send(
      Buffer.concat([preface, settings([4, 0]), many(callsMax, (index) => callFrames(streamOf(index)))]),
    );
    const countOf = (kind: number): number => framesIn(raw.text).filter(({ type }) => type === kind).length;
    const until = async (isThere: () => boolean): Promise<void> => {
      while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
    };
    await until(() => countOf(types.headers) === callsMax);
    for (let byte = 1; byte <= 3 * increment; byte++) {
      raw.send(many(callsMax, (index) => windowUpdate(streamOf(index), increment)));
      await until(() => countOf(types.data) === byte * callsMax);
    }
    expect(countOf(types.reset)).toBe(0);
    vi.advanceTimersByTime(readMs);
    await until(() => countOf(types.reset) === callsMax);
    const stream = streamOf(callsMax);
    raw.send(Buffer.concat([callFrames(stream), windowUpdate(stream, 1000)]));
    await until(() => isAnswered(raw, stream));
    expect(door.seen).toHaveLength(callsMax + 1);
  });

  it('that never reads has its answers given up in time, and is closed', async () => {
    const long = { ...successReply('protobuf'), body: 'x'.repeat(100_000) };
    // Its calls stay open until their resets are read, so it is never idle.
    const door = await open({ answer: async () => long, limits: { idleTimeoutMs: 200 } });
    const raw = await rawOf(door);
    raw.socket.pause();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const window = 2 ** 31 - 1;
    raw.send(
      Buffer.concat([
        ...[preface, settings([4, window]), windowUpdate(0, window - 65_535)],
        many(callsMax, (index) => callFrames(streamOf(index))),
      ]),
    );
    while (door.seen.length < callsMax) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(readMs);
    vi.useRealTimers();
    await waitFor('the end', boundMs, async () => (await door.ended('stalled')) === 1);
    await door.drain();
  });

  it('that never says anything, or nothing after its preface, is closed in time', async () => {
    const door = await open({ limits: { headersTimeoutMs: 200 } });
    const silent = await rawOf(door);
    const half = await rawOf(door);
    half.send(preface);
    await silent.ended;
    expect(goawaysIn(await half.ended)).toEqual([
      { code: constants.NGHTTP2_SETTINGS_TIMEOUT, debugData: '' },
    ]);
    expect(await door.ended('header_timeout')).toBe(2);
  });

  it('beyond the number of connections is closed, and counted', async () => {
    const door = await open({ connectionsMax: 1 });
    await clientOf(door);
    await (await rawOf(door)).ended;
    expect(await door.ended('connections_max')).toBe(1);
  });

  it('cannot watch the health more often than the process has room for', async () => {
    const door = await open();
    const watch = async (client: GrpcClient): Promise<unknown> => {
      const stream = client.open('/grpc.health.v1.Health/Watch');
      const first = new Promise((resolve) => {
        stream.once('data', () => resolve(codes.ok));
        void endOf(stream).then(({ code }) => resolve(code));
      });
      stream.end(Buffer.alloc(5));
      return first;
    };
    for (let left = watchersMax; left > 0; left -= callsMax) {
      const client = await clientOf(door);
      const states = await Promise.all(Array.from({ length: callsMax }, () => watch(client)));
      expect(new Set(states)).toEqual(new Set([codes.ok]));
    }
    const client = await clientOf(door);
    expect(await watch(client)).toBe(codes.resourceExhausted);
    expect((await client.call(traceExportPath, message)).code).toBe(codes.ok);
  });
});

import assert from 'node:assert/strict';
import {
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import fc from 'fast-check';
import { frameOf, prefixBytes } from '../../../src/ingress/grpc/frame.ts';
import { codes } from '../../../src/ingress/grpc/status.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { type CallEnd, connectGrpc, endOf } from '../../support/grpc/client.ts';
import { type Door, messageBytesMax, openDoor } from '../../support/grpc/door.ts';
import {
  callFields,
  callFrames,
  flags,
  frame,
  framesIn,
  literal,
  preface,
  reset,
  settings,
  streamOf,
  types,
  windowUpdate,
} from '../../support/grpc/frames.ts';
import { openRaw } from '../../support/http/raw-client.ts';
import { pick, type Random } from '../../support/otlp/plain/mutations.ts';
import { mutatedBytes, randomBytes } from '../bytes.ts';
import type { Target } from '../target.ts';

let opened: Promise<Door> | undefined;
/** What the line got of the case, the newest last. */
const bodies: Buffer[] = [];

/** The one receiver of all cases. */
const openedDoor = (): Promise<Door> => {
  opened ??= openDoor({
    isForgetful: true,
    answer: async ({ body }) => {
      bodies.push(body);
      return { status: 200, contentType: '', headers: {}, body: '' };
    },
  });
  return opened;
};

const expectNoDefect = ({ defects }: Door): void => assert.deepStrictEqual(defects, []);

// The first bytes of a case select the fields of its call, and how many bytes each DATA has; the others are its bytes.
const encodings = [undefined, 'identity', 'gzip', 'deflate', 'zstd', 'GZIP', 'snappy', 'gzip, gzip'] as const;
const timeouts = [undefined, '30S', '1H', '99999999S', '', '1', '-1S', '100000000S', '30 S'] as const;
const chunks = [100_000, 1, 3, 5, 7, 64, 1000, 16_384] as const;
const headBytes = 3;

type Call = {
  readonly encoding: string | undefined;
  readonly timeout: string | undefined;
  readonly chunk: number;
  readonly bytes: Buffer;
};

const callOf = (bytes: Buffer): Call => ({
  encoding: encodings[(bytes[0] ?? 0) % encodings.length],
  timeout: timeouts[(bytes[1] ?? 0) % timeouts.length],
  chunk: chunks[(bytes[2] ?? 0) % chunks.length] ?? 1,
  bytes: bytes.subarray(headBytes),
});

const send = async ({ address }: Door, { encoding, timeout, chunk, bytes }: Call): Promise<CallEnd> => {
  const client = await connectGrpc(address);
  const stream = client.open(otlpSignals.traces.exportPath, {
    ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
    ...(timeout === undefined ? {} : { 'grpc-timeout': timeout }),
  });
  const ended = endOf(stream);
  // At most 500 DATA frames: a case is not about their number.
  const size = Math.max(chunk, Math.ceil(bytes.length / 500));
  for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
  stream.end();
  const end = await ended;
  client.close();
  return end;
};

const inOneGo = { gzip: gunzipSync, deflate: inflateSync, zstd: zstdDecompressSync };

const isInflater = (name: string): name is keyof typeof inOneGo => Object.hasOwn(inOneGo, name);

type Expected = { readonly code: number; readonly body?: Buffer };

const invalid: Expected = { code: codes.invalidArgument };

/** What a compressed message is answered by its content. */
const inflated = (message: Buffer, encoding: string): Expected => {
  if (!isInflater(encoding)) return { code: codes.unimplemented };
  if (message.length === 0) return invalid;
  try {
    return { code: codes.ok, body: inOneGo[encoding](message, { maxOutputLength: 4 * messageBytesMax }) };
  } catch {
    return invalid;
  }
};

/** The specification once more (gRPC over HTTP/2, "Length-Prefixed-Message"), in a few lines. */
const expectedOf = ({ encoding, timeout, bytes }: Call): readonly Expected[] => {
  if (timeout !== undefined && !/^\d{1,8}[HMSmun]$/.test(timeout)) return [invalid];
  if (bytes.length < prefixBytes) return [invalid];
  const [kind, length] = [bytes.readUInt8(0), bytes.readUInt32BE(1)];
  const message = bytes.subarray(prefixBytes);
  if (kind > 1) return [invalid];
  const isMarked = kind === 1;
  if (isMarked && (encoding === undefined || encoding === 'identity')) return [invalid];
  const ofContent: Expected = isMarked
    ? inflated(message.subarray(0, length), (encoding ?? '').toLowerCase())
    : { code: codes.ok, body: message };
  if (message.length === length && length <= messageBytesMax) return [ofContent];
  // Two reasons: either is right.
  return ofContent.code === codes.unimplemented ? [invalid, ofContent] : [invalid];
};

const contents = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.integer({ min: 0, max: messageBytesMax + 10 }).map((size) => Buffer.alloc(size, 'abc')),
);

const anyCall = fc
  .tuple(
    contents,
    fc.constantFrom('identity', 'gzip', 'deflate', 'zstd'),
    fc.constantFrom(0, 0, 0, 1, 2),
    fc.nat(255),
  )
  .map(([content, encoding, timeout, chunk]) => {
    const packed = {
      identity: () => content,
      gzip: () => gzipSync(content),
      deflate: () => deflateSync(content),
      zstd: () => zstdCompressSync(content),
    }[encoding]();
    const framed = frameOf(packed);
    framed[0] = encoding === 'identity' ? 0 : 1;
    return Buffer.concat([Buffer.of(encodings.indexOf(encoding), timeout, chunk), framed]);
  });

/** Calls of any fields and any bytes: prefixes, flags, compressions, times. */
export const grpcCallsTarget: Target = {
  name: 'grpc-calls',
  corpus: (seed) => fc.sample(anyCall, { seed, numRuns: 60 }),
  mutate: (random, valid, other) => {
    const head = Buffer.from(valid.subarray(0, headBytes));
    if (random(4) === 0) head[random(headBytes)] = random(256);
    const framed = Buffer.from(valid.subarray(headBytes));
    const changed = pick(random, [
      () => framed,
      () => mutatedBytes(random, framed, other.subarray(headBytes)),
      () => {
        // Half of all mutations would otherwise be far behind the prefix.
        framed[random(prefixBytes)] = pick(random, [0, 1, 2, 0x80, 0xff]);
        return framed;
      },
      () => Buffer.concat([framed, other.subarray(headBytes)]),
    ])();
    return Buffer.concat([head, changed]);
  },
  check: async (bytes) => {
    const door = await openedDoor();
    const call = callOf(bytes);
    bodies.length = 0;
    const { code = -1 } = await send(door, call);
    const expected = expectedOf(call);
    const found = expected.find((each) => each.code === code);
    assert.ok(
      found !== undefined,
      `answered ${code}, expected ${expected.map((each) => each.code).join(' or ')}`,
    );
    if (found.body === undefined) assert.equal(bodies.length, 0, 'a refused call reached the line');
    else assert.deepStrictEqual(bodies, [found.body], 'the line got other bytes');
    expectNoDefect(door);
    return String(code);
  },
};

const anyFrame = fc.oneof(
  fc.nat(5).map((index) => callFrames(streamOf(index))),
  fc.nat(5).map((index) => frame(types.headers, flags.endHeaders, streamOf(index), callFields())),
  fc.nat(5).map((index) => frame(types.data, flags.endStream, streamOf(index), Buffer.alloc(5))),
  fc.nat(5).map((index) => reset(streamOf(index))),
  fc.tuple(fc.nat(6), fc.nat(2 ** 31)).map(([id, value]) => settings([id, value])),
  fc.tuple(fc.nat(5), fc.nat(2 ** 31 - 1)).map(([stream, increment]) => windowUpdate(stream, increment)),
  fc.constant(frame(types.ping, 0, 0, Buffer.alloc(8))),
  fc.constant(frame(types.goaway, 0, 0, Buffer.alloc(8))),
  fc.constant(frame(types.continuation, flags.endHeaders, 1, literal('x', 'y'))),
);

const anyFrames = fc.array(anyFrame, { minLength: 1, maxLength: 12 }).map((frames) => Buffer.concat(frames));

/** The bytes with one field of the head of one frame changed. */
const withOtherFrame = (random: Random, bytes: Buffer): Buffer => {
  const frames = framesIn(bytes.toString('latin1'));
  const at = random(Math.max(1, frames.length));
  return Buffer.concat(
    frames.map(({ type, bits, stream, payload }, index) => {
      if (index !== at) return frame(type, bits, stream, payload);
      return pick(random, [
        () => frame(random(12), bits, stream, payload),
        () => frame(type, random(256), stream, payload),
        () => frame(type, bits, random(8), payload),
        () => frame(type, bits, stream, randomBytes(random, random(40))),
        () => Buffer.alloc(0),
      ])();
    }),
  );
};

/** Connections of any frames of HTTP/2. A wrong result is a defect, or a receiver that serves nobody else. */
export const grpcFramesTarget: Target = {
  name: 'grpc-frames',
  corpus: (seed) => fc.sample(anyFrames, { seed, numRuns: 60 }),
  mutate: (random, valid, other) =>
    random(3) === 0 ? mutatedBytes(random, valid, other) : withOtherFrame(random, valid),
  check: async (bytes) => {
    const door = await openedDoor();
    const raw = await openRaw(door.port);
    raw.send(Buffer.concat([preface, settings(), bytes]));
    // Its SETTINGS: it has read what came with the preface.
    await Promise.race([raw.until('\x04'), raw.ended]);
    const { code } = await send(door, {
      encoding: undefined,
      timeout: undefined,
      chunk: 100,
      bytes: Buffer.alloc(5),
    });
    assert.equal(code, codes.ok, 'another call is not served');
    raw.destroy();
    expectNoDefect(door);
    return framesIn(raw.text).some(({ type }) => type === types.goaway) ? 'goaway' : 'served';
  },
};

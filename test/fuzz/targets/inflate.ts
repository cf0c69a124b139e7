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
import { z } from 'zod';
import { type CompressedEncoding, type Inflated, inflate } from '../../../src/ingress/http/inflate.ts';
import { anyText } from '../../support/properties.ts';
import { mutatedBytes } from '../bytes.ts';
import type { Target } from '../target.ts';

const bytesMax = 100_000;

/** The first byte of a case selects the encoding of the rest. */
const encodings = ['gzip', 'deflate', 'zstd'] as const satisfies readonly CompressedEncoding[];

const deflaters = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync };
const inOneGo = { gzip: gunzipSync, deflate: inflateSync, zstd: zstdDecompressSync };

const anyContent = fc.oneof(
  anyText(300).map((text) => Buffer.from(text)),
  fc.integer({ min: 1, max: 3 * bytesMax }).map((size) => Buffer.alloc(size, 'ab')),
  fc.constant(Buffer.alloc(0)),
);

const split = (bytes: Buffer): [CompressedEncoding, Buffer] => [
  encodings[(bytes[0] ?? 0) % encodings.length] ?? 'gzip',
  bytes.subarray(1),
];

const inflated = (bytes: Buffer): Promise<Inflated> => {
  const [encoding, rest] = split(bytes);
  return inflate(
    rest,
    encoding,
    { inflatedBytesMax: bytesMax, inflateRatioMax: 600 },
    { take: () => true, see: () => true },
  );
};

/** What the engine says beside the content: how many bytes belonged to it. */
const readSchema = z.object({ buffer: z.instanceof(Buffer), engine: z.object({ bytesWritten: z.number() }) });

/** What the engine makes of the bytes without a stream. */
const second = (bytes: Buffer): Inflated => {
  const [encoding, rest] = split(bytes);
  try {
    const read: unknown = inOneGo[encoding](rest, { maxOutputLength: bytesMax, info: true });
    const { buffer, engine } = readSchema.parse(read);
    const behind = rest.subarray(engine.bytesWritten);
    const isWhole = behind.length === 0 || (encoding === 'gzip' && behind.every((byte) => byte === 0));
    return isWhole ? buffer : 'corrupt';
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    return isTooLarge ? 'too_large' : 'corrupt';
  }
};

/** Content that is gzip, deflate or zstd. */
export const inflateTarget: Target = {
  name: 'inflate',
  corpus: (seed) =>
    fc
      .sample(fc.tuple(anyContent, fc.nat(encodings.length - 1)), { seed, numRuns: 60 })
      .map(([content, number]) =>
        Buffer.concat([Buffer.of(number), deflaters[encodings[number] ?? 'gzip'](content)]),
      ),
  mutate: (random, valid, other) => {
    const changed = mutatedBytes(random, valid.subarray(1), other.subarray(1));
    return Buffer.concat([valid.subarray(0, 1), changed]);
  },
  check: async (bytes) => {
    const result = await inflated(bytes);
    const expected = second(bytes);
    // A bomb may be corrupt behind the limit, where only one of the two looks.
    const isBomb = [result, expected].includes('too_large');
    if (!isBomb) assert.deepStrictEqual(result, expected);
    if (typeof result === 'string') return result;
    assert.ok(result.length <= bytesMax);
    return 'read';
  },
  checkCut: async (cut, whole) => {
    const [, content] = split(whole);
    if (cut.length <= 1 || content.length === 0) return;
    const result = await inflated(cut);
    assert.ok(typeof result === 'string', 'what was cut short is taken for whole');
  },
};

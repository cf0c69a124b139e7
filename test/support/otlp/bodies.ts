import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Encoding, encode } from './client.ts';
import { requestOf, spanAt } from './trace-cases.ts';

/** How bodies of the matrix are encoded on the wire. */
export const contentEncodings = [
  'identity',
  'gzip',
  'deflate',
  'zstd',
  'unknown',
  'corrupt gzip',
  'corrupt deflate',
  'corrupt zstd',
  'truncated gzip',
  'truncated deflate',
  'truncated zstd',
] as const;
export type ContentEncoding = (typeof contentEncodings)[number];

/** What bodies of the matrix hold. */
export const contents = ['good', 'partly bad', 'all bad', 'empty', 'oversize', 'bomb'] as const;
export type Content = (typeof contents)[number];

const mebi = 2 ** 20;

/** Limits of the receiver under which the matrix is sent. */
export const matrixLimits = { bodyBytesMax: 2 * mebi, inflatedBytesMax: 4 * mebi } as const;

/** Zeros that compress to about a thousandth, 16 MiB each time: a deflate block that refers to nothing before it. */
const deflatedZeros = deflateRawSync(Buffer.alloc(16 * mebi), { finishFlush: constants.Z_FULL_FLUSH });
const gibibyte = Buffer.concat(Array.from({ length: 64 }, () => deflatedZeros));

/** A block of zstd that stands for 128 KiB of one byte. */
const zstdRun = Buffer.from([0x02, 0x00, 0x10, 0x00]);

/** A megabyte each that inflates to a gibibyte (gzip, deflate: they cannot do more) or to 32 (zstd). */
const bombs = {
  gzip: Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), gibibyte]),
  deflate: Buffer.concat([Buffer.from([0x78, 0x9c]), gibibyte]),
  zstd: Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]),
    ...Array.from({ length: 2 ** 18 }, () => zstdRun),
    Buffer.from([0x01, 0x00, 0x00]),
  ]),
} as const;

const compressors = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync } as const;

// Random, so that no compression brings it below the limit.
const oversize = randomBytes(matrixLimits.bodyBytesMax + mebi / 2);

const noId = { traceId: '0'.repeat(32) };

/** The body before it is compressed; `number` is in the names of its spans. */
const plainBody = (content: Content, encoding: Encoding, start: bigint, number: number): Buffer => {
  switch (content) {
    case 'good':
      return encode(encoding, requestOf([spanAt(start, number)]));
    case 'partly bad':
      return encode(encoding, requestOf([spanAt(start, number), spanAt(start, number, noId)]));
    case 'all bad':
      return encode(encoding, requestOf([spanAt(start, number, noId), spanAt(start, number, noId)]));
    case 'empty':
      return Buffer.alloc(0);
    default:
      return oversize;
  }
};

const compressed = (how: ContentEncoding, content: Content, plain: Buffer): Buffer => {
  const name = (['gzip', 'deflate', 'zstd'] as const).find((each) => how.endsWith(each));
  if (name === undefined) return plain;
  const whole = content === 'bomb' ? bombs[name] : compressors[name](plain);
  if (how.startsWith('corrupt')) return Buffer.concat([Buffer.from([0x00]), whole.subarray(1)]);
  if (how.startsWith('truncated')) return whole.subarray(0, -Math.min(10, Math.ceil(whole.length / 2)));
  return whole;
};

/** The bytes on the wire and the Content-Encoding that goes with them. */
export const matrixBody = (
  how: ContentEncoding,
  content: Content,
  encoding: Encoding,
  start: bigint,
  number: number,
): { readonly body: Buffer; readonly contentEncoding: string } => ({
  body: compressed(how, content, plainBody(content, encoding, start, number)),
  contentEncoding: how === 'unknown' ? 'br' : (how.split(' ').at(-1) ?? 'identity'),
});

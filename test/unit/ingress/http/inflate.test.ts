import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type CompressedEncoding, type Inflated, inflate } from '../../../../src/ingress/http/inflate.ts';
import { type Packing, pack } from '../../../fuzz/cost/packing.ts';
import { render } from '../../../fuzz/cost/render.ts';

const mebi = 2 ** 20;
const limits = { inflatedBytesMax: 32 * mebi, inflateRatioMax: 600 };
const all = { take: () => true, see: () => true };

const inflated = (content: Buffer, packing: Packing & { as: CompressedEncoding }): Promise<Inflated> =>
  inflate(pack(content, packing), packing.as, limits, all);

describe('a body that its packing makes longer', () => {
  const letters = render({ noise: 'a-z' }, 0.6 * mebi);

  it.each([
    { what: 'tables of codes for ten bytes each', as: 'gzip', blocks: 'dynamic', blockBytes: 10 },
    { what: 'members of ten bytes', as: 'gzip', memberBytes: 10 },
    { what: 'frames of ten bytes', as: 'zstd', memberBytes: 10 },
  ] as const)('is refused before all of it was read: $what', async ({ what: _, ...packing }) => {
    expect(await inflated(letters, packing)).toBe('corrupt');
  });
});

describe('a body of gzip in many members', () => {
  const repeated = Buffer.from('point '.repeat(1_000_000));

  it('is refused where they are shorter than 1 KiB each, though they come to more than they are', async () => {
    const packing = { as: 'gzip', memberBytes: 67 } as const;
    expect(await inflated(repeated, packing)).toBe('corrupt');
  });

  it.each([
    { what: 'of 32 KiB each', content: randomBytes(4 * mebi), memberBytes: 32 * 1024 },
    {
      what: 'that are short, in a body of less than 1 MiB',
      content: repeated.subarray(0, 600_000),
      memberBytes: 300,
    },
  ])('is whole: $what', async ({ content, memberBytes }) => {
    const result = await inflated(content, { as: 'gzip', memberBytes });
    expect(Buffer.isBuffer(result) && result.equals(content)).toBe(true);
  });
});

describe('a body that nothing makes shorter', () => {
  const content = randomBytes(5 * mebi);

  it.each([
    { as: 'gzip' },
    { as: 'deflate', level: 9 },
    { as: 'zstd' },
    { as: 'zstd', level: 12, checksum: true },
    { as: 'zstd', memberBytes: 64 * 1024 },
  ] as const)('is whole: %o', async (packing) => {
    const result = await inflated(content, packing);
    expect(Buffer.isBuffer(result) && result.equals(content)).toBe(true);
  });
});

// Bytes that complete it would be stored as content that nobody sent.
describe('a body of zstd that lacks its end', () => {
  // A frame without a checksum whose one block is raw.
  const whole = zstdCompressSync(Buffer.from(Array.from({ length: 64 }, (_, at) => (at * 151) % 256)));

  it('is refused, however many bytes are missing', async () => {
    const cuts = Array.from({ length: whole.length }, (_, kept) => whole.subarray(0, kept));
    const results = await Promise.all(cuts.map((cut) => inflate(cut, 'zstd', limits, all)));
    expect(results).toEqual(cuts.map(() => 'corrupt'));
  });
});

describe('bytes behind a compressed stream', () => {
  const [first, second] = [Buffer.from('first '.repeat(50)), Buffer.from('second '.repeat(50))];
  const zeros = Buffer.alloc(16);
  const garbage = Buffer.from('behind');
  const cut = (bytes: Buffer): Buffer => bytes.subarray(0, -6);
  const ofTwo = (as: CompressedEncoding, packed: (content: Buffer) => Buffer) => ({
    as,
    whole: packed(first),
    other: packed(second),
  });
  const gzip = ofTwo('gzip', gzipSync);
  const deflate = ofTwo('deflate', deflateSync);
  const zstd = ofTwo('zstd', zstdCompressSync);
  const result = (as: CompressedEncoding, bytes: Buffer[]): Promise<Inflated> =>
    inflate(Buffer.concat(bytes), as, limits, all);

  it.each([
    ['deflate', 'a second stream', deflate, [deflate.other]],
    ['deflate', 'zeros', deflate, [zeros]],
    ['deflate', 'garbage', deflate, [garbage]],
    ['zstd', 'zeros', zstd, [zeros]],
    ['zstd', 'garbage', zstd, [garbage]],
    ['zstd', 'zeros and a frame', zstd, [zeros, zstd.other]],
    ['zstd', 'half a frame', zstd, [cut(zstd.other)]],
    ['gzip', 'garbage', gzip, [garbage]],
    ['gzip', 'zeros and a member', gzip, [zeros, gzip.other]],
    ['gzip', 'half a member', gzip, [cut(gzip.other)]],
  ] as const)('are never left out without a word: %s, %s', async (_as, _what, { as, whole }, behind) => {
    expect(await result(as, [whole, ...behind])).toBe('corrupt');
  });

  it.each([
    ['two members of gzip', gzip, [gzip.other], [first, second]],
    ['two frames of zstd', zstd, [zstd.other], [first, second]],
    ['gzip that is filled up with zeros', gzip, [zeros], [first]],
  ] as const)(
    'are content, or the zeros that gzip allows: %s',
    async (_what, { as, whole }, behind, content) => {
      expect(await result(as, [whole, ...behind])).toEqual(Buffer.concat([...content]));
    },
  );

  it.each([
    ['deflate', deflateSync],
    ['gzip', gzipSync],
  ] as const)('are found where the stream ends with a slice: %s', async (as, packed) => {
    const noise = randomBytes(mebi);
    // The body is as long as the noise and the frame of its stored blocks.
    const stored = (less: number): Buffer => packed(noise.subarray(less), { level: 0 });
    const surplus = stored(0).length - mebi;
    const streams = Array.from({ length: 12 }, (_, less) => stored(surplus - less));
    const stream = streams.find(({ length }) => length === mebi);
    if (stream === undefined) throw new Error(`no content makes ${mebi} bytes`);
    expect(await result(as, [stream, zeros, stream])).toBe('corrupt');
  });
});

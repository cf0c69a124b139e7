import { randomBytes } from 'node:crypto';
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

import { constants, crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import { z } from 'zod';
import { deflateBlocks } from './deflate-blocks.ts';
import { TooLarge } from './render.ts';

const upTo = (most: number) => z.number().int().nonnegative().max(most);

/** How a body is packed for its way. */
export const packingSchema = z.discriminatedUnion('as', [
  z.strictObject({ as: z.literal('identity') }),
  z.strictObject({
    as: z.enum(['gzip', 'deflate']),
    level: upTo(9).optional(),
    /** zlib's: 2 Huffman alone, 3 repetitions of one byte, 4 the fixed code. */
    strategy: upTo(4).optional(),
    /** Content of one member, bytes; all of it in one when left out. Of gzip alone. */
    memberBytes: upTo(2 ** 26).optional(),
    /** Members without content behind each. */
    emptyMembers: upTo(1000).optional(),
    /** Blocks that no compressor writes, of this many bytes. */
    blocks: z.enum(['stored', 'fixed', 'dynamic']).optional(),
    blockBytes: upTo(65_535).optional(),
    emptyBlocks: upTo(1000).optional(),
  }),
  z.strictObject({
    as: z.literal('zstd'),
    level: z.number().int().min(-50).max(12).optional(),
    /** Content of one frame, bytes; all of it in one when left out. */
    memberBytes: upTo(2 ** 26).optional(),
    /** Frames without content behind each. */
    emptyMembers: upTo(1000).optional(),
    /** Frames to skip behind each, of this many bytes. */
    skippable: upTo(100_000).optional(),
    checksum: z.boolean().optional(),
  }),
]);

export type Packing = z.infer<typeof packingSchema>;
type Deflated = Extract<Packing, { as: 'gzip' | 'deflate' }>;
type Zstd = Extract<Packing, { as: 'zstd' }>;

/** Members and frames of a body: what more of them cost a byte shows with fewer. */
const slicesMax = 300_000;

const slicesOf = (content: Buffer, size: number | undefined): Buffer[] => {
  if (size === undefined || size === 0 || size >= content.length) return [content];
  if (content.length / size > slicesMax) throw new TooLarge();
  const slices: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) slices.push(content.subarray(at, at + size));
  return slices;
};

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

const adler32 = (content: Uint8Array): Buffer => {
  let low = 1;
  let high = 0;
  for (const byte of content) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(((high << 16) | low) >>> 0);
  return bytes;
};

const raw = (content: Buffer, { level, strategy, blocks, blockBytes, emptyBlocks }: Deflated): Buffer =>
  blocks === undefined
    ? deflateRawSync(content, {
        level: level ?? constants.Z_DEFAULT_COMPRESSION,
        strategy: strategy ?? constants.Z_DEFAULT_STRATEGY,
      })
    : deflateBlocks(content, blocks, blockBytes ?? 1024, emptyBlocks ?? 0);

const gzipHead = Buffer.from('1f8b08000000000000ff', 'hex');
const gzipMember = (content: Buffer, packing: Deflated): Buffer =>
  Buffer.concat([gzipHead, raw(content, packing), word(crc32(content)), word(content.length)]);

const gzip = (content: Buffer, packing: Deflated): Buffer => {
  const empty = gzipMember(content.subarray(0, 0), { as: 'gzip' });
  const empties = Buffer.alloc(empty.length * (packing.emptyMembers ?? 0), empty);
  return Buffer.concat(
    slicesOf(content, packing.memberBytes).flatMap((slice) => [gzipMember(slice, packing), empties]),
  );
};

const zstdFrame = (content: Buffer, { level, checksum }: Zstd): Buffer =>
  zstdCompressSync(content, {
    params: {
      [constants.ZSTD_c_compressionLevel]: level ?? 3,
      [constants.ZSTD_c_checksumFlag]: checksum === true ? 1 : 0,
    },
  });

const skippableMagic = 0x184d2a50;

const zstd = (content: Buffer, packing: Zstd): Buffer => {
  const { memberBytes, emptyMembers = 0, skippable } = packing;
  const empty = zstdFrame(content.subarray(0, 0), packing);
  const between = Buffer.concat([
    Buffer.alloc(empty.length * emptyMembers, empty),
    ...(skippable === undefined ? [] : [word(skippableMagic), word(skippable), Buffer.alloc(skippable)]),
  ]);
  return Buffer.concat(
    slicesOf(content, memberBytes).flatMap((slice) => [zstdFrame(slice, packing), between]),
  );
};

/** The bytes on the wire. Throws TooLarge. */
export const pack = (content: Buffer, packing: Packing): Buffer => {
  switch (packing.as) {
    case 'identity':
      return content;
    case 'gzip':
      return gzip(content, packing);
    case 'deflate':
      return Buffer.concat([Buffer.from('789c', 'hex'), raw(content, packing), adler32(content)]);
    case 'zstd':
      return zstd(content, packing);
  }
};

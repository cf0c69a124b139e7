import { createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const chunkSize = 65_536;

const inflaters = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize }),
} as const;

/** The encodings that a receiver inflates. */
export type CompressedEncoding = keyof typeof inflaters;

export type InflateLimits = {
  readonly inflatedBytesMax: number;
  /** Inflated bytes per byte on the wire, for a body that is larger than `freeBytes`. */
  readonly inflateRatioMax: number;
};

/** Callbacks during the inflation of a body. */
export type InflateWatch = {
  /**
   * Reserves room before each piece is kept, so that many small bodies that grow large hold no more than the limit; false: no room
   * is left.
   */
  readonly take: (bytes: number) => boolean;
  /** Receives each piece; false stops the inflation. */
  readonly see: (piece: Buffer) => boolean;
};

/** Inflated bytes, or the reason for none: over a limit, no room, invalid data, or the watcher stopped it. */
export type Inflated = Buffer | 'too_large' | 'ratio' | 'no_room' | 'corrupt' | 'unwanted';

/** Bodies up to this size may have any ratio: their size bounds their cost. */
export const freeBytes = 8 * 2 ** 20;

/**
 * A body goes to its inflater in slices, and the output has to be about as long as the input at least: no compressor makes a body
 * longer, and frames, members and tables of codes that carry a few bytes each cost many times as much as those bytes.
 */
const sliceBytes = 2 ** 20;
const contentShareMin = 0.9;
/** The largest part of its input that an inflater may hold back: two of the largest blocks of zstd. */
const heldBackBytesMax = 2 * 128 * 1024;

/** The first bytes of a gzip member. Compressed bytes hold them by chance once in 16 MiB. */
const memberMark = Buffer.from([0x1f, 0x8b, 0x08]);
/** Each member costs as much as a KiB of content. Programs that append members write longer ones, or few. */
const membersFree = 1_024;
const bytesPerMember = 1_024;

/** Whether a gzip body has more members than its size allows. Small bodies may: their size bounds the cost. */
const hasTooManyMembers = (bytes: Buffer): boolean => {
  if (bytes.length <= sliceBytes) return false;
  const membersMax = membersFree + bytes.length / bytesPerMember;
  let members = 0;
  for (let at = bytes.indexOf(memberMark); at >= 0; at = bytes.indexOf(memberMark, at + memberMark.length)) {
    if (++members > membersMax) return true;
  }
  return false;
};

/**
 * Whether bytes behind the end of the stream were not read: an inflater leaves them without a word, also a whole stream among them.
 * Zeros that fill up gzip are no content.
 */
const hasUnread = (bytes: Buffer, encoding: CompressedEncoding, read: number): boolean =>
  read < bytes.length && (encoding !== 'gzip' || bytes.subarray(read).some((byte) => byte !== 0));

/** Inflates a body. Room that was reserved stays reserved, for every result. */
export const inflate = (
  bytes: Buffer,
  encoding: CompressedEncoding,
  { inflatedBytesMax, inflateRatioMax }: InflateLimits,
  { take, see }: InflateWatch,
): Promise<Inflated> =>
  new Promise((resolve) => {
    if (encoding === 'gzip' && hasTooManyMembers(bytes)) return resolve('corrupt');
    const stream = inflaters[encoding]();
    const chunks: Buffer[] = [];
    const sizeMax = Math.max(freeBytes, inflateRatioMax * bytes.length);
    let size = 0;
    const fail = (why: Exclude<Inflated, Buffer>): void => {
      stream.destroy();
      chunks.length = 0;
      resolve(why);
    };
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > inflatedBytesMax) fail('too_large');
      else if (size > sizeMax) fail('ratio');
      else if (!take(chunk.length)) fail('no_room');
      else if (see(chunk)) chunks.push(chunk);
      else fail('unwanted');
    });
    stream.once('end', () => {
      if (hasUnread(bytes, encoding, stream.bytesWritten)) return fail('corrupt');
      const only = chunks[0];
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
    });
    stream.on('error', () => fail('corrupt'));
    const write = (from: number): void => {
      if (size < from * contentShareMin - heldBackBytesMax) return fail('corrupt');
      const to = from + sliceBytes;
      if (to >= bytes.length) stream.end(bytes.subarray(from));
      else stream.write(bytes.subarray(from, to), (error) => error == null && write(to));
    };
    write(0);
  });

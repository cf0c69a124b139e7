import { createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const chunkSize = 65_536;

const inflaters = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize }),
} as const;

/** The encodings that have to be undone. */
export type CompressedEncoding = keyof typeof inflaters;

export type InflateLimits = {
  readonly inflatedBytesMax: number;
  /** Inflated bytes for each on the wire, of a body that is larger than `freeBytes`. */
  readonly inflateRatioMax: number;
};

/** What is asked while a body is inflated. */
export type InflateWatch = {
  /** Asked for room before each piece is kept, so that many small bodies that grow large hold no more than there is room for. */
  readonly take: (bytes: number) => boolean;
  /** Shown each piece; false: no more is wanted. */
  readonly see: (piece: Buffer) => boolean;
};

/** Inflated bytes, or why there are none: over a limit, no room, no such data, or nobody wanted more. */
export type Inflated = Buffer | 'too_large' | 'ratio' | 'no_room' | 'corrupt' | 'unwanted';

/** Bodies up to here may have any ratio: what they cost is bounded by their size. */
export const freeBytes = 8 * 2 ** 20;

/**
 * A body is given to its inflater in slices, and has to come to about as much as it is itself: no compressor makes a body longer, and frames,
 * members and tables of codes that are sent for a few bytes each cost many times as much as those bytes.
 */
const sliceBytes = 2 ** 20;
const contentShareMin = 0.9;
/** Of what an inflater was given it may hold back as much: two of the largest blocks of zstd. */
const heldBackBytesMax = 2 * 128 * 1024;

/** How a member of gzip begins. Compressed bytes hold this by chance once in 16 MiB. */
const memberMark = Buffer.from([0x1f, 0x8b, 0x08]);
/** Each member costs as much as a KiB of content. Programs that append members write longer ones, or few. */
const membersFree = 1_024;
const bytesPerMember = 1_024;

/** Whether a body of gzip is of more members than its size allows. Small bodies may be: their size bounds the cost. */
const hasTooManyMembers = (bytes: Buffer): boolean => {
  if (bytes.length <= sliceBytes) return false;
  const membersMax = membersFree + bytes.length / bytesPerMember;
  let members = 0;
  for (let at = bytes.indexOf(memberMark); at >= 0; at = bytes.indexOf(memberMark, at + memberMark.length)) {
    if (++members > membersMax) return true;
  }
  return false;
};

/** Inflates a body. What was taken stays taken, whatever the answer. */
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

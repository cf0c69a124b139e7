import { createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const chunkSize = 65_536;

const inflaters = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize }),
} as const;

/** The encodings that have to be undone. */
export type CompressedEncoding = keyof typeof inflaters;

/** Inflated bytes, or why there are none: over the limit, no room, or no such data. */
export type Inflated = Buffer | 'too_large' | 'no_room' | 'corrupt';

/**
 * Inflates a body of at most `bytesMax`. `take` is asked for room before each piece is kept, so that many small bodies that grow
 * large hold no more than there is room for; what was taken stays taken, whatever the answer.
 */
export const inflate = (
  bytes: Buffer,
  encoding: CompressedEncoding,
  bytesMax: number,
  take: (bytes: number) => boolean,
): Promise<Inflated> =>
  new Promise((resolve) => {
    const stream = inflaters[encoding]();
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (why: 'too_large' | 'no_room' | 'corrupt'): void => {
      stream.destroy();
      chunks.length = 0;
      resolve(why);
    };
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) fail('too_large');
      else if (take(chunk.length)) chunks.push(chunk);
      else fail('no_room');
    });
    stream.once('end', () => {
      const only = chunks[0];
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
    });
    stream.on('error', () => fail('corrupt'));
    stream.end(bytes);
  });

/**
 * Buffers of outgoing messages, for reuse once their bytes are no longer needed: frequent changes of memory outside the heap make
 * the engine mark its whole heap.
 */
export type BufferPool = {
  /** A buffer of exactly this length with arbitrary content. */
  take(size: number): Buffer;
  /** Takes a buffer of `take` back. No code may read it or write into it afterwards. */
  give(buffer: Buffer): void;
};

/** Smaller buffers come from the runtime's own slabs; larger ones are rare and released. */
const sizeMin = 4 * 1024;
const sizeMax = 512 * 1024;
const step = 16 * 1024;

/** The largest number of unused bytes that it keeps. */
export const createBufferPool = (freeBytesMax: number): BufferPool => {
  /** By size in steps. */
  const free: ArrayBufferLike[][] = [];
  let freeBytes = 0;
  return {
    take: (size) => {
      if (size < sizeMin || size > sizeMax) return Buffer.allocUnsafe(size);
      const steps = Math.ceil(size / step);
      const known = free[steps]?.pop();
      if (known !== undefined) freeBytes -= known.byteLength;
      return Buffer.from(known ?? Buffer.allocUnsafeSlow(steps * step).buffer, 0, size);
    },
    give: ({ buffer, length }) => {
      if (length < sizeMin || length > sizeMax || freeBytes + buffer.byteLength > freeBytesMax) return;
      const steps = Math.ceil(length / step);
      free[steps] ??= [];
      free[steps].push(buffer);
      freeBytes += buffer.byteLength;
    },
  };
};

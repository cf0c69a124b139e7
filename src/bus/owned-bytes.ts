/** Buffers of one message each, which end with it. */
const owned = new WeakSet<ArrayBufferLike>();

/** Smaller messages share the buffer of the read that brought them: a buffer of their own would cost more than it frees. */
const ownBytesMin = 8 * 1024;

/** A buffer of this size for the bytes of one message. */
export const ownBuffer = (size: number): ArrayBuffer => {
  const buffer = new ArrayBuffer(size);
  owned.add(buffer);
  return buffer;
};

/**
 * The same bytes in a buffer that ends with them. A view of what a read has brought would keep all of it for as long as the message
 * waits.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array => {
  if (bytes.length < ownBytesMin || owned.has(bytes.buffer)) return bytes;
  const copy = new Uint8Array(ownBuffer(bytes.length));
  copy.set(bytes);
  return copy;
};

/**
 * Frees a buffer now and not with the next garbage collection, which comes when hundreds of MiB wait for it. No code may read it
 * afterwards: all its views are empty then.
 */
export const freeBuffer = (buffer: ArrayBufferLike): void => {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
};

/** Frees the buffer of bytes of `ownBytes` (see `freeBuffer`); leaves shared ones alone. */
export const freeOwnBytes = ({ buffer }: Uint8Array): void => {
  if (owned.has(buffer)) freeBuffer(buffer);
};

// What is promised of bodies within the limits.

const mebibyte = 2 ** 20;

/** Nanoseconds of CPU that a body of this many bytes may cost before its sender has a valid credential. */
export const whoseNanosMax = (bytes: number): number => 20e6 + (5e6 * bytes) / mebibyte;

/** Nanoseconds of CPU for which a body that is read on the event loop may hold it. */
export const holdNanosMax = 300e6;

/** Bodies that are read on the event loop; in a split table they are smaller (src/ingress/push/encode-anywhere.ts). */
export const loopBytesMax = { wide: 512 * 1024, narrow: 128 * 1024 } as const;

/** A body is admitted with room for this many times its length, and for twice what it came to (src/ingress/push/handler.ts). */
export const reservedOf = (bodyBytes: number, encodedBytes: number): number =>
  Math.max(3 * bodyBytes, 2 * encodedBytes);

/** The share of each request for any content, and the memory that its heap shares with others. */
export const freeHeldBytes = mebibyte;

/** A process without work (its code, its heap, its pool of threads), and the heap of the one thread that reads large bodies. */
const idleBytes = 128 * mebibyte;
const threadBytes = 272 * mebibyte;
/** What a pod of ingress may hold (deploy/kubernetes/base/ingress.yaml). */
const podBytesMax = 1024 * mebibyte;

/** Bytes that a process may hold while it takes a body that has reserved this many of the bytes in flight. */
export const memoryBytesMax = (reservedBytes: number): number =>
  Math.min(podBytesMax, idleBytes + threadBytes + reservedBytes);

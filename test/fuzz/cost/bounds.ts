// What is promised of bodies within the limits.

const mebibyte = 2 ** 20;

/** Nanoseconds of CPU that a body of so many bytes may cost before its sender has shown a credential. */
export const whoseNanosMax = (bytes: number): number => 20e6 + (5e6 * bytes) / mebibyte;

/** Nanoseconds of CPU for which a body that is read on the event loop may hold it. */
export const holdNanosMax = 300e6;

/** Bodies that are read on the event loop; in a split table they are smaller (src/ingress/push/encode-anywhere.ts). */
export const loopBytesMax = { wide: 512 * 1024, narrow: 128 * 1024 } as const;

/** What a pod of ingress may hold (deploy/kubernetes/base/ingress.yaml). */
export const podBytesMax = 2 ** 30;

/** Longer copies go through the engine's own, whose fixed cost is then the smaller part. */
const shortMax = 48;

/** Copies [start, end) of `source` to `at`; the caller has made room. */
export const copyShort = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): void => {
  if (end - start > shortMax) {
    target.set(source.subarray(start, end), at);
    return;
  }
  let to = at;
  for (let from = start; from < end; from++, to++) target[to] = source[from] ?? 0;
};

/** A buffer at least twice as large, with room for `extra` bytes beyond the first `length`, which are kept. */
export const grow = (bytes: Uint8Array, length: number, extra: number): Buffer<ArrayBuffer> => {
  const larger = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, length + extra));
  larger.set(bytes.subarray(0, length));
  return larger;
};

/** Writes a count below 2³² as a varint of at most five bytes; answers where it ends. */
export const writeVarint = (target: Uint8Array, at: number, value: number): number => {
  let rest = value;
  let to = at;
  while (rest >= 0x80) {
    target[to++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[to++] = rest;
  return to;
};

/** Bytes that `writeVarint` takes. */
export const varintSize = (value: number): number => {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) size++;
  return size;
};

/** Writes a count as 64 bits, little endian; answers where it ends. */
export const writeCount = (target: Uint8Array, at: number, value: number): number => {
  let rest = value;
  for (let index = 0; index < 8; index++) {
    target[at + index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + 8;
};

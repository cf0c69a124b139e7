/** Bytes with the view that reads them four at a time: a loop over single bytes costs three times as much. */
export class ByteSource {
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

/** The end of a text cut to at most `bytesMax` bytes, never within a character. */
export const cutEnd = (bytes: Uint8Array, start: number, bytesMax: number): number => {
  let end = start + bytesMax;
  for (let back = 0; back < 4 && end > start && ((bytes[end] ?? 0) & 0xc0) === 0x80; back++) end--;
  return end;
};

/** The end of a text of at most `bytesMax` bytes. */
export const limitedEnd = (bytes: Uint8Array, bytesMax: number): number =>
  bytes.length <= bytesMax ? bytes.length : cutEnd(bytes, 0, bytesMax);

export const sourceOf = (text: string): ByteSource => new ByteSource(Buffer.from(text));

/** Longer copies go through the engine's own, whose fixed cost is then the smaller part. */
const shortMax = 256;

/** A mask with the bit of each byte that is not ASCII. */
export const notAscii = 0x80808080;

/**
 * Copies `size` bytes to `at`; the caller has made room. Returns the OR of the words copied; for a long copy
 * `notAscii`.
 */
export const copyBytes = (
  source: ByteSource,
  start: number,
  size: number,
  target: ByteSource,
  at: number,
): number => {
  if (size > shortMax) {
    target.bytes.set(source.bytes.subarray(start, start + size), at);
    return notAscii;
  }
  let any = 0;
  if (size < 4) {
    for (let index = 0; index < size; index++) {
      const byte = source.bytes[start + index] ?? 0;
      any |= byte;
      target.bytes[at + index] = byte;
    }
    return any;
  }
  const last = size - 4;
  for (let index = 0; index < last; index += 4) {
    const word = source.view.getInt32(start + index, true);
    any |= word;
    target.view.setInt32(at + index, word, true);
  }
  const word = source.view.getInt32(start + last, true);
  target.view.setInt32(at + last, word, true);
  return any | word;
};

/** Whether `size` bytes are equal in both. */
export const isSame = (
  one: ByteSource,
  start: number,
  other: ByteSource,
  otherStart: number,
  size: number,
): boolean => {
  if (size < 4) {
    for (let index = 0; index < size; index++)
      if (one.bytes[start + index] !== other.bytes[otherStart + index]) return false;
    return true;
  }
  const last = size - 4;
  for (let index = 0; index < last; index += 4) {
    if (one.view.getInt32(start + index, true) !== other.view.getInt32(otherStart + index, true))
      return false;
  }
  return one.view.getInt32(start + last, true) === other.view.getInt32(otherStart + last, true);
};

/** A source at least twice as large, with room for `extra` bytes beyond the first `length`, which are kept. */
export const growSource = (source: ByteSource, length: number, extra: number): ByteSource =>
  new ByteSource(grow(source.bytes, length, extra));

/** A buffer at least twice as large, with room for `extra` bytes beyond the first `length`, which are kept. */
export const grow = (bytes: Uint8Array, length: number, extra: number): Buffer<ArrayBuffer> => {
  const larger = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, length + extra));
  larger.set(bytes.subarray(0, length));
  return larger;
};

/** Writes a count below 2³² as a varint of at most five bytes; returns its end. */
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

const writeWord = (target: Uint8Array, at: number, word: number): void => {
  target[at] = word;
  target[at + 1] = word >>> 8;
  target[at + 2] = word >>> 16;
  target[at + 3] = word >>> 24;
};

/** Writes a count as 64 bits, little endian; returns its end. */
export const writeCount = (target: Uint8Array, at: number, value: number): number => {
  writeWord(target, at, value);
  writeWord(target, at + 4, Math.floor(value / 2 ** 32));
  return at + 8;
};

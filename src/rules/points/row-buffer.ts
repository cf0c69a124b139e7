const blank = 0x20;
const comma = 0x2c;
const equals = 0x3d;
const backslash = 0x5c;
const zero = 0x30;

/** Bytes of rows, or of a part of one, one behind the other. It grows as needed and is used again and again. */
export class RowBuffer {
  bytes: Buffer;
  length = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Makes room for this many more bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** Drops what stands before `start`. */
  keepFrom(start: number): void {
    this.bytes.copyWithin(0, start, this.length);
    this.length -= start;
  }

  /** Adds [start, end) of other bytes; there has to be room. */
  add(from: Uint8Array, start: number, end: number): void {
    const { bytes } = this;
    let { length } = this;
    for (let at = start; at < end; at++) bytes[length++] = from[at] ?? 0;
    this.length = length;
  }

  /** The same as a tag value: with a backslash before blank, comma and equals sign. Room for twice as many bytes is needed. */
  addTag(from: Uint8Array, start: number, end: number): void {
    const { bytes } = this;
    let { length } = this;
    for (let at = start; at < end; at++) {
      const byte = from[at] ?? 0;
      if (byte === blank || byte === comma || byte === equals) bytes[length++] = backslash;
      bytes[length++] = byte;
    }
    this.length = length;
  }

  addByte(byte: number): void {
    this.bytes[this.length++] = byte;
  }

  addAscii(text: string): void {
    const { bytes } = this;
    for (let index = 0; index < text.length; index++) bytes[this.length++] = text.charCodeAt(index);
  }

  /** Adds a number below 10⁹ with nine digits. */
  addNineDigits(value: number): void {
    const { bytes, length } = this;
    let rest = value;
    for (let at = length + 8; at >= length; at--) {
      const tens = (rest / 10) | 0;
      bytes[at] = zero + rest - 10 * tens;
      rest = tens;
    }
    this.length = length + 9;
  }
}

const blank = 0x20;
const comma = 0x2c;
const equals = 0x3d;
const backslash = 0x5c;
const zero = 0x30;

/** 1 for a byte that needs a backslash in a tag value (`escapeTag`). */
const tagEscapes = new Uint8Array(256);
for (const byte of [blank, comma, equals, backslash, 0x0a, 0x0d]) tagEscapes[byte] = 1;

/** A buffer that has grown beyond this is released. */
const heldBytesMax = 1024 * 1024;

/** Bytes of rows, or of a part of one, in sequence. It grows as needed and is reused. */
export class RowBuffer {
  bytes: Buffer;
  length = 0;
  private readonly size: number;

  constructor(size: number) {
    this.size = size;
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  /** Releases the memory that a large body needed. */
  shrink(): void {
    this.length = 0;
    if (this.bytes.length > Math.max(heldBytesMax, this.size)) this.bytes = Buffer.allocUnsafeSlow(this.size);
  }

  /** Makes room for this many more bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** Drops the bytes before `start`. */
  keepFrom(start: number): void {
    this.bytes.copyWithin(0, start, this.length);
    this.length -= start;
  }

  /** Adds [start, end) of other bytes; the caller has reserved the room. */
  add(from: Uint8Array, start: number, end: number): void {
    const { bytes } = this;
    let { length } = this;
    for (let at = start; at < end; at++) bytes[length++] = from[at] ?? 0;
    this.length = length;
  }

  /** The same as a tag value, with a backslash where it is needed. */
  addTag(from: Uint8Array, start: number, end: number): void {
    this.reserve(2 * (end - start));
    const { bytes } = this;
    let { length } = this;
    for (let at = start; at < end; at++) {
      const byte = from[at] ?? 0;
      if (tagEscapes[byte] === 1) bytes[length++] = backslash;
      bytes[length++] = byte;
    }
    this.length = length;
  }

  addByte(byte: number): void {
    this.bytes[this.length++] = byte;
  }

  /** Adds a code point as UTF-8; the caller has reserved four bytes. */
  addCode(code: number): void {
    if (code < 0x80) return this.addByte(code);
    if (code < 0x800) this.addByte(0xc0 | (code >> 6));
    else {
      if (code < 0x10000) this.addByte(0xe0 | (code >> 12));
      else {
        this.addByte(0xf0 | (code >> 18));
        this.addByte(0x80 | ((code >> 12) & 0x3f));
      }
      this.addByte(0x80 | ((code >> 6) & 0x3f));
    }
    this.addByte(0x80 | (code & 0x3f));
  }

  /** Adds a text of any characters. */
  addText(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.bytes.write(text, this.length, 'utf8');
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

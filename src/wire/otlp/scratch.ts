import { ByteSource, growSource } from '../native/bytes.ts';

const sizeStart = 16 * 1024;
const keptSizeMax = 1024 * 1024;

/**
 * Texts that are not in the body as such: numbers, unescaped strings, nested values. A reader keeps each text as two places
 * [start, end): in the body when they are not negative, in here when they are, as their complements.
 */
export class Scratch {
  source = new ByteSource(Buffer.allocUnsafeSlow(sizeStart));
  length = 0;

  reserve(size: number): void {
    if (this.length + size > this.source.bytes.length)
      this.source = growSource(this.source, this.length, size);
  }

  /** Frees the memory that one unusual body needed. */
  shrink(): void {
    this.length = 0;
    if (this.source.bytes.length > keptSizeMax)
      this.source = new ByteSource(Buffer.allocUnsafeSlow(sizeStart));
  }

  /** Appends a text as UTF-8; its end is `~length` afterwards. Returns its start. */
  add(text: string): number {
    const start = this.length;
    this.reserve(3 * text.length);
    const { bytes } = this.source;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) {
        const end = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).write(text, start);
        this.length = start + end;
        return ~start;
      }
      bytes[start + index] = code;
    }
    this.length = start + text.length;
    return ~start;
  }

  /** Appends a whole number from 0 to 2³¹ − 1 in decimal. */
  addCount(value: number): number {
    this.reserve(10);
    const start = this.length;
    const { bytes } = this.source;
    let end = start + 1;
    for (let rest = (value / 10) | 0; rest > 0; rest = (rest / 10) | 0) end++;
    let rest = value | 0;
    for (let at = end - 1; at >= start; at--) {
      const tenth = (rest / 10) | 0;
      bytes[at] = 0x30 + rest - tenth * 10;
      rest = tenth;
    }
    this.length = end;
    return ~start;
  }
}

import { grow } from '../native/bytes.ts';

const sizeStart = 16 * 1024;

/**
 * Texts that are not in the body as such: numbers, unescaped strings, nested values. A reader keeps each text as two places
 * [start, end): in the body when they are not negative, in here when they are, as their complements.
 */
export class Scratch {
  bytes: Buffer = Buffer.allocUnsafeSlow(sizeStart);
  length = 0;

  reserve(size: number): void {
    if (this.length + size > this.bytes.length) this.bytes = grow(this.bytes, this.length, size);
  }

  /** Appends a text as UTF-8; its end is `~length` afterwards. Answers its start. */
  add(text: string): number {
    const start = this.length;
    this.reserve(3 * text.length);
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) {
        this.length = start + this.bytes.write(text, start);
        return ~start;
      }
      this.bytes[start + index] = code;
    }
    this.length = start + text.length;
    return ~start;
  }

  /** Appends a whole number from 0 to 2³² − 1 in decimal. */
  addCount(value: number): number {
    this.reserve(10);
    const start = this.length;
    let end = start + 1;
    for (let rest = value; rest >= 10; rest = (rest - (rest % 10)) / 10) end++;
    let rest = value;
    for (let at = end - 1; at >= start; at--) {
      const digit = rest % 10;
      this.bytes[at] = 0x30 + digit;
      rest = (rest - digit) / 10;
    }
    this.length = end;
    return ~start;
  }
}

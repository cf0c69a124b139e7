export const quote = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const one = 0x31;
const nine = 0x39;

/** Largest number of digits that every correct reader, also that of QuestDB, reads back to the same bits. */
const digitsMax = 17;

/** The value at the cursor: not a number, a number whose text can be copied, or a number that must be parsed and formatted. */
export type NumberForm = 'none' | 'as_is' | 'to_be_read';

const noBytes: Buffer = Buffer.alloc(0);

/** Walks over the bytes of a JSON text of which only the plain form is understood: texts without escapes, nothing unusual. */
export class PlainCursor {
  bytes: Buffer = noBytes;
  at = 0;
  /** What was read last: [start, end) without quotes. */
  start = 0;
  end = 0;
  /** A text held more than ASCII: whether the body is UTF-8 has still to be looked at. */
  hasOthers = false;

  open(bytes: Buffer, at: number): void {
    this.bytes = bytes;
    this.at = at;
    this.hasOthers = false;
  }

  close(): void {
    this.bytes = noBytes;
  }

  /** The next byte that is no blank; 0 at the end. */
  peek(): number {
    const { bytes } = this;
    let byte = bytes[this.at] ?? 0;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.at] ?? 0;
    return byte;
  }

  /** Steps over this byte, blanks before it too. False: something else stands there. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** Reads a text; its length in UTF-16 units, or -1 for what is no text without escapes. */
  text(): number {
    if (!this.take(quote)) return -1;
    const { bytes, at: start } = this;
    let at = start;
    let surplus = 0;
    for (;;) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) break;
      if (byte < 0x20 || byte === backslash) return -1;
      if (byte >= 0x80) {
        this.hasOthers = true;
        // Of two to four bytes one counts, of four another one.
        if ((byte & 0xc0) === 0x80) surplus++;
        else if (byte >= 0xf0) surplus--;
      }
      at++;
    }
    this.start = start;
    this.end = at;
    this.at = at + 1;
    return at - start - surplus;
  }

  /** Reads digits from `at`; one past the last. */
  private digits(at: number): number {
    const { bytes } = this;
    let end = at;
    for (let byte = bytes[end] ?? 0; byte >= zero && byte <= nine; ) byte = bytes[++end] ?? 0;
    return end;
  }

  /** Reads an integer of at most 15 digits without a sign; -1 for anything else. */
  count(): number {
    const first = this.peek();
    if (first < zero || first > nine) return -1;
    const { at: start, bytes } = this;
    const end = this.digits(start);
    const next = bytes[end] ?? 0;
    if (end - start > 15 || (first === zero && end - start > 1)) return -1;
    if (next === dot || (next | 0x20) === 0x65) return -1;
    // In two parts, each a small integer.
    const middle = Math.max(start, end - 8);
    let high = 0;
    let low = 0;
    for (let at = start; at < middle; at++) high = high * 10 + ((bytes[at] ?? 0) - zero);
    for (let at = middle; at < end; at++) low = low * 10 + ((bytes[at] ?? 0) - zero);
    const value = high === 0 ? low : high * 1e8 + low;
    this.start = start;
    this.end = end;
    this.at = end;
    return value;
  }

  /** Reads a number. */
  number(): NumberForm {
    this.peek();
    const { bytes, at: start } = this;
    const first = bytes[start] === minus ? start + 1 : start;
    const leading = bytes[first] ?? 0;
    let end = leading === zero ? first + 1 : leading >= one && leading <= nine ? this.digits(first) : first;
    if (end === first) return 'none';
    let isAsIs = end - first <= digitsMax;
    if (bytes[end] === dot) {
      const fraction = end + 1;
      end = this.digits(fraction);
      if (end === fraction) return 'none';
      isAsIs = end - first <= digitsMax + 1 && bytes[end - 1] !== zero;
    }
    if (((bytes[end] ?? 0) | 0x20) === 0x65) {
      const sign = bytes[end + 1] ?? 0;
      const exponent = sign === minus || sign === 0x2b ? end + 2 : end + 1;
      end = this.digits(exponent);
      if (end === exponent) return 'none';
      isAsIs = false;
    }
    this.start = start;
    this.end = end;
    this.at = end;
    return isAsIs ? 'as_is' : 'to_be_read';
  }

  /** What was read last. */
  shown(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  /** Whether these bytes were read last. */
  isLast(expected: Uint8Array): boolean {
    const { bytes, start, end } = this;
    if (end - start !== expected.length) return false;
    for (let index = 0; index < expected.length; index++) {
      if (bytes[start + index] !== expected[index]) return false;
    }
    return true;
  }
}

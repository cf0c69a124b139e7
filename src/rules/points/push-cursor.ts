import { RowBuffer } from './row-buffer.ts';

export const quote = 0x22;
export const comma = 0x2c;
const minus = 0x2d;
const equals = 0x3d;
const dot = 0x2e;
const zero = 0x30;
const one = 0x31;
const nine = 0x39;
export const bracketOpen = 0x5b;
export const backslash = 0x5c;
export const bracketClose = 0x5d;
export const colon = 0x3a;
const letterE = 0x65;
const letterU = 0x75;
export const braceOpen = 0x7b;
export const braceClose = 0x7d;

/** The largest number of digits that every correct reader, including QuestDB's, reads back to the same bits. */
const digitsMax = 17;

/** 1 for a byte that ends a stretch of plain ASCII in a text. */
const textStops = new Uint8Array(256).fill(1, 0, 0x20).fill(1, 0x80);
textStops[quote] = textStops[backslash] = 1;

/** The same, plus the bytes that need a backslash in a tag value. */
const tagStops = textStops.slice();
tagStops[0x20] = tagStops[comma] = tagStops[equals] = 1;
/** Longer texts are read before they are copied. */
const tagBytesMax = 256;

/** The character that a letter stands for behind a backslash; 0 where JSON has no such escape. */
const escapes = new Uint8Array(256);
for (const [letter, character] of Object.entries({
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  '"': 0x22,
  '\\': 0x5c,
  '/': 0x2f,
}))
  escapes[letter.charCodeAt(0)] = character;

/** The value of a hexadecimal digit; -1 for any other byte. */
const hexDigits = new Int8Array(256).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries())
  hexDigits[digit.charCodeAt(0)] = hexDigits[digit.toUpperCase().charCodeAt(0)] = value;

export const nullWord = Buffer.from('null');
export const trueWord = Buffer.from('true');
export const falseWord = Buffer.from('false');

/** The number at the cursor: none, one whose text can be copied, or one that must be parsed and formatted. */
export type NumberForm = 'none' | 'as_is' | 'to_be_read';

const noBytes: Buffer = Buffer.alloc(0);

/** Walks over the bytes of JSON, from one name or value without parts to the next. */
export class PushCursor {
  bytes: Buffer = noBytes;
  at = 0;
  /** Objects, arrays, members and elements so far: one for each open bracket and each comma. */
  elements = 0;
  /** The text or number that was read last: [start, end) of `source`, texts without quotes and escapes. */
  source: Buffer = noBytes;
  start = 0;
  end = 0;
  /** A text held other characters than ASCII. */
  hasOthers = false;
  /** The number that was read last has neither a fraction nor an exponent. */
  isWhole = false;
  /** What was read holds nothing that `JSON.parse` refuses, whose digits it may lose, or whose name it may take for another. */
  isStrict = true;
  /** The text that was read last had an escape. */
  get hasEscapes(): boolean {
    return this.source !== this.bytes;
  }
  /** Where the text that was read last begins in the body, with its quote. */
  private textStart = 0;
  private readonly unescaped = new RowBuffer(1024);

  open(bytes: Buffer, at: number): void {
    this.bytes = bytes;
    this.at = at;
    this.elements = 0;
    this.hasOthers = false;
  }

  close(): void {
    this.bytes = this.source = noBytes;
    this.unescaped.shrink();
  }

  /** The next byte that is not a blank; 0 at the end. */
  peek(): number {
    const { bytes } = this;
    let byte = bytes[this.at] ?? 0;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.at] ?? 0;
    return byte;
  }

  /** Skips this byte, and blanks before it. False: the next byte is another one. */
  take(byte: number): boolean {
    if (this.bytes[this.at] !== byte && this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** Skips an open bracket or brace. */
  enter(byte: number): boolean {
    if (!this.take(byte)) return false;
    this.elements++;
    return true;
  }

  /** Skips a comma: another member or element follows. */
  more(): boolean {
    if (!this.take(comma)) return false;
    this.elements++;
    return true;
  }

  /** Skips this word. */
  word(word: Uint8Array): boolean {
    this.peek();
    const { bytes, at } = this;
    for (let index = 0; index < word.length; index++) if (bytes[at + index] !== word[index]) return false;
    this.at = at + word.length;
    return true;
  }

  /** Skips these bytes of a name, with its quotes and its colon. */
  name(quoted: Uint8Array): boolean {
    const { bytes } = this;
    if (bytes[this.at] !== quote && this.peek() !== quote) return false;
    const { at } = this;
    for (let index = 1; index < quoted.length; index++) if (bytes[at + index] !== quoted[index]) return false;
    this.at = at + quoted.length;
    return true;
  }

  /** Reads a text; returns its length in UTF-16 units, or -1 for any other value, and for a text with U+0000. */
  text(): number {
    const { bytes } = this;
    if (bytes[this.at] !== quote && this.peek() !== quote) return -1;
    const start = this.at + 1;
    let at = start;
    let surplus = 0;
    for (;;) {
      let byte = bytes[at] ?? 0;
      while (textStops[byte] === 0) byte = bytes[++at] ?? 0;
      if (byte === quote) break;
      if (byte === backslash) return this.escapedText(start);
      if (byte < 0x20) return -1;
      this.hasOthers = true;
      // A character of two to four bytes counts as one unit; a character of four bytes counts as one more.
      if ((byte & 0xc0) === 0x80) surplus++;
      else if (byte >= 0xf0) surplus--;
      at++;
    }
    if (this.source !== bytes) this.source = bytes;
    this.start = start;
    this.end = at;
    this.textStart = start - 1;
    this.at = at + 1;
    return at - start - surplus;
  }

  /**
   * Reads a text and adds it to a row as a tag value, in one pass for a short text; returns its length like `text`. A text of more
   * than `unitsMax` units is not added.
   */
  tag(row: RowBuffer, unitsMax: number): number {
    if (this.bytes[this.at] !== quote && this.peek() !== quote) return -1;
    row.reserve(2 * tagBytesMax);
    const { bytes } = this;
    const { bytes: out, length: rowLength } = row;
    const start = this.at + 1;
    let at = start;
    let length = rowLength;
    for (const end = start + tagBytesMax; at < end; at++) {
      let byte = bytes[at] ?? 0;
      while (tagStops[byte] === 0 && at < end) {
        out[length++] = byte;
        byte = bytes[++at] ?? 0;
      }
      if (byte === quote) {
        row.length = length;
        this.at = at + 1;
        return at - start;
      }
      if (byte !== 0x20 && byte !== comma && byte !== equals) break;
      out[length++] = backslash;
      out[length++] = byte;
    }
    const units = this.text();
    if (units <= unitsMax && units >= 0) row.addTag(this.source, this.start, this.end);
    return units;
  }

  /** The same for a text with an escape. No escape is shorter than its character. */
  private escapedText(start: number): number {
    const { bytes, unescaped } = this;
    unescaped.length = 0;
    let units = 0;
    let at = start;
    for (;;) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) break;
      unescaped.reserve(4);
      if (byte !== backslash) {
        if (byte < 0x20) return -1;
        if (byte >= 0x80) this.hasOthers = true;
        if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
        unescaped.addByte(byte);
        at++;
      } else if (bytes[at + 1] === letterU) {
        const code = this.codeAt(at);
        if (code <= 0) return -1;
        units += code > 0xffff ? 2 : 1;
        if (code >= 0x80) this.hasOthers = true;
        unescaped.addCode(code);
        at += code > 0xffff ? 12 : 6;
      } else {
        const character = escapes[bytes[at + 1] ?? 0] ?? 0;
        if (character === 0) return -1;
        units++;
        unescaped.addByte(character);
        at += 2;
      }
    }
    this.source = unescaped.bytes;
    this.start = 0;
    this.end = unescaped.length;
    this.textStart = start - 1;
    this.at = at + 1;
    return units;
  }

  /** The code point of the escape (or pair of escapes) at this place, half a pair as U+FFFD; -1 for an invalid escape. */
  private codeAt(at: number): number {
    const { bytes } = this;
    const unit = this.unitAt(at);
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    const low =
      unit < 0xdc00 && bytes[at + 6] === backslash && bytes[at + 7] === letterU ? this.unitAt(at + 6) : 0;
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
  }

  /** The UTF-16 unit of the escape at this place; -1 where digits are missing. */
  private unitAt(at: number): number {
    const { bytes } = this;
    const high = ((hexDigits[bytes[at + 2] ?? 0] ?? -1) << 4) | (hexDigits[bytes[at + 3] ?? 0] ?? -1);
    const low = ((hexDigits[bytes[at + 4] ?? 0] ?? -1) << 4) | (hexDigits[bytes[at + 5] ?? 0] ?? -1);
    return high < 0 || low < 0 ? -1 : (high << 8) | low;
  }

  /** Reads digits from `at`; returns the place after the last one. */
  private digits(at: number): number {
    const { bytes } = this;
    let end = at;
    for (let byte = bytes[end] ?? 0; byte >= zero && byte <= nine; ) byte = bytes[++end] ?? 0;
    return end;
  }

  /** Reads an integer of at most 15 digits without a sign; -1 for any other value. */
  count(): number {
    const first = this.peek();
    if (first < zero || first > nine) return -1;
    const { at: start, bytes } = this;
    const end = this.digits(start);
    const next = bytes[end] ?? 0;
    if (end - start > 15 || (first === zero && end - start > 1)) return -1;
    if (next === dot || (next | 0x20) === letterE) return -1;
    // In two parts, each a small integer.
    const middle = Math.max(start, end - 8);
    let high = 0;
    let low = 0;
    for (let at = start; at < middle; at++) high = high * 10 + ((bytes[at] ?? 0) - zero);
    for (let at = middle; at < end; at++) low = low * 10 + ((bytes[at] ?? 0) - zero);
    if (this.source !== bytes) this.source = bytes;
    this.start = start;
    this.end = end;
    this.at = end;
    return high === 0 ? low : high * 1e8 + low;
  }

  /** Reads a number, but no bare word. A number that can be copied loses the zeros at the end of its fraction. */
  number(): NumberForm {
    this.peek();
    const { bytes, at: start } = this;
    const first = bytes[start] === minus ? start + 1 : start;
    const leading = bytes[first] ?? 0;
    let end = leading === zero ? first + 1 : leading >= one && leading <= nine ? this.digits(first) : first;
    if (end === first) return 'none';
    let copied = end;
    let isAsIs = end - first <= digitsMax;
    let isWhole = true;
    if (bytes[end] === dot) {
      isWhole = false;
      const fraction = end + 1;
      end = this.digits(fraction);
      if (end === fraction) return 'none';
      copied = end;
      while (bytes[copied - 1] === zero) copied--;
      if (copied === fraction) copied--;
      isAsIs = copied - first <= digitsMax + 1;
    }
    if (((bytes[end] ?? 0) | 0x20) === letterE) {
      const sign = bytes[end + 1] ?? 0;
      const exponent = sign === minus || sign === 0x2b ? end + 2 : end + 1;
      end = this.digits(exponent);
      if (end === exponent) return 'none';
      isAsIs = isWhole = false;
    }
    this.isWhole = isWhole;
    if (this.source !== bytes) this.source = bytes;
    this.start = start;
    this.end = isAsIs ? copied : end;
    this.at = end;
    return isAsIs ? 'as_is' : 'to_be_read';
  }

  /** Skips the text at the cursor; false where it is not valid. */
  skipText(): boolean {
    const { bytes } = this;
    let at = this.at + 1;
    for (;;) {
      let byte = bytes[at] ?? 0;
      while (textStops[byte] === 0) byte = bytes[++at] ?? 0;
      if (byte === quote) break;
      if (byte < 0x20) return false;
      if (byte !== backslash) at++;
      else if (bytes[at + 1] === letterU) {
        if (this.unitAt(at) < 0) return false;
        at += 6;
      } else {
        if (escapes[bytes[at + 1] ?? 0] === 0) return false;
        at += 2;
      }
    }
    this.at = at + 1;
    return true;
  }

  /** The text or number that was read last. */
  shown(): string {
    return this.source.toString('utf8', this.start, this.end);
  }

  /** The text that was read last with JSON's meaning, including half pairs. */
  exactText(): string {
    if (this.source === this.bytes) return this.shown();
    const text: unknown = JSON.parse(this.bytes.toString('utf8', this.textStart, this.at));
    return String(text);
  }

  /** Whether the name in these bytes, between its quotes and before its colon, was read last. */
  isLastIn(quoted: Uint8Array): boolean {
    const { source, start, end } = this;
    if (end - start !== quoted.length - 3) return false;
    for (let index = start; index < end; index++)
      if (source[index] !== quoted[index - start + 1]) return false;
    return true;
  }

  /** Whether these bytes were read last. */
  isLast(expected: Uint8Array): boolean {
    const { source, start, end } = this;
    if (end - start !== expected.length) return false;
    for (let index = 0; index < expected.length; index++) {
      if (source[start + index] !== expected[index]) return false;
    }
    return true;
  }
}

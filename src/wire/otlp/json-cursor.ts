import { type ByteSource, isSame } from '../native/bytes.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  escapes,
  isDigit,
  openBrace,
  openBracket,
  passes,
  passKinds,
  passKindsWithin,
  quote,
  stopsIn,
  stringStops,
} from './json-bytes.ts';
import { hexValues } from './json-hex.ts';
import type { KeySet } from './json-keys.ts';
import type { Scratch } from './scratch.ts';
import { defaultTokenKeys, type TokenKeys } from './token-keys.ts';
import { MalformedBody } from './types.ts';

/** Other JSON readers stop here too; nothing of OTLP is nested so deep. */
const depthMax = 10_000;

/**
 * The closing brackets of the values that `skip` is within. One array for all: a body may hold millions of skipped
 * values.
 */
const closers = new Uint8Array(depthMax);

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null';

/** The most bytes of one character. */
const escapedBytesMax = 4;
/** Fewer bytes are copied one by one. */
const viewedBytesMin = 16;

/**
 * Walks the bytes of a JSON text, which is valid UTF-8, without making values of it. A string or a number that was read
 * lies between `start` and `end` (see Scratch). Throws only MalformedBody, where the text is not JSON; for any depth of
 * nesting, its calls do not nest.
 */
export class JsonCursor {
  readonly body: Uint8Array;
  at = 0;
  start = 0;
  end = 0;
  private readonly source: ByteSource;
  private readonly scratch: Scratch;
  private readonly tokenKeys: TokenKeys;

  constructor(source: ByteSource, scratch: Scratch, tokenKeys = defaultTokenKeys) {
    this.source = source;
    this.body = source.bytes;
    this.scratch = scratch;
    this.tokenKeys = tokenKeys;
  }

  malformed(what: string): MalformedBody {
    const where = this.at >= this.body.length ? 'at its end' : `at byte ${this.at}`;
    return new MalformedBody(`the body is not JSON: ${what} ${where}`);
  }

  /** Moves to the next byte that is not white space, and returns it; −1 at the end. */
  peek(): number {
    const { body } = this;
    let { at } = this;
    while (at < body.length) {
      const byte = body[at] ?? 0;
      if (byte > 0x20) {
        this.at = at;
        return byte;
      }
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at++;
    }
    this.at = at;
    return at < body.length ? 0 : -1;
  }

  /** The kind of the value that begins here. */
  kind(): JsonKind {
    const byte = this.peek();
    if (byte === quote) return 'string';
    if (byte === openBrace) return 'object';
    if (byte === openBracket) return 'array';
    if (byte === 0x2d || isDigit(byte)) return 'number';
    if (byte === 0x74) return 'true';
    if (byte === 0x66) return 'false';
    if (byte === 0x6e) return 'null';
    throw this.malformed('expected a value');
  }

  /** Enters an object or an array; false when it is empty, and then it is left already. */
  open(): boolean {
    const close = (this.body[this.at] ?? 0) + 2;
    this.at++;
    if (this.peek() !== close) return true;
    this.at++;
    return false;
  }

  /** Moves to the next member of an object; false at its end, which is skipped. */
  nextMember(): boolean {
    return this.next(closeBrace);
  }

  /** Moves to the next item of an array; false at its end, which is skipped. */
  nextItem(): boolean {
    return this.next(closeBracket);
  }

  /** Reads a member's name up to its value: its place in `keys`, or −1. An unknown name lies between `start` and `end`. */
  key(keys: KeySet): number {
    if (this.peek() !== quote) throw this.malformed('expected a name in quotes');
    const { likelyMember } = keys;
    if (this.stands(likelyMember, this.at)) {
      this.at += likelyMember.bytes.length;
      return keys.takeLikely();
    }
    const kept = this.scratch.length;
    this.string();
    const place =
      this.start < 0
        ? keys.find(this.scratch.source, ~this.start, ~this.end)
        : keys.find(this.source, this.start, this.end);
    this.scratch.length = kept;
    if ((this.body[this.at] ?? 0) === 0x3a) this.at++;
    else {
      if (this.peek() !== 0x3a) throw this.malformed('expected a colon');
      this.at++;
    }
    return place;
  }

  /** Whether the text has these bytes at `at`. */
  stands(pattern: ByteSource, at: number): boolean {
    const size = pattern.bytes.length;
    return at + size <= this.body.length && isSame(this.source, at, pattern, 0, size);
  }

  /**
   * The end of the run of plain characters of a string that begins at `at`: its quote, an escape, or a byte that is not
   * valid JSON.
   */
  plainEnd(at: number): number {
    const { body, source } = this;
    let end = at;
    for (const last = body.length - 4; end <= last; end += 4) {
      const stops = stopsIn(source.view.getInt32(end, true));
      if (stops !== 0) return end + ((31 - Math.clz32(stops & -stops)) >> 3);
    }
    while (stringStops[body[end] ?? 0] === 0) end++;
    return end;
  }

  /** Reads the string that begins here. */
  string(): void {
    const { body } = this;
    const at = this.plainEnd(this.at + 1);
    if (body[at] !== quote) return this.escapedString(at);
    this.start = this.at + 1;
    this.end = at;
    this.at = at + 1;
  }

  /** Reads the number that begins here. */
  number(): void {
    const { body } = this;
    let at = this.at;
    if (body[at] === 0x2d) at++;
    if (body[at] === 0x30) at++;
    else at = this.digits(at);
    if (body[at] === 0x2e) at = this.digits(at + 1);
    if (((body[at] ?? 0) | 0x20) === 0x65) {
      at++;
      if (body[at] === 0x2b || body[at] === 0x2d) at++;
      at = this.digits(at);
    }
    this.start = this.at;
    this.end = at;
    this.at = at;
  }

  /** Reads true, false or null. */
  literal(word: 'true' | 'false' | 'null'): void {
    for (let index = 0; index < word.length; index++) {
      if (this.body[this.at + index] !== word.charCodeAt(index)) throw this.malformed(`expected ${word}`);
    }
    this.at += word.length;
  }

  /** Skips the value that begins here, of any kind. */
  skip(): void {
    let depth = 0;
    for (;;) {
      const kind = this.kind();
      if (kind === 'object' || kind === 'array') {
        if (this.open()) {
          if (depth === depthMax) throw this.malformed(`nested deeper than ${depthMax}`);
          closers[depth++] = kind === 'object' ? closeBrace : closeBracket;
          if (kind === 'object') this.skipKey();
          continue;
        }
      } else if (kind === 'string') this.skipString();
      else if (kind === 'number') this.number();
      else this.literal(kind);
      for (;;) {
        if (depth === 0) return;
        const closer = closers[depth - 1] ?? 0;
        if (this.next(closer)) {
          if (closer === closeBrace) this.skipKey();
          break;
        }
        depth--;
      }
    }
  }

  /**
   * Skips the value that begins here by its strings and brackets alone, without a check of the bytes between them.
   * Several times faster than `skip`.
   */
  pass(): void {
    const { body } = this;
    const end = body.length;
    let kinds = passKinds;
    let depth = 0;
    let { at } = this;
    while (at < end) {
      const kind = kinds[body[at++] ?? 0];
      if (kind === passes.plain) continue;
      if (kind === passes.quote) {
        while (at < end) {
          const byte = body[at++] ?? 0;
          if (byte === quote) break;
          if (byte === backslash) at++;
        }
      } else if (kind === passes.open) {
        depth++;
        kinds = passKindsWithin;
      } else if (depth === 0) {
        at--;
        break;
      } else if (--depth === 0) kinds = passKinds;
    }
    this.at = Math.min(at, end);
  }

  /** Whether the text that begins at `from` may hold a write token under its name, which escapes may hide. */
  mayHoldToken(from: number): boolean {
    const text = this.textFrom(from);
    return this.tokenKeys.mayBeIn(text) || text.includes('\\u');
  }

  /** Some of the text that begins at `from`, to show it to its sender; nothing of one that may hold a write token. */
  shown(from: number): string {
    if (this.mayHoldToken(from)) return '';
    const text = this.textFrom(from);
    const head = text.subarray(0, 160).toString('utf8');
    return head.length > 80 || text.length > 160 ? `${head.slice(0, 80)}…` : head;
  }

  private textFrom(from: number): Buffer {
    return Buffer.from(this.body.buffer, this.body.byteOffset + from, this.at - from);
  }

  private next(closer: number): boolean {
    const byte = this.peek();
    if (byte === 0x2c) {
      this.at++;
      return true;
    }
    if (byte !== closer) throw this.malformed(`expected a comma or ${String.fromCharCode(closer)}`);
    this.at++;
    return false;
  }

  private skipKey(): void {
    if (this.peek() !== quote) throw this.malformed('expected a name in quotes');
    this.skipString();
    if (this.peek() !== 0x3a) throw this.malformed('expected a colon');
    this.at++;
  }

  private skipString(): void {
    const kept = this.scratch.length;
    this.string();
    this.scratch.length = kept;
  }

  private digits(from: number): number {
    let at = from;
    while (isDigit(this.body[at] ?? 0)) at++;
    if (at > from) return at;
    this.at = at;
    throw this.malformed('expected a digit');
  }

  /** Reads a string with an escape from its start into the scratch. */
  private escapedString(firstEscape: number): void {
    const { body, scratch } = this;
    const from = scratch.length;
    // No escape is shorter than its character.
    scratch.reserve(this.escapedEnd(firstEscape) - this.at + escapedBytesMax);
    const { bytes } = scratch.source;
    this.keep(this.at + 1, firstEscape);
    let at = firstEscape;
    while (body[at] === backslash) {
      const code = escapes[body[at + 1] ?? 0] ?? 0;
      if (code === 0) at = this.unescape(at);
      else {
        bytes[scratch.length++] = code;
        at += 2;
      }
      const run = at;
      while (stringStops[body[at] ?? 0] === 0) at++;
      if (at > run) this.keep(run, at);
    }
    this.at = at;
    if (body[at] !== quote) throw this.malformed('expected the end of a string');
    this.start = ~from;
    this.end = ~scratch.length;
    this.at = at + 1;
  }

  /** The place of the quote that ends a string, or the end of the body. */
  private escapedEnd(firstEscape: number): number {
    const { body } = this;
    let at = firstEscape;
    for (let byte = body[at]; byte !== quote && byte !== undefined; byte = body[at])
      at += byte === backslash ? 2 : 1;
    return Math.min(at, body.length);
  }

  /** Copies these bytes of the body into the scratch, which has room for them. */
  private keep(start: number, end: number): void {
    const { body, scratch } = this;
    const { bytes } = scratch.source;
    let { length } = scratch;
    // Between escapes there are mostly a few bytes or none, for which a view of them costs more than they do.
    if (end - start > viewedBytesMin) {
      bytes.set(body.subarray(start, end), length);
      length += end - start;
    } else for (let at = start; at < end; at++) bytes[length++] = body[at] ?? 0;
    scratch.length = length;
  }

  /** Writes the character of the escape at `at`, which is none of a letter; returns its end. */
  private unescape(at: number): number {
    const { body } = this;
    if (body[at + 1] !== 0x75) {
      this.at = at;
      throw this.malformed('unknown escape');
    }
    const first = this.codeUnit(at + 2);
    if (first >= 0xd800 && first < 0xdc00 && body[at + 6] === backslash && body[at + 7] === 0x75) {
      const second = this.codeUnit(at + 8);
      if (second >= 0xdc00 && second < 0xe000) {
        this.writeCodePoint(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        return at + 12;
      }
    }
    // A surrogate without its other half is not a character.
    this.writeCodePoint(first >= 0xd800 && first < 0xe000 ? 0xfffd : first);
    return at + 6;
  }

  private codeUnit(at: number): number {
    const { body } = this;
    let unit = 0;
    for (let index = at; index < at + 4; index++) unit = (unit << 4) | (hexValues[body[index] ?? 0] ?? -1);
    if (unit >= 0) return unit;
    this.at = at;
    throw this.malformed('expected four hexadecimal digits');
  }

  /** Writes a character in UTF-8, for which there is room. */
  private writeCodePoint(code: number): void {
    const { scratch } = this;
    const { bytes } = scratch.source;
    let { length } = scratch;
    if (code < 0x80) bytes[length++] = code;
    else {
      const rests = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      bytes[length++] = (0xff80 >> rests) | (code >> (6 * rests));
      for (let rest = rests - 1; rest >= 0; rest--) bytes[length++] = 0x80 | ((code >> (6 * rest)) & 0x3f);
    }
    scratch.length = length;
  }
}

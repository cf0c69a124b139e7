import { hasForm } from '../../model/text-forms.ts';
import {
  backslash,
  braceClose,
  braceOpen,
  bracketClose,
  bracketOpen,
  colon,
  falseWord,
  nullWord,
  type PushCursor,
  quote,
  trueWord,
} from './push-cursor.ts';

/** A body, or a part of it, is not JSON. */
export class NotJson extends Error {}

/** The words of JSON. */
const words: readonly (readonly [Uint8Array, unknown])[] = [
  [trueWord, true],
  [falseWord, false],
  [nullWord, null],
];

/** Those of Python's json for numbers that JSON does not have. */
const bareNumbers: readonly (readonly [Uint8Array, unknown])[] = [
  [Buffer.from('NaN'), Number.NaN],
  [Buffer.from('Infinity'), Number.POSITIVE_INFINITY],
  [Buffer.from('-Infinity'), Number.NEGATIVE_INFINITY],
];

/** Every integer of fewer digits is a double. */
const wholeDigitsMin = 16;
/** No finite double has more than 309 digits. */
const wholeForm = /^-?\d{16,309}$/;
/** The integers of 64 bits, whose text is no longer than that of a double. */
const longIdForm = /^-?\d{16,20}$/;

/** Whether this whole number keeps its digits as a text: an id of 64 bits that is no double must not become another one. */
export const isLongId = (text: string): boolean => hasForm(longIdForm, text);

/** How the whole numbers were written that may be no doubles, by the object that they stand in. */
const writtenWholes = new WeakMap<object, Map<string, string>>();

/** Whether an object has whole numbers that may be no doubles. */
export const hasWrittenWholes = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && writtenWholes.has(value);

/** The digits of a whole number that stands in an object under this name, where it may be no double. */
export const writtenWhole = (around: unknown, name: string): string | undefined =>
  typeof around === 'object' && around !== null ? writtenWholes.get(around)?.get(name) : undefined;

/** Builds a value from its parts: a repeated name has its last value, at the place of the first, as with JSON.parse. */
class Builder {
  value: unknown;
  name = '';
  private readonly open: object[] = [];
  private hasWholes = false;

  add(value: unknown): void {
    const around = this.open.at(-1);
    // The name may have had another value before.
    if (this.hasWholes && around !== undefined) writtenWholes.get(around)?.delete(this.name);
    if (around === undefined) this.value = value;
    else if (Array.isArray(around)) around.push(value);
    else if (this.name !== '__proto__') Reflect.set(around, this.name, value);
    // An assignment would set the prototype.
    else Object.defineProperty(around, '__proto__', { ...memberSettings, value });
  }

  /** Adds a whole number that may be no double, and remembers its digits. */
  addWhole(text: string): void {
    this.add(Number(text));
    const around = this.open.at(-1);
    if (around === undefined || Array.isArray(around) || !hasForm(wholeForm, text)) return;
    this.hasWholes = true;
    const wholes = writtenWholes.get(around) ?? new Map<string, string>();
    writtenWholes.set(around, wholes.set(this.name, text));
  }

  enter(value: object): void {
    this.add(value);
    this.open.push(value);
  }

  leave(): void {
    this.open.pop();
  }
}

const memberSettings = { enumerable: true, configurable: true, writable: true };
const nestingMin = 1024;
/** The objects (1) and arrays (0) that the current walk has entered. No walk begins within another. */
let nesting = new Uint8Array(nestingMin);

/** Walks over any value, however deep it is: it makes no recursive calls. */
class ValueWalk {
  private readonly cursor: PushCursor;
  private readonly builder: Builder | undefined;

  constructor(cursor: PushCursor, builder?: Builder) {
    this.cursor = cursor;
    this.builder = builder;
  }

  /** False for an invalid value. */
  pass(): boolean {
    const { cursor, builder } = this;
    let depth = 0;
    if (nesting.length > nestingMin) nesting = new Uint8Array(nestingMin);
    for (;;) {
      const byte = cursor.peek();
      if (byte === braceOpen || byte === bracketOpen) {
        const isObject = byte === braceOpen;
        cursor.enter(byte);
        builder?.enter(isObject ? {} : []);
        this.nest(depth++, isObject ? 1 : 0);
        if (cursor.peek() !== (isObject ? braceClose : bracketClose)) {
          if (isObject && !this.passName()) return false;
          continue;
        }
      } else if (!this.passWhole(byte)) return false;
      for (;;) {
        if (depth === 0) return true;
        const isObject = nesting[depth - 1] === 1;
        if (cursor.more()) {
          if (isObject && !this.passName()) return false;
          break;
        }
        if (!cursor.take(isObject ? braceClose : bracketClose)) return false;
        depth--;
        builder?.leave();
      }
    }
  }

  private nest(depth: number, kind: number): void {
    if (depth === nesting.length) {
      const larger = new Uint8Array(2 * depth);
      larger.set(nesting);
      nesting = larger;
    }
    nesting[depth] = kind;
  }

  private passName(): boolean {
    const { cursor, builder } = this;
    const start = cursor.peek() === quote ? cursor.at : -1;
    if (start < 0 || !cursor.skipText()) return false;
    if (cursor.bytes.subarray(start, cursor.at).includes(backslash)) cursor.isStrict = false;
    if (builder !== undefined) builder.name = this.textFrom(start);
    return cursor.take(colon);
  }

  /** Moves past a value without parts. */
  private passWhole(byte: number): boolean {
    const { cursor, builder } = this;
    const start = cursor.at;
    if (byte === quote) {
      if (!cursor.skipText()) return false;
      builder?.add(this.textFrom(start));
      return true;
    }
    if (cursor.number() !== 'none') {
      const isLong = cursor.isWhole && cursor.at - start >= wholeDigitsMin;
      if (isLong) cursor.isStrict = false;
      const text = builder === undefined ? '' : cursor.bytes.toString('latin1', start, cursor.at);
      if (isLong) builder?.addWhole(text);
      else builder?.add(Number(text));
      return true;
    }
    if (this.passWord(words)) return true;
    if (!this.passWord(bareNumbers)) return false;
    cursor.isStrict = false;
    return true;
  }

  private passWord(list: typeof words): boolean {
    for (const [word, value] of list) {
      if (!this.cursor.word(word)) continue;
      this.builder?.add(value);
      return true;
    }
    return false;
  }

  /** The text that begins here with its quote, and ends before the cursor. */
  private textFrom(start: number): string {
    const { bytes, at: end } = this.cursor;
    const plain = bytes.toString('utf8', start + 1, end - 1);
    if (!plain.includes('\\')) return plain;
    const text: unknown = JSON.parse(`"${plain}"`);
    return String(text);
  }
}

/** Skips any value; false where it is not valid. */
export const skipValue = (cursor: PushCursor): boolean => new ValueWalk(cursor).pass();

/**
 * Builds any value, bare NaN and infinities as the numbers that they name (Python's json writes them). Time and memory are in
 * proportion to its bytes. Throws NotJson.
 */
export const readValue = (cursor: PushCursor): unknown => {
  const builder = new Builder();
  if (!new ValueWalk(cursor, builder).pass()) throw new NotJson();
  return builder.value;
};

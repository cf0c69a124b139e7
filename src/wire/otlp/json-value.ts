import { doubleText, itemSizes, nestedSizeMax, nestingMax } from './any-value.ts';
import { quote } from './json-bytes.ts';
import type { JsonCursor } from './json-cursor.ts';
import { doubleOf } from './json-doubles.ts';
import { KeySet } from './json-keys.ts';
import { wholeDigits } from './json-numbers.ts';
import { PlainNested } from './json-plain-nested.ts';
import { holds, type NestedWriter } from './nested-writer.ts';
import type { ReadState } from './read-state.ts';
import { MalformedBody } from './types.ts';
import { isBase64 } from './value-forms.ts';

const kinds = [
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
];
const kindKeys = new KeySet(kinds);
const valuesKeys = new KeySet(['values']);
const entryKeys = new KeySet(['key', 'value']);

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** The problem of a value that must not be shown. */
export const notAnyValue = 'it is not an OTLP AnyValue';

/** An object names one thing twice: which of the two counts is settled before the body is read again. */
export class RepeatedKey extends MalformedBody {
  constructor() {
    super('an object has a field twice');
  }
}

/** OTLP does not allow the value; the cursor is after it. */
const invalid = Symbol('invalid');
type Scalar = string | number | bigint | boolean;
type ReadScalar = Scalar | typeof invalid;

/**
 * Reads AnyValue, every kind into the text of a row (architecture 4.6): leaves its place in `start` and `end`, the
 * amount that the cutting rule counts in `size`, and the error, if any, in `problem`.
 */
export class JsonValueReader {
  start = 0;
  end = 0;
  size = 0;
  problem = '';
  /** The value that is the problem, shortened. */
  got = '';
  /** Values that were nested too deep, since the caller set it to 0. */
  cutValues = 0;
  private cutBefore = 0;
  private readonly cursor: JsonCursor;
  private readonly state: ReadState;
  private readonly nested: NestedWriter;
  private readonly plain: PlainNested;
  private digitsStart = 0;
  private digitsEnd = 0;

  constructor(cursor: JsonCursor, state: ReadState) {
    this.cursor = cursor;
    this.state = state;
    this.nested = state.nested;
    this.plain = new PlainNested(cursor, state);
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    this.size = 0;
    this.problem = '';
    this.got = '';
    this.cutBefore = this.cutValues;
  }

  /**
   * Number of a member's name in `keys`, with the cursor before its value; −1 for a name that is not OTLP's. `seen` has
   * a bit for each name so far.
   */
  member(keys: KeySet, seen: number): number {
    const place = this.cursor.key(keys);
    this.cursor.peek();
    if (place < 0) return -1;
    const number = keys.numberOf(place);
    if (keys.isSnake(place)) this.state.forgive('snake_case');
    if ((seen & (1 << number)) !== 0) throw new RepeatedKey();
    return number;
  }

  /** Reads the AnyValue that begins here. Of several kinds the last counts. */
  read(): void {
    const { cursor } = this;
    this.clear();
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'object') {
      const from = cursor.at;
      cursor.skip();
      this.problem = 'expected an object like {"stringValue": …}';
      this.got = cursor.shown(from);
      return;
    }
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const number = this.member(kindKeys, seen);
      if (number < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << number;
      const valueKind = cursor.kind();
      if (valueKind === 'null') {
        cursor.literal('null');
        continue;
      }
      this.cutValues = this.cutBefore;
      if (number === 0 && valueKind === 'string') {
        cursor.string();
        this.start = cursor.start;
        this.end = cursor.end;
        this.size = Math.abs(cursor.end - cursor.start);
      } else if (number === 1 && (valueKind === 'true' || valueKind === 'false')) {
        this.start = cursor.at;
        cursor.literal(valueKind);
        this.end = cursor.at;
        this.size = itemSizes.scalar;
      } else if (number !== 2 || !this.readPlainInteger()) this.readOther(number);
    }
  }

  /** Reads an integer that is written as its row text already; false when it is not, and nothing is read. */
  readPlainInteger(): boolean {
    if (!this.passPlainInteger()) return false;
    this.start = this.digitsStart;
    this.end = this.digitsEnd;
    this.size = itemSizes.scalar;
    return true;
  }

  /** The same, into the place of the digits alone. */
  private passPlainInteger(): boolean {
    const { cursor } = this;
    const { body } = cursor;
    const isQuoted = body[cursor.at] === quote;
    const start = isQuoted ? cursor.at + 1 : cursor.at;
    let at = start;
    if (body[at] === 0x2d) at++;
    const first = body[at] ?? 0;
    while ((body[at] ?? 0) >= 0x30 && (body[at] ?? 0) <= 0x39) at++;
    const after = body[at] ?? 0;
    const isEnd = isQuoted ? after === quote : after !== 0x2e && (after | 0x20) !== 0x65;
    // Eighteen digits always fit; a zero in front is not as a row has it, and "-" alone is nothing.
    if (!isEnd || at - start > 18 || first < 0x31 || first > 0x39) return false;
    this.digitsStart = start;
    this.digitsEnd = at;
    cursor.at = isQuoted ? at + 1 : at;
    return true;
  }

  private readOther(number: number): void {
    const { cursor, nested, state } = this;
    const { scratch } = state;
    const from = cursor.at;
    this.size = 0;
    let value: ReadScalar = '';
    if (number >= 5) {
      nested.begin(0);
      if (!this.readContainer(number, 0)) value = invalid;
      nested.finish(0);
    } else value = this.readScalar(number);
    if (value === invalid) {
      const shown = cursor.shown(from);
      this.problem = shown === '' ? notAnyValue : `${kinds[number]} cannot be ${shown}`;
      return;
    }
    if (number >= 5) {
      this.start = nested.moveTo(scratch);
      this.cutValues += nested.cuts;
    } else this.start = scratch.add(typeof value === 'number' ? doubleText(value) : String(value));
    this.end = ~scratch.length;
  }

  /** Reads a value of a kind without parts, other than a text for a text. */
  private readScalar(number: number): ReadScalar {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === 'string') {
      const kept = this.state.scratch.length;
      cursor.string();
      const text = this.state.textAt(cursor.start, cursor.end);
      this.state.scratch.length = kept;
      return this.scalarOfString(number, text);
    }
    if (kind === 'number') {
      cursor.number();
      this.size += itemSizes.scalar;
      const text = this.state.textAt(cursor.start, cursor.end);
      if (number === 3) return doubleOf(text) ?? invalid;
      return number === 2 ? this.integerOf(wholeDigits(text)) : invalid;
    }
    if (number === 1 && (kind === 'true' || kind === 'false')) {
      cursor.literal(kind);
      this.size += itemSizes.scalar;
      return kind === 'true';
    }
    cursor.skip();
    return invalid;
  }

  private scalarOfString(number: number, text: string): ReadScalar {
    if (number === 4) {
      if (!isBase64(text)) return invalid;
      const bytes = Buffer.from(text, 'base64');
      this.size += bytes.length;
      return bytes.toString('base64');
    }
    this.size += itemSizes.scalar;
    if (number === 2) return this.integerOf(wholeDigits(text));
    if (number === 3) return doubleOf(text) ?? invalid;
    return invalid;
  }

  private integerOf(digits: string | undefined): ReadScalar {
    if (digits === undefined) return invalid;
    const value = BigInt(digits);
    if (value < int64Min || value > int64Max) this.state.forgive('int_out_of_range');
    return value;
  }

  /** Adds the array or the list that begins here to the value of this level; false for an invalid one. */
  private readContainer(number: number, level: number): boolean {
    const { cursor } = this;
    this.nested.open(level, number === 5 ? holds.list : holds.entries);
    if (cursor.kind() !== 'object') {
      cursor.skip();
      return false;
    }
    let isValid = true;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(valuesKeys, seen);
      seen |= member < 0 ? 0 : 1;
      const kind = cursor.kind();
      if (member < 0) cursor.skip();
      else if (kind === 'null') cursor.literal('null');
      else if (kind !== 'array') {
        cursor.skip();
        isValid = false;
      } else isValid = number === 5 ? this.readItems(level) : this.readEntries(level);
    }
    return isValid;
  }

  private readItems(level: number): boolean {
    const { cursor, nested, plain } = this;
    let isValid = true;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      this.size += itemSizes.entry;
      if (plain.item(this.size)) {
        this.size += plain.size;
        continue;
      }
      const { length, cuts } = nested;
      if (!this.readNested(level + 1)) isValid = false;
      if (isValid && this.size <= nestedSizeMax) nested.keepItem();
      else nested.undo(length, cuts);
    }
    return isValid;
  }

  private readEntries(level: number): boolean {
    const { cursor, plain } = this;
    let isValid = true;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      this.size += itemSizes.entry;
      if (plain.entry(level, this.size)) this.size += plain.size;
      else if (cursor.kind() !== 'object') {
        cursor.skip();
        isValid = false;
      } else if (!this.readEntry(level)) isValid = false;
    }
    return isValid;
  }

  private readEntry(level: number): boolean {
    const { cursor, nested } = this;
    const { length: start, cuts } = nested;
    let keyEnd = 0;
    let hasValue = false;
    let seen = 0;
    let isValid = true;
    let isSecret = false;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(entryKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      const kind = cursor.kind();
      if (member === 1) {
        hasValue = true;
        if (!this.readNested(level + 1)) isValid = false;
      } else if (member < 0) cursor.skip();
      else if (kind === 'null') cursor.literal('null');
      else if (kind === 'string') {
        const { length } = nested;
        isSecret = this.readText();
        nested.colon();
        keyEnd = hasValue ? nested.putKeyFirst(start, start, length) : nested.length;
      } else {
        cursor.skip();
        isValid = false;
      }
    }
    if (!isValid || isSecret || this.size > nestedSizeMax) {
      nested.undo(start, cuts);
      return isValid;
    }
    if (keyEnd === 0) keyEnd = nested.addEmptyKey(start);
    if (!hasValue) nested.addNull();
    nested.keepEntry(level, start, keyEnd, cuts);
    return true;
  }

  /** Adds the string that begins here; whether a value under this name must not be kept. */
  private readText(): boolean {
    const { cursor, nested, state } = this;
    const { scratch } = state;
    const kept = scratch.length;
    cursor.string();
    const { start, end } = cursor;
    this.size += Math.abs(end - start);
    // Beyond the limit its entry is not kept.
    if (this.size <= nestedSizeMax) {
      if (start >= 0) nested.copy(state.body, start - 1, end + 1);
      else nested.text(scratch.source, ~start, ~end);
    }
    const isSecret = state.isSecretName(start, end);
    scratch.length = kept;
    return isSecret;
  }

  /** Adds the AnyValue that begins here as the value of this level; false for an invalid one. */
  private readNested(level: number): boolean {
    const { cursor, nested } = this;
    const kind = cursor.kind();
    nested.begin(level);
    let isValid = true;
    if (kind === 'null') cursor.literal('null');
    else if (kind !== 'object') {
      cursor.skip();
      isValid = false;
    } else {
      let seen = 0;
      for (let has = cursor.open(); has; has = cursor.nextMember()) {
        const number = this.member(kindKeys, seen);
        seen |= number < 0 ? 0 : 1 << number;
        const memberKind = cursor.kind();
        if (number < 0) cursor.skip();
        else if (memberKind === 'null') cursor.literal('null');
        else if (!this.readNestedKind(number, level)) isValid = false;
      }
    }
    nested.finish(level);
    return isValid;
  }

  /** Reads the value of a kind, which is not null, in place of what the value of this level has so far. */
  private readNestedKind(number: number, level: number): boolean {
    const { cursor, nested, state } = this;
    if (number >= 5 && level < nestingMax) return this.readContainer(number, level);
    nested.replace(level);
    if (number >= 5) {
      cursor.skip();
      this.size += itemSizes.scalar;
      nested.cut();
    } else if (number === 0 && cursor.body[cursor.at] === quote) this.readText();
    else if (number === 2 && this.passPlainInteger()) {
      this.size += itemSizes.scalar;
      nested.copy(state.body, this.digitsStart, this.digitsEnd);
    } else {
      const value = this.readScalar(number);
      if (value === invalid) return false;
      nested.scalar(value);
    }
    return true;
  }
}

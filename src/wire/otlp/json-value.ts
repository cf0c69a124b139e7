import { hasForm } from '../../model/text-forms.ts';
import {
  cutsIn,
  doubleText,
  itemSizes,
  type NestedValue,
  nestedSizeMax,
  nestedText,
  nestingMax,
} from './any-value.ts';
import type { JsonCursor } from './json-cursor.ts';
import { KeySet } from './json-keys.ts';
import { wholeDigits } from './json-numbers.ts';
import type { ReadState } from './read-state.ts';
import { MalformedBody } from './types.ts';
import { isBase64, isDecimalNumber } from './value-forms.ts';

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

const decimalInteger = /^-?\d{1,40}$/;
const namedDoubles = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** A double as a number or as text; undefined for any other text, and for digits beyond the range: no sender means infinity by them. */
export const doubleOf = (text: string): number | undefined => {
  const named = namedDoubles.get(text);
  if (named !== undefined || !isDecimalNumber(text)) return named;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
};

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
type Read<T> = T | typeof invalid;

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

  constructor(cursor: JsonCursor, state: ReadState) {
    this.cursor = cursor;
    this.state = state;
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
      } else if (number !== 2 || !this.readPlainInteger()) this.readOther(number);
    }
  }

  /** Reads an integer that is written as its row text already; false when it is not, and nothing is read. */
  readPlainInteger(): boolean {
    const { cursor } = this;
    const { body } = cursor;
    const isQuoted = body[cursor.at] === 0x22;
    const start = isQuoted ? cursor.at + 1 : cursor.at;
    let at = start;
    if (body[at] === 0x2d) at++;
    const first = body[at] ?? 0;
    while ((body[at] ?? 0) >= 0x30 && (body[at] ?? 0) <= 0x39) at++;
    const after = body[at] ?? 0;
    const isEnd = isQuoted ? after === 0x22 : after !== 0x2e && (after | 0x20) !== 0x65;
    // Eighteen digits always fit; a zero in front is not as a row has it, and "-" alone is nothing.
    if (!isEnd || at - start > 18 || first < 0x31 || first > 0x39) return false;
    this.start = start;
    this.end = at;
    this.size = itemSizes.scalar;
    cursor.at = isQuoted ? at + 1 : at;
    return true;
  }

  private readOther(number: number): void {
    const from = this.cursor.at;
    this.size = 0;
    const value = this.readKind(number, 1);
    if (value === invalid) {
      const shown = this.cursor.shown(from);
      this.problem = shown === '' ? notAnyValue : `${kinds[number]} cannot be ${shown}`;
      return;
    }
    let text: string;
    if (typeof value === 'string') text = value;
    else if (typeof value === 'number') text = doubleText(value);
    else if (typeof value === 'object' && value !== null) {
      text = nestedText(value);
      this.cutValues += cutsIn(value);
    } else text = String(value);
    this.start = this.state.scratch.add(text);
    this.end = ~this.state.scratch.length;
  }

  /** Reads the value of a kind, which is not null. `depth` counts the arrays and lists around it, itself among them. */
  private readKind(number: number, depth: number): Read<NestedValue> {
    const { cursor } = this;
    if (number >= 5) {
      if (depth <= nestingMax) return this.readContainer(number, depth);
      cursor.skip();
      this.size += itemSizes.scalar;
      return undefined;
    }
    const kind = cursor.kind();
    if (kind === 'string') {
      const kept = this.state.scratch.length;
      cursor.string();
      const size = Math.abs(cursor.end - cursor.start);
      const text = this.state.textAt(cursor.start, cursor.end);
      this.state.scratch.length = kept;
      return this.valueOfString(number, text, size);
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

  private valueOfString(number: number, text: string, size: number): Read<NestedValue> {
    if (number === 0) {
      this.size += size;
      return text;
    }
    if (number === 4) {
      if (!isBase64(text)) return invalid;
      const bytes = Buffer.from(text, 'base64');
      this.size += bytes.length;
      return bytes.toString('base64');
    }
    this.size += itemSizes.scalar;
    if (number === 2) return this.integerOf(hasForm(decimalInteger, text) ? text : undefined);
    if (number === 3) return doubleOf(text) ?? invalid;
    return invalid;
  }

  private integerOf(digits: string | undefined): Read<NestedValue> {
    if (digits === undefined) return invalid;
    const value = BigInt(digits);
    if (value < int64Min || value > int64Max) this.state.forgive('int_out_of_range');
    return value;
  }

  private readContainer(number: number, depth: number): Read<NestedValue> {
    const { cursor } = this;
    if (cursor.kind() !== 'object') {
      cursor.skip();
      return invalid;
    }
    let result: Read<NestedValue> = number === 5 ? [] : new Map();
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(valuesKeys, seen);
      seen |= member < 0 ? 0 : 1;
      const kind = cursor.kind();
      if (member < 0) cursor.skip();
      else if (kind === 'null') cursor.literal('null');
      else if (kind !== 'array') {
        cursor.skip();
        result = invalid;
      } else result = number === 5 ? this.readItems(depth) : this.readEntries(depth);
    }
    return result;
  }

  private readItems(depth: number): Read<NestedValue> {
    const { cursor } = this;
    const items: NestedValue[] = [];
    let isValid = true;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      this.size += itemSizes.entry;
      const item = this.readNested(depth);
      if (item === invalid) isValid = false;
      else if (this.size <= nestedSizeMax) items.push(item);
    }
    return isValid ? items : invalid;
  }

  private readEntries(depth: number): Read<NestedValue> {
    const { cursor } = this;
    const entries = new Map<string, NestedValue>();
    let isValid = true;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      this.size += itemSizes.entry;
      if (cursor.kind() !== 'object') {
        cursor.skip();
        isValid = false;
      } else if (!this.readEntry(depth, entries)) isValid = false;
    }
    return isValid ? entries : invalid;
  }

  private readEntry(depth: number, entries: Map<string, NestedValue>): boolean {
    const { cursor, state } = this;
    let key = '';
    let value: Read<NestedValue> = null;
    let seen = 0;
    let isValid = true;
    let isSecret = false;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(entryKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      const kind = cursor.kind();
      if (member === 1) value = this.readNested(depth);
      else if (member < 0) cursor.skip();
      else if (kind === 'null') cursor.literal('null');
      else if (kind === 'string') {
        const kept = state.scratch.length;
        cursor.string();
        this.size += Math.abs(cursor.end - cursor.start);
        isSecret = state.isSecretName(cursor.start, cursor.end);
        key = state.textAt(cursor.start, cursor.end);
        state.scratch.length = kept;
      } else {
        cursor.skip();
        isValid = false;
      }
    }
    if (value === invalid) return false;
    if (isSecret || this.size > nestedSizeMax) return isValid;
    entries.delete(key);
    entries.set(key, value);
    return isValid;
  }

  private readNested(depth: number): Read<NestedValue> {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind !== 'object') {
      if (kind !== 'null') {
        cursor.skip();
        return invalid;
      }
      cursor.literal('null');
      return null;
    }
    let value: Read<NestedValue> = null;
    let isValid = true;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const number = this.member(kindKeys, seen);
      seen |= number < 0 ? 0 : 1 << number;
      const memberKind = cursor.kind();
      if (number < 0) cursor.skip();
      else if (memberKind === 'null') cursor.literal('null');
      else {
        value = this.readKind(number, depth + 1);
        isValid &&= value !== invalid;
      }
    }
    return isValid ? value : invalid;
  }
}

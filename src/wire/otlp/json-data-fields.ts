import { hasForm } from '../../model/text-forms.ts';
import { quote } from './json-bytes.ts';
import { doubleOf, usualDouble } from './json-doubles.ts';
import type { JsonFields } from './json-fields.ts';
import { wholeDigits } from './json-numbers.ts';
import type { FaultSlot } from './slots.ts';

const word = 2 ** 32;
const wordMask = 0xffffffffn;
const uint64Max = 2n ** 64n - 1n;
const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
/** Each number with as many digits is a safe integer. */
const safeDigitsMax = 15;
/** No 64-bit integer is longer, but for zeros in front. */
const integerLengthMax = 40;

const integerForm = /^-?\d{1,40}$/;

/** Reads the numbers of data points from the cursor; null is an absent one. */
export class JsonDataFields {
  /** Halves of the integer read last. */
  low = 0;
  high = 0;
  private readonly fields: JsonFields;

  constructor(fields: JsonFields) {
    this.fields = fields;
  }

  /** Reads a double, as a number or as text: then NaN, Infinity and -Infinity too. Undefined for null and for a fault. */
  double(fault: FaultSlot, field: string): number | undefined {
    const { cursor, state } = this.fields;
    const kind = cursor.kind();
    const from = cursor.at;
    if (kind === 'null') {
      cursor.literal('null');
      return undefined;
    }
    let value: number | undefined;
    if (kind === 'number') {
      cursor.number();
      value = usualDouble(state.body, cursor.start, cursor.end);
      if (Number.isNaN(value)) value = doubleOf(state.textAt(cursor.start, cursor.end));
    } else if (kind === 'string') {
      const kept = state.scratch.length;
      cursor.string();
      value = doubleOf(state.textAt(cursor.start, cursor.end));
      state.scratch.length = kept;
    } else cursor.skip();
    if (value !== undefined) return value;
    fault.set(
      'data_point_field_invalid',
      field,
      'expected a number in the range of a double',
      cursor.shown(from),
    );
    return undefined;
  }

  /** Reads a count of 64 bits into `low` and `high`, as a number or as its digits; false for null and for a fault. */
  count(fault: FaultSlot, field: string): boolean {
    return this.usualInteger() || this.integer(fault, field, 0n, uint64Max);
  }

  /** The same for an integer in two's complement. */
  signed(fault: FaultSlot, field: string): boolean {
    return this.usualInteger() || this.integer(fault, field, int64Min, int64Max);
  }

  /** Reads an integer of 32 bits, as a number or as its digits; 0 for null and for a fault. */
  int32(fault: FaultSlot, field: string): number {
    return this.integer(fault, field, -(2n ** 31n), 2n ** 31n - 1n) ? this.low | 0 : 0;
  }

  /** Reads true or false; false for null and for a fault. */
  boolean(fault: FaultSlot, field: string): boolean {
    const { cursor } = this.fields;
    const kind = cursor.kind();
    if (kind === 'true' || kind === 'false' || kind === 'null') {
      cursor.literal(kind);
      return kind === 'true';
    }
    this.fields.refuse(fault, field, 'true or false');
    return false;
  }

  private integer(fault: FaultSlot, field: string, min: bigint, max: bigint): boolean {
    const { cursor, state } = this.fields;
    this.low = this.high = 0;
    const kind = cursor.kind();
    if (kind === 'null') {
      cursor.literal('null');
      return false;
    }
    const from = cursor.at;
    const kept = state.scratch.length;
    let digits: string | undefined;
    if (kind === 'number') {
      cursor.number();
      digits = wholeDigits(state.textAt(cursor.start, cursor.end));
    } else if (kind === 'string') {
      cursor.string();
      if (Math.abs(cursor.end - cursor.start) <= integerLengthMax)
        digits = wholeDigits(state.textAt(cursor.start, cursor.end));
      state.scratch.length = kept;
    } else cursor.skip();
    if (digits !== undefined && hasForm(integerForm, digits)) {
      const value = BigInt(digits);
      if (value >= min && value <= max) {
        this.low = Number(value & wordMask);
        this.high = Number((value >> 32n) & wordMask);
        return true;
      }
    }
    const expected = `expected a whole number from ${min} to ${max}`;
    fault.set('data_point_field_invalid', field, expected, cursor.shown(from));
    return false;
  }

  /** Takes digits that are a safe integer without a sign, as a number or as text; false for anything else, and nothing is read. */
  private usualInteger(): boolean {
    const { cursor } = this.fields;
    const { body, at: from } = cursor;
    const isQuoted = body[from] === quote;
    const start = isQuoted ? from + 1 : from;
    let value = 0;
    let at = start;
    for (; at - start <= safeDigitsMax; at++) {
      const digit = (body[at] ?? 0) - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const after = body[at] ?? 0;
    if (at === start || at - start > safeDigitsMax) return false;
    if (isQuoted ? after !== quote : after === 0x2e || (after | 0x20) === 0x65) return false;
    // JSON has no number with a zero in front.
    if (!isQuoted && at - start > 1 && body[start] === 0x30) return false;
    this.high = Math.floor(value / word);
    this.low = value - this.high * word;
    cursor.at = isQuoted ? at + 1 : at;
    return true;
  }
}

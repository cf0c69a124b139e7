import type { ItemReason } from '../../model/reasons.ts';
import { hasForm } from '../../model/text-forms.ts';
import type { ByteSource } from '../native/bytes.ts';
import { idIs, itemSizes } from './any-value.ts';
import { PlainAttributes } from './json-attributes.ts';
import { quote } from './json-bytes.ts';
import type { JsonCursor } from './json-cursor.ts';
import { copyHex, copyLowerHex, notHex } from './json-hex.ts';
import { KeySet } from './json-keys.ts';
import { setTimeOfDigits, setUsualTime, usualTimeLength, wholeDigits } from './json-numbers.ts';
import { JsonValueReader, notAnyValue } from './json-value.ts';
import { setTimeOfWords } from './numbers.ts';
import type { ReadState } from './read-state.ts';
import { dropAttributes } from './resource-row.ts';
import type { AttributeSlots, FaultSlot, TimeSlot } from './slots.ts';
import { isBase64 } from './value-forms.ts';

const attributeKeys = new KeySet(['key', 'value']);
const wordKeys = new KeySet(['low', 'high']);

const enumPrefix = /^(?:SPAN_KIND|STATUS_CODE|SEVERITY_NUMBER|AGGREGATION_TEMPORALITY)_/;
const enumDigits = /^(?:0|-?[1-9]\d{0,15})$/;
const countForm = /^\d{1,10}$/;
/** Longer than any name of a value with its prefix. */
const enumNameLengthMax = 64;
const wordForm = /^-?\d{1,10}$/;

const shownText = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** The common fields of the messages of OTLP, each read leniently from the cursor. */
export class JsonFields {
  /** Place of the text that `text` read. */
  start = 0;
  end = 0;
  /** What `id` read instead of an id, shortened. */
  got = '';
  readonly value: JsonValueReader;
  readonly cursor: JsonCursor;
  readonly state: ReadState;
  private readonly plain: PlainAttributes;
  private readonly fieldInvalid: ItemReason;

  /** `fieldInvalid` is the reason for a field of another type than OTLP defines. */
  constructor(cursor: JsonCursor, state: ReadState, fieldInvalid: ItemReason) {
    this.fieldInvalid = fieldInvalid;
    this.cursor = cursor;
    this.state = state;
    this.value = new JsonValueReader(cursor, state);
    this.plain = new PlainAttributes(cursor, this.value, state.body, state.knownAttributes);
  }

  /** Number of a member's name (see JsonValueReader.member). */
  member(keys: KeySet, seen: number): number {
    return this.value.member(keys, seen);
  }

  /** Reads a string; null is an empty one, any other value a fault. Returns its size. */
  text(fault: FaultSlot, field: string): number {
    const { cursor } = this;
    this.start = this.end = 0;
    const kind = cursor.kind();
    if (kind === 'string') {
      cursor.string();
      this.start = cursor.start;
      this.end = cursor.end;
      return Math.abs(cursor.end - cursor.start);
    }
    if (kind === 'null') {
      cursor.literal('null');
      return 0;
    }
    this.refuse(fault, field, 'a string');
    return 0;
  }

  /** Skips a value of a kind that the field does not take. */
  refuse(fault: FaultSlot, field: string, expected: string): void {
    const from = this.cursor.at;
    this.cursor.skip();
    fault.set(this.fieldInvalid, field, `expected ${expected}`, this.cursor.shown(from));
  }

  /** Reads an enum of these names, by number or by name; an unknown value counts as the first. */
  enumeration(names: readonly string[], fault: FaultSlot, field: string): number {
    const number = this.enumNumber(names, fault, field);
    if (number >= 0 && number < names.length) return number;
    this.state.forgive('enum_unknown');
    return 0;
  }

  /** Reads an enum of these names, by number or by name; NaN for an unknown name. A value of another kind is a fault, and null is 0. */
  enumNumber(names: readonly string[], fault: FaultSlot, field: string): number {
    const { cursor, state } = this;
    const kind = cursor.kind();
    if (kind === 'null') {
      cursor.literal('null');
      return 0;
    }
    if (kind !== 'number' && kind !== 'string') {
      this.refuse(fault, field, 'a number');
      return 0;
    }
    const from = cursor.at;
    if (kind === 'string') {
      cursor.string();
      state.forgive('enum_name');
      const text = state.textAt(cursor.start, cursor.end);
      const name = text.slice(0, enumNameLengthMax).toUpperCase();
      const named = names.indexOf(name.replace(enumPrefix, ''));
      if (named >= 0) return named;
      return hasForm(enumDigits, text) ? Number(text) : Number.NaN;
    }
    cursor.number();
    if (cursor.end - cursor.start === 1) return (cursor.body[cursor.start] ?? 0) - 0x30;
    const digits = wholeDigits(state.textAt(cursor.start, cursor.end));
    if (digits !== undefined) return Number(digits);
    fault.set(this.fieldInvalid, field, 'expected a number', cursor.shown(from));
    return 0;
  }

  /** Reads a whole number up to `max`, as a number or as its digits in a string; any other value is a fault, and null is 0. */
  count(max: number, fault: FaultSlot, field: string): number {
    const { cursor, state } = this;
    const kind = cursor.kind();
    if (kind === 'null') {
      cursor.literal('null');
      return 0;
    }
    const from = cursor.at;
    let digits: string | undefined;
    if (kind === 'number') {
      cursor.number();
      digits = wholeDigits(state.textAt(cursor.start, cursor.end));
    } else if (kind === 'string') {
      cursor.string();
      digits = wholeDigits(state.textAt(cursor.start, cursor.end));
    } else cursor.skip();
    if (digits !== undefined && hasForm(countForm, digits) && Number(digits) <= max) return Number(digits);
    fault.set(this.fieldInvalid, field, `expected a number from 0 to ${max}`, cursor.shown(from));
    return 0;
  }

  /** Reads an id in hexadecimal of either case into `target`, in lower case; `idIs` has the results. */
  id(ids: ByteSource, place: number, length: number): string {
    const { cursor, state } = this;
    const { at } = cursor;
    this.got = '';
    if (cursor.body[at] === quote && cursor.body[at + 1 + length] === quote) {
      const any = copyLowerHex(state.body, at + 1, length, ids, place);
      if (any !== notHex) {
        cursor.at = at + length + 2;
        return any === 0 ? idIs.zero : idIs.valid;
      }
    }
    const target = ids.bytes;
    const kind = cursor.kind();
    if (kind === 'null') {
      cursor.literal('null');
      return idIs.absent;
    }
    const from = cursor.at;
    if (kind !== 'string') {
      cursor.skip();
      this.got = cursor.shown(from);
      return `expected ${length} hexadecimal characters in a string`;
    }
    cursor.string();
    const { start, end } = cursor;
    if (start === end) return idIs.absent;
    if (Math.abs(end - start) === length) {
      const any =
        start < 0
          ? copyHex(state.scratch.source.bytes, ~start, ~end, target, place)
          : copyHex(cursor.body, start, end, target, place);
      if (any > 0) return idIs.valid;
      if (any === 0) return idIs.zero;
    }
    const text = state.textAt(start, end);
    this.got = shownText(text);
    const count = text.length === length ? '' : `, not ${text.length}`;
    const expected = `expected ${length} hexadecimal characters${count}`;
    // So long is base64 of as many bytes.
    return text.length === 4 * Math.ceil(length / 6) && isBase64(text)
      ? `${expected} that look like base64`
      : expected;
  }

  /**
   * Reads nanoseconds: a string of digits, a number, or the halves {low, high}; any other value is not a number, null
   * is an absent time.
   */
  time(time: TimeSlot): void {
    const { cursor, state } = this;
    if (this.usualTime(time)) return;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind === 'string') {
      cursor.string();
      const { start, end } = cursor;
      time.textStart = start;
      time.textEnd = end;
      if (start < 0) setTimeOfDigits(time, state.scratch.source, ~start, ~end);
      else setTimeOfDigits(time, state.body, start, end);
      return;
    }
    const from = cursor.at;
    if (kind === 'number') this.timeOfNumber(time);
    else if (kind !== 'object' || !this.timeOfHalves(time)) {
      cursor.at = from;
      cursor.skip();
      time.millis = Number.NaN;
      time.textStart = from;
      time.textEnd = cursor.at;
    }
  }

  /** Reads a string of as many digits as nearly all times have; false for anything else, and nothing is read. */
  private usualTime(time: TimeSlot): boolean {
    const { cursor, state } = this;
    const start = cursor.at + 1;
    const end = start + usualTimeLength;
    if (cursor.body[start - 1] !== quote || cursor.body[end] !== quote) return false;
    if (!setUsualTime(time, state.body, start)) return false;
    time.textStart = start;
    time.textEnd = end;
    cursor.at = end + 1;
    return true;
  }

  /**
   * Reads a list of attributes whose part of `list` begins at `from`. Returns the amount that the cutting rule counts.
   */
  attributes(list: AttributeSlots, from: number, fault: FaultSlot, field: string): number {
    const { cursor, state } = this;
    const { attributesMax } = state.limits;
    const kind = cursor.kind();
    if (kind === 'null') {
      cursor.literal('null');
      return 0;
    }
    if (kind !== 'array') {
      const at = cursor.at;
      cursor.skip();
      fault.set('attribute_invalid', field, 'expected an array', this.shown(fault, at));
      return 0;
    }
    let size = 0;
    let index = 0;
    /** Up to here the list has no secret, which does not count. */
    let looked = from;
    let isOver = false;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      size += this.attribute(list, fault, field, index++);
      if (!isOver) {
        if (list.count - from <= attributesMax) continue;
        state.dropSecrets(list, looked);
        looked = list.count;
        if (looked - from <= attributesMax) continue;
        isOver = true;
        fault.set('too_many_attributes', field, `more than the limit of ${attributesMax}`);
      }
      dropAttributes(state, list, from);
      looked = from;
    }
    state.dropSecrets(list, looked);
    return size;
  }

  /** Reads one attribute, of this number in its list as sent. Returns the amount that the cutting rule counts. */
  attribute(list: AttributeSlots, fault: FaultSlot, field: string, index: number): number {
    return this.plain.read(list, index) ? this.plain.size : this.unusual(list, fault, field, index);
  }

  private unusual(list: AttributeSlots, fault: FaultSlot, field: string, index: number): number {
    const { cursor, value } = this;
    const kind = cursor.kind();
    const from = cursor.at;
    if (kind !== 'object') {
      cursor.skip();
      fault.set('attribute_invalid', `${field}[${index}]`, 'expected an object', this.shown(fault, from));
      return itemSizes.entry;
    }
    let keyStart = 0;
    let keyEnd = 0;
    let seen = 0;
    value.clear();
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(attributeKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member === 1) value.read();
      else if (member < 0) cursor.skip();
      else {
        this.readKey(fault, `${field}[${index}].key`);
        keyStart = this.start;
        keyEnd = this.end;
      }
    }
    if (value.problem !== '') {
      const path = `${field}[${index}].value`;
      const isSecret = this.state.isSecretName(keyStart, keyEnd) || cursor.mayHoldToken(from);
      if (isSecret || this.isHidden(fault)) fault.set('attribute_invalid', path, notAnyValue);
      else fault.set('attribute_invalid', path, value.problem, value.got);
    }
    list.add(keyStart, keyEnd, value.start, value.end);
    return itemSizes.entry + Math.abs(keyEnd - keyStart) + value.size;
  }

  /** Reads the name of an attribute into `start` and `end`. */
  private readKey(fault: FaultSlot, field: string): void {
    const { cursor } = this;
    this.start = this.end = 0;
    const kind = cursor.kind();
    if (kind === 'string') {
      cursor.string();
      this.start = cursor.start;
      this.end = cursor.end;
      return;
    }
    const from = cursor.at;
    cursor.skip();
    if (kind !== 'null') fault.set('attribute_invalid', field, 'expected a string', this.shown(fault, from));
  }

  /** Whether an attribute is of a resource or a scope: its value may be a token that is written in a wrong way. */
  private isHidden(fault: FaultSlot): boolean {
    const { owner } = this.state;
    return fault === owner.fault || fault === owner.scopeFault;
  }

  /** The value from `from` on, shortened; nothing of one that must not be shown. */
  private shown(fault: FaultSlot, from: number): string {
    return this.isHidden(fault) ? '' : this.cursor.shown(from);
  }

  private timeOfNumber(time: TimeSlot): void {
    const { cursor, state } = this;
    cursor.number();
    state.forgive('number_64');
    time.textStart = cursor.start;
    time.textEnd = cursor.end;
    setTimeOfDigits(time, state.body, cursor.start, cursor.end);
    if (!Number.isNaN(time.millis)) return;
    const digits = wholeDigits(state.textAt(cursor.start, cursor.end));
    if (digits === undefined) return;
    time.textStart = state.scratch.add(digits);
    time.textEnd = ~state.scratch.length;
    setTimeOfDigits(time, state.scratch.source, ~time.textStart, ~time.textEnd);
  }

  /** Reads {low, high}, as JavaScript exporters of 2023 wrote 64 bits; false when it is something else. */
  private timeOfHalves(time: TimeSlot): boolean {
    const { cursor, state } = this;
    const halves = [Number.NaN, Number.NaN];
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.member(wordKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0 || cursor.kind() !== 'number') {
        cursor.skip();
        continue;
      }
      cursor.number();
      const text = state.textAt(cursor.start, cursor.end);
      halves[member] = hasForm(wordForm, text) ? Number(text) : Number.NaN;
    }
    const [low = Number.NaN, high = Number.NaN] = halves;
    if (!isWord(low) || !isWord(high)) return false;
    state.forgive('low_high');
    setTimeOfWords(time, low >>> 0, high >>> 0);
    return true;
  }
}

const isWord = (half: number): boolean => half >= -(2 ** 31) && half < 2 ** 32;

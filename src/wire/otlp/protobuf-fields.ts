import { itemSizes } from './any-value.ts';
import { setTimeOfWords } from './numbers.ts';
import { ProtobufCursor } from './protobuf-cursor.ts';
import { ProtobufValueReader } from './protobuf-value.ts';
import type { ReadState } from './read-state.ts';
import { dropAttributes } from './resource-row.ts';
import type { AttributeSlots, FaultSlot, TimeSlot } from './slots.ts';

/** The varint that fills [start, end); −1 when none does, or one of more than four bytes. */
const smallVarint = (body: Uint8Array, start: number, end: number): number => {
  const last = end - 1;
  if (last < start || last - start > 3) return -1;
  let value = 0;
  for (let at = start; at < last; at++) {
    const byte = body[at] ?? 0;
    if (byte < 0x80) return -1;
    value |= (byte & 0x7f) << (7 * (at - start));
  }
  const byte = body[last] ?? 0x80;
  return byte < 0x80 ? value | (byte << (7 * (last - start))) : -1;
};

/** The common fields of the messages of OTLP, each read from the cursor. */
export class ProtobufFields {
  readonly cursor: ProtobufCursor;
  readonly value: ProtobufValueReader;
  readonly state: ReadState;
  /** What the items of a body look like instead, where one has a field as another signal has it; empty by default. */
  lookLike = '';
  private readonly wantsItems: boolean;
  /** The amount that the cutting rule counts for the key and the value that `readPlain` read. */
  private plainSize = 0;

  /** Without `wantsItems` only the values of tokens are read. */
  constructor(state: ReadState, wantsItems: boolean) {
    this.state = state;
    this.wantsItems = wantsItems;
    this.cursor = new ProtobufCursor(state.body);
    this.value = new ProtobufValueReader(this.cursor, state);
  }

  /** Reads fixed64 nanoseconds. */
  time(end: number, time: TimeSlot): void {
    this.cursor.fixed64(end);
    setTimeOfWords(time, this.cursor.low, this.cursor.high);
  }

  /** An enum is the lower 32 bits of its varint; a value that OTLP does not have counts as the first. */
  knownEnum(value: number, last: number): number {
    if (value >= 0 && value <= last) return value;
    this.state.forgive('enum_unknown');
    return 0;
  }

  /**
   * Reads a KeyValue into the list, whose part begins at `from`. Over the limit it sets a fault and empties the list.
   * Returns the amount that the cutting rule counts.
   */
  attribute(end: number, list: AttributeSlots, from: number, fault: FaultSlot, field: string): number {
    const { state } = this;
    const size = this.readAttribute(end, list);
    const { attributesMax } = state.limits;
    if (list.count - from > attributesMax) {
      fault.set('too_many_attributes', field, `more than the limit of ${attributesMax}`);
      dropAttributes(state, list, from);
    }
    return size;
  }

  /** Reads a KeyValue into the list, but for one that must not be kept. */
  private readAttribute(end: number, list: AttributeSlots): number {
    const { cursor, value, state } = this;
    if (this.readPlain(end, list)) {
      state.dropSecrets(list, list.count - 1);
      return itemSizes.entry + this.plainSize;
    }
    if (!this.wantsItems && this.passAttribute(end, list)) return 0;
    let keyStart = 0;
    let keyEnd = 0;
    value.clear();
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        keyStart = cursor.at;
        keyEnd = cursor.at = stop;
      } else if (tag === 0x12) value.read(cursor.enter(end));
      else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    value.finish();
    list.add(keyStart, keyEnd, value.start, value.end);
    state.dropSecrets(list, list.count - 1);
    return itemSizes.entry + keyEnd - keyStart + value.size;
  }

  /**
   * Skips a KeyValue whose key is not that of a token, so that its value is never decoded; false for a token's key, and
   * then nothing is read.
   */
  private passAttribute(end: number, list: AttributeSlots): boolean {
    const { cursor, state } = this;
    const start = cursor.at;
    let keyStart = 0;
    let keyEnd = 0;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        keyStart = cursor.at;
        keyEnd = cursor.at = stop;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    if (state.tokenKeys.has(state.body, keyStart, keyEnd)) {
      cursor.at = start;
      return false;
    }
    list.add(keyStart, keyEnd, 0, 0);
    return true;
  }

  /**
   * Reads a KeyValue of the most frequent forms: a key and a string, or a key and a small whole number, each shorter
   * than 128 bytes, in this order and without more fields. False for any other form, and then nothing is read.
   */
  private readPlain(end: number, list: AttributeSlots): boolean {
    const { cursor } = this;
    const { body, at } = cursor;
    const keyLength = body[at + 1] ?? 0x80;
    const value = at + 2 + keyLength;
    // Two tags and two lengths precede the text, and it must fill the rest.
    const length = end - value - 4;
    if (body[at] !== 0x0a || keyLength >= 0x80 || length < -1 || length >= 0x7e) return false;
    if (body[value] !== 0x12 || body[value + 1] !== length + 2) return false;
    if (body[value + 2] === 0x0a && body[value + 3] === length) {
      list.add(at + 2, value, value + 4, end);
      this.plainSize = keyLength + length;
    } else {
      if (body[value + 2] !== 0x18) return false;
      const number = smallVarint(body, value + 3, end);
      if (number < 0) return false;
      const { scratch } = this.state;
      list.add(at + 2, value, scratch.addCount(number), ~scratch.length);
      this.plainSize = keyLength + itemSizes.scalar;
    }
    cursor.at = end;
    return true;
  }
}

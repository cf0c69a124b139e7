import {
  cutsIn,
  doubleText,
  itemSizes,
  type NestedValue,
  nestedSizeMax,
  nestedText,
  nestingMax,
} from './any-value.ts';
import type { ProtobufCursor } from './protobuf-cursor.ts';
import type { ReadState } from './read-state.ts';

const word = 2 ** 32;

/** A 64-bit integer in two's complement from its halves: a number where that is exact. */
const integerOf = (low: number, high: number): number | bigint => {
  const signed = (high | 0) * word + low;
  return Number.isSafeInteger(signed) ? signed : BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
};

/**
 * Reads AnyValue, every kind into the text of a row (architecture 4.6): after `clear`, `read` and `finish` its place is
 * in `start` and `end`, the amount that the cutting rule counts in `size`.
 */
export class ProtobufValueReader {
  start = 0;
  end = 0;
  size = 0;
  /** Values that were nested too deep, since the caller set it to 0. */
  cutValues = 0;
  /** The array or list that was read last, while it is the last value: more of the same kind is appended to it. */
  private container: NestedValue[] | Map<string, NestedValue> | undefined;
  private readonly cursor: ProtobufCursor;
  private readonly state: ReadState;

  constructor(cursor: ProtobufCursor, state: ReadState) {
    this.cursor = cursor;
    this.state = state;
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    this.size = 0;
    this.container = undefined;
  }

  /**
   * Reads the AnyValue from the cursor up to `end`. Of several kinds the last counts; parts that were read since
   * `clear` are merged with it, as protobuf merges a repeated message.
   */
  read(end: number): void {
    const { cursor } = this;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        this.start = cursor.at;
        this.end = stop;
        this.size = stop - cursor.at;
        this.container = undefined;
        cursor.at = stop;
      } else if (tag === 0x18) {
        cursor.varint();
        this.size = itemSizes.scalar;
        this.container = undefined;
        if (cursor.high === 0 && cursor.low < 0x80000000) {
          const { scratch } = this.state;
          this.start = scratch.addCount(cursor.low);
          this.end = ~scratch.length;
        } else this.setText(String(integerOf(cursor.low, cursor.high)));
      } else this.readOther(tag, end);
    }
    cursor.expectEnd(end);
  }

  private readOther(tag: number, end: number): void {
    const { cursor } = this;
    if (tag === 0x2a || tag === 0x32) return this.readContainer(tag, cursor.enter(end));
    if (tag === 0x10) {
      cursor.varint();
      this.size = itemSizes.scalar;
      this.setText((cursor.low | cursor.high) === 0 ? 'false' : 'true');
    } else if (tag === 0x21) {
      this.size = itemSizes.scalar;
      this.setText(doubleText(cursor.double(end)));
    } else if (tag === 0x3a) {
      const stop = cursor.enter(end);
      this.size = stop - cursor.at;
      this.setText(base64(cursor, stop));
      cursor.at = stop;
    } else return cursor.skip(tag, end);
    this.container = undefined;
  }

  private readContainer(tag: number, end: number): void {
    const { container } = this;
    const isList = tag === 0x2a;
    if (container === undefined || Array.isArray(container) !== isList) this.size = 0;
    this.container = isList ? this.readList(end, 1, container) : this.readEntries(end, 1, container);
  }

  /** To be called when all of the value was read: makes the text of an array or a list, once. */
  finish(): void {
    if (this.container === undefined) return;
    this.setText(nestedText(this.container));
    this.cutValues += cutsIn(this.container);
  }

  private setText(text: string): void {
    const { scratch } = this.state;
    this.start = scratch.add(text);
    this.end = ~scratch.length;
  }

  /** `before` holds the earlier parts of the same field: an array that occurs twice is one. */
  private readList(end: number, depth: number, before?: NestedValue): NestedValue[] {
    const { cursor } = this;
    const items: NestedValue[] = Array.isArray(before) ? before : [];
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag !== 0x0a) {
        cursor.skip(tag, end);
        continue;
      }
      this.size += itemSizes.entry;
      const item = this.readNested(cursor.enter(end), depth, null);
      if (this.size <= nestedSizeMax) items.push(item);
    }
    cursor.expectEnd(end);
    return items;
  }

  private readEntries(end: number, depth: number, before?: NestedValue): Map<string, NestedValue> {
    const { cursor } = this;
    const entries: Map<string, NestedValue> = before instanceof Map ? before : new Map();
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag !== 0x0a) {
        cursor.skip(tag, end);
        continue;
      }
      this.size += itemSizes.entry;
      this.readEntry(cursor.enter(end), depth, entries);
    }
    cursor.expectEnd(end);
    return entries;
  }

  private readEntry(end: number, depth: number, entries: Map<string, NestedValue>): void {
    const { cursor } = this;
    let key = '';
    let value: NestedValue = null;
    let isSecret = false;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        isSecret = this.state.isSecretName(cursor.at, stop);
        key = this.readText(stop);
      } else if (tag === 0x12) value = this.readNested(cursor.enter(end), depth, value);
      else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    if (isSecret || this.size > nestedSizeMax) return;
    entries.delete(key);
    entries.set(key, value);
  }

  /** `depth` counts the arrays and lists around the value; `before` holds the earlier parts of the same field. */
  private readNested(end: number, depth: number, before: NestedValue): NestedValue {
    const { cursor } = this;
    let value = before;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) value = this.readText(cursor.enter(end));
      else if (tag === 0x10 || tag === 0x18) {
        cursor.varint();
        this.size += itemSizes.scalar;
        value = tag === 0x18 ? integerOf(cursor.low, cursor.high) : (cursor.low | cursor.high) !== 0;
      } else if (tag === 0x21) {
        this.size += itemSizes.scalar;
        value = cursor.double(end);
      } else if (tag === 0x3a) {
        const stop = cursor.enter(end);
        this.size += stop - cursor.at;
        value = base64(cursor, stop);
        cursor.at = stop;
      } else if (tag === 0x2a || tag === 0x32) {
        const stop = cursor.enter(end);
        if (depth < nestingMax) {
          value =
            tag === 0x2a ? this.readList(stop, depth + 1, value) : this.readEntries(stop, depth + 1, value);
        } else {
          this.size += itemSizes.scalar;
          value = undefined;
          cursor.at = stop;
        }
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    return value;
  }

  private readText(stop: number): string {
    const { cursor } = this;
    const bytes = cursor.body.subarray(cursor.at, stop);
    this.size += bytes.length;
    cursor.at = stop;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  }
}

const base64 = ({ body, at }: ProtobufCursor, stop: number): string =>
  Buffer.from(body.buffer, body.byteOffset + at, stop - at).toString('base64');

import { doubleText, itemSizes, nestedSizeMax, nestingMax } from './any-value.ts';
import { type Holds, holds, type NestedWriter } from './nested-writer.ts';
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
  /** The last value is an array or a list, which is not finished: more of the same kind is appended to it. */
  private isOpen = false;
  private readonly cursor: ProtobufCursor;
  private readonly state: ReadState;
  private readonly nested: NestedWriter;

  constructor(cursor: ProtobufCursor, state: ReadState, nested = state.nested) {
    this.cursor = cursor;
    this.state = state;
    this.nested = nested;
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    this.size = 0;
    this.isOpen = false;
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
        this.isOpen = false;
        cursor.at = stop;
      } else if (tag === 0x18) {
        cursor.varint();
        this.size = itemSizes.scalar;
        this.isOpen = false;
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
    this.isOpen = false;
  }

  private readContainer(tag: number, end: number): void {
    const { nested } = this;
    if (!this.isOpen) nested.begin(0);
    if (nested.holdsAt(0) !== kindOf(tag)) this.size = 0;
    this.isOpen = true;
    this.addContainer(tag, end, 0);
  }

  /** To be called when all of the value was read: makes the text of an array or a list, once. */
  finish(): void {
    if (!this.isOpen) return;
    const { nested } = this;
    const { scratch } = this.state;
    nested.finish(0);
    this.start = nested.moveTo(scratch);
    this.end = ~scratch.length;
    this.cutValues += nested.cuts;
  }

  private setText(text: string): void {
    const { scratch } = this.state;
    this.start = scratch.add(text);
    this.end = ~scratch.length;
  }

  /** Adds the array or the list up to `end` to the value of this level: one that occurs twice is one. */
  private addContainer(tag: number, end: number, level: number): void {
    const { cursor, nested } = this;
    const kind = kindOf(tag);
    if (nested.holdsAt(level) !== kind) nested.open(level, kind);
    while (cursor.at < end) {
      const inner = cursor.tag();
      if (inner !== 0x0a) {
        cursor.skip(inner, end);
        continue;
      }
      this.size += itemSizes.entry;
      const stop = cursor.enter(end);
      if (kind === holds.list) this.readItem(stop, level);
      else this.readEntry(stop, level);
    }
    cursor.expectEnd(end);
  }

  private readItem(end: number, level: number): void {
    const { nested } = this;
    const { length, cuts } = nested;
    nested.begin(level + 1);
    this.readNested(end, level + 1);
    nested.finish(level + 1);
    if (this.size <= nestedSizeMax) nested.keepItem();
    else nested.undo(length, cuts);
  }

  private readEntry(end: number, level: number): void {
    const { cursor, nested, state } = this;
    const { length: start, cuts } = nested;
    let keyStart = 0;
    let keyStop = 0;
    let keyEnd = 0;
    let isKeyLate = false;
    let valueStart = -1;
    let isSecret = false;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        isSecret = state.isSecretName(cursor.at, stop);
        this.size += stop - cursor.at;
        keyStart = cursor.at;
        keyStop = cursor.at = stop;
        if (keyEnd > 0 || valueStart >= 0) isKeyLate = true;
        else keyEnd = this.addKey(keyStart, keyStop);
      } else if (tag === 0x12) {
        if (valueStart < 0) {
          valueStart = nested.length;
          nested.begin(level + 1);
        }
        this.readNested(cursor.enter(end), level + 1);
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    if (valueStart >= 0) nested.finish(level + 1);
    if (isSecret || this.size > nestedSizeMax) return nested.undo(start, cuts);
    if (valueStart < 0) {
      valueStart = nested.length;
      nested.addNull();
    }
    if (isKeyLate) {
      const { length } = nested;
      this.addKey(keyStart, keyStop);
      keyEnd = nested.putKeyFirst(start, valueStart, length);
    } else if (keyEnd === 0) keyEnd = nested.addEmptyKey(start);
    nested.keepEntry(level, start, keyEnd, cuts);
  }

  private addKey(start: number, stop: number): number {
    this.addText(start, stop);
    this.nested.colon();
    return this.nested.length;
  }

  /** Adds a text, unless its entry is not kept anyway. */
  private addText(start: number, stop: number): void {
    if (this.size <= nestedSizeMax) this.nested.text(this.state.body, start, stop);
  }

  /** Adds the parts of an AnyValue up to `end` to the value of this level, which has begun. */
  private readNested(end: number, level: number): void {
    const { cursor, nested } = this;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        this.size += stop - cursor.at;
        nested.replace(level);
        this.addText(cursor.at, stop);
        cursor.at = stop;
      } else if (tag === 0x2a || tag === 0x32) {
        const stop = cursor.enter(end);
        if (level < nestingMax) this.addContainer(tag, stop, level);
        else {
          this.size += itemSizes.scalar;
          nested.replace(level);
          nested.cut();
          cursor.at = stop;
        }
      } else this.readScalar(tag, end, level);
    }
    cursor.expectEnd(end);
  }

  private readScalar(tag: number, end: number, level: number): void {
    const { cursor, nested } = this;
    if (tag === 0x10 || tag === 0x18) {
      cursor.varint();
      this.size += itemSizes.scalar;
      nested.replace(level);
      if (tag === 0x10) nested.scalar((cursor.low | cursor.high) !== 0);
      else if (cursor.high === 0 && cursor.low < 0x80000000) nested.addCount(cursor.low);
      else nested.scalar(integerOf(cursor.low, cursor.high));
    } else if (tag === 0x21) {
      this.size += itemSizes.scalar;
      nested.replace(level);
      nested.scalar(cursor.double(end));
    } else if (tag === 0x3a) {
      const stop = cursor.enter(end);
      this.size += stop - cursor.at;
      nested.replace(level);
      nested.scalar(base64(cursor, stop));
      cursor.at = stop;
    } else cursor.skip(tag, end);
  }
}

const kindOf = (tag: number): Holds => (tag === 0x2a ? holds.list : holds.entries);

const base64 = ({ body, at }: ProtobufCursor, stop: number): string =>
  Buffer.from(body.buffer, body.byteOffset + at, stop - at).toString('base64');

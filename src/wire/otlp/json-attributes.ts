import { type ByteSource, sourceOf } from '../native/bytes.ts';
import { itemSizes } from './any-value.ts';
import { quote } from './json-bytes.ts';
import type { JsonCursor } from './json-cursor.ts';
import type { JsonValueReader } from './json-value.ts';
import type { AttributeSlots } from './slots.ts';

const beforeKey = sourceOf('{"key":"');
const beforeText = sourceOf('","value":{"stringValue":"');
const beforeInteger = sourceOf('","value":{"intValue":');
const afterText = sourceOf('"}}');
const afterInteger = sourceOf('}}');

/** Every attribute in plain form has more bytes than are looked at to find one like it. */
const sampleSize = 24;

/** Numbers that are remembered of an attribute, by their place in its slot. */
const fields = 8;
const start = 0;
const prefix = 1;
const valueSize = 2;
const size = 3;
const keyStart = 4;
const keyEnd = 5;
const isInteger = 6;

/**
 * Reads attributes of the most frequent forms: a key and a string or an integer in this order, without white space and
 * without escapes. The spans of a body repeat the same keys, many with the same values. So the reader remembers an
 * earlier attribute by its place, and does not scan an attribute again that begins with the same bytes: its key is that
 * key (and gets its place, which identifies equal keys), and the rest is read from the first difference.
 */
export class PlainAttributes {
  /** The amount that the cutting rule counts for the last attribute. */
  size = 0;
  private readonly cursor: JsonCursor;
  private readonly value: JsonValueReader;
  private readonly body: ByteSource;
  private readonly known: Int32Array;

  /** Makes a slot of a hash: its upper bits. */
  private readonly shift: number;

  /** `known` is overwritten; its size is a power of two. */
  constructor(cursor: JsonCursor, value: JsonValueReader, body: ByteSource, known: Int32Array) {
    this.cursor = cursor;
    this.value = value;
    this.body = body;
    this.known = known.fill(0);
    this.shift = Math.clz32(known.length / fields) + 1;
  }

  /**
   * Reads the attribute that begins here into the list. `index` is its place in the list as sent. False for any other
   * form; the cursor and the list are unchanged then.
   */
  read(list: AttributeSlots, index: number): boolean {
    const { cursor } = this;
    const { at } = cursor;
    if (at + sampleSize > cursor.body.length) return false;
    const slot = this.slotOf(at, index);
    if ((this.known[slot + start] ?? 0) > 0 && this.readKnown(list, slot)) return true;
    if (!cursor.stands(beforeKey, at)) return false;
    const from = at + beforeKey.bytes.length;
    const to = cursor.plainEnd(from);
    return cursor.stands(beforeText, to)
      ? this.readText(list, slot, from, to)
      : this.readInteger(list, slot, from, to);
  }

  /** Where an attribute that begins like this one, at the same place of its list, is remembered. */
  private slotOf(at: number, index: number): number {
    const { view } = this.body;
    const mixed =
      Math.imul(view.getInt32(at + 8, true), 0x9e3779b1) ^
      Math.imul(view.getInt32(at + 14, true), 0x85ebca6b) ^
      Math.imul(view.getInt32(at + 20, true) + index, 0xc2b2ae35);
    return (mixed >>> this.shift) * fields;
  }

  /** Reads an attribute that begins like the one of that slot; false where it does not, or continues in another way. */
  private readKnown(list: AttributeSlots, slot: number): boolean {
    const { cursor, known } = this;
    const { at } = cursor;
    const whole = known[slot + size] ?? 0;
    const head = known[slot + prefix] ?? 0;
    const from = known[slot + keyStart] ?? 0;
    const to = known[slot + keyEnd] ?? 0;
    const same = this.sameSize(at, known[slot + start] ?? 0, whole);
    if (same < head) return false;
    if (same < whole) {
      if (known[slot + isInteger] !== 0) return this.readIntegerValue(list, slot, from, to, head);
      const valueStart = at + head;
      // Up to here it is the text before, which had nothing in it that ends a text.
      const plain = Math.min(same, head + (known[slot + valueSize] ?? 0));
      const end = cursor.plainEnd(at + plain);
      if (!cursor.stands(afterText, end)) return false;
      this.take(list, slot, from, to, valueStart, end, end + afterText.bytes.length);
      this.size = itemSizes.entry + to - from + end - valueStart;
      return true;
    }
    const length = known[slot + valueSize] ?? 0;
    list.add(from, to, at + head, at + head + length);
    cursor.at = at + whole;
    this.size = itemSizes.entry + to - from + (known[slot + isInteger] === 0 ? length : itemSizes.scalar);
    return true;
  }

  /** The number of equal bytes from `at` and from `earlier` on, at most this many. */
  private sameSize(at: number, earlier: number, sizeMax: number): number {
    const { view, bytes } = this.body;
    if (at + sizeMax + 8 > bytes.length) return 0;
    let same = 0;
    // Text that was read as plain holds neither a NaN nor a zero, so that equal numbers are equal bytes.
    while (same + 8 <= sizeMax && view.getFloat64(at + same, true) === view.getFloat64(earlier + same, true))
      same += 8;
    while (same < sizeMax) {
      const difference = view.getInt32(at + same, true) ^ view.getInt32(earlier + same, true);
      if (difference !== 0) return same + ((31 - Math.clz32(difference & -difference)) >> 3);
      same += 4;
    }
    return sizeMax;
  }

  private readText(list: AttributeSlots, slot: number, from: number, to: number): boolean {
    const { cursor, known } = this;
    const valueStart = to + beforeText.bytes.length;
    const end = cursor.plainEnd(valueStart);
    if (!cursor.stands(afterText, end)) return false;
    known[slot + isInteger] = 0;
    this.take(list, slot, from, to, valueStart, end, end + afterText.bytes.length);
    this.size = itemSizes.entry + to - from + end - valueStart;
    return true;
  }

  private readInteger(list: AttributeSlots, slot: number, from: number, to: number): boolean {
    const { cursor, known } = this;
    const { at } = cursor;
    if (!cursor.stands(beforeInteger, to)) return false;
    const head = to + beforeInteger.bytes.length - at;
    if (!this.readIntegerValue(list, slot, from, to, head)) return false;
    known[slot + isInteger] = 1;
    return true;
  }

  /** Reads an integer and the end of its attribute, `head` bytes after its beginning. */
  private readIntegerValue(
    list: AttributeSlots,
    slot: number,
    from: number,
    to: number,
    head: number,
  ): boolean {
    const { cursor, value } = this;
    const { at } = cursor;
    const first = at + head;
    const isQuoted = cursor.body[first - 1] === quote;
    cursor.at = isQuoted ? first - 1 : first;
    const isRead = value.readPlainInteger();
    const end = cursor.at;
    cursor.at = at;
    if (!isRead || !cursor.stands(afterInteger, end)) return false;
    this.take(list, slot, from, to, value.start, value.end, end + afterInteger.bytes.length);
    this.size = itemSizes.entry + to - from + value.size;
    return true;
  }

  /** Adds the attribute that ends at `end` to the list, remembers it and passes it. */
  private take(
    list: AttributeSlots,
    slot: number,
    from: number,
    to: number,
    valueStart: number,
    valueEnd: number,
    end: number,
  ): void {
    const { cursor, known } = this;
    known[slot + start] = cursor.at;
    known[slot + prefix] = valueStart - cursor.at;
    known[slot + valueSize] = valueEnd - valueStart;
    known[slot + size] = end - cursor.at;
    known[slot + keyStart] = from;
    known[slot + keyEnd] = to;
    list.add(from, to, valueStart, valueEnd);
    cursor.at = end;
  }
}

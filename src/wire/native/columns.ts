import { isUtf8 } from 'node:buffer';
import {
  ByteSource,
  copyBytes,
  growSource,
  notAscii,
  sourceOf,
  varintSize,
  writeCount,
  writeVarint,
} from './bytes.ts';
import { Dictionary, repair, type TextTally } from './dictionary.ts';

/**
 * Columns of a block under construction, in ClickHouse's FORMAT Native. They are cleared and filled again for the next
 * block: their buffers grow to the size of a block, and a row costs no objects. Sizes are exact, so that a block is
 * allocated once.
 */
export type Column = WritableColumn & {
  readonly type: string;
  clear(): void;
};

/** A column that knows whether every row has the default of its type. */
export type OmittableColumn = Column & { readonly isDefault: boolean };

const isZero = (numbers: Uint8Array | Uint32Array, length: number): boolean => {
  for (let index = 0; index < length; index++) if (numbers[index] !== 0) return false;
  return true;
};

/** The interface of a column for the writer of a block. */
export type WritableColumn = {
  /** Bytes that `writePrefix` and `write` take together. */
  size(): number;
  /** Writes the prefix of the type before its data; nested types write theirs in order. Returns the end. */
  writePrefix(target: Buffer, at: number): number;
  /** Writes the rows. Returns their end. */
  write(target: Buffer, at: number): number;
};

// Small, because a request may touch many days, each with a block; the usual block is a reused one.
export const rowsStart = 16;
const bytesStart = 256;
/** The next block frees buffers that one block made larger than this. */
export const keptBytesMax = 512 * 1024;

/** 64-bit values as two halves, least significant first: UInt64, Int64, DateTime64 and offsets alike. */
export class WordColumn implements Column {
  readonly type: string;
  private words = new Uint32Array(2 * rowsStart);
  private length = 0;

  constructor(type: string) {
    this.type = type;
  }

  get rows(): number {
    return this.length / 2;
  }

  get isDefault(): boolean {
    return isZero(this.words, this.length);
  }

  push(low: number, high: number): void {
    if (this.length === this.words.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[this.length] = low;
    this.words[this.length + 1] = high;
    this.length += 2;
  }

  /** Appends the first `count` values, as halves one after the other. */
  pushFirst(words: Uint32Array, count: number): void {
    const { length } = this;
    if (length + 2 * count > this.words.length) {
      const larger = new Uint32Array(Math.max(2 * this.words.length, length + 2 * count));
      larger.set(this.words);
      this.words = larger;
    }
    const { words: target } = this;
    for (let index = 0; index < 2 * count; index++) target[length + index] = words[index] ?? 0;
    this.length = length + 2 * count;
  }

  size(): number {
    return 4 * this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  // Every machine that Node runs on is little endian, as the format is.
  write(target: Buffer, at: number): number {
    target.set(new Uint8Array(this.words.buffer, 0, 4 * this.length), at);
    return at + 4 * this.length;
  }

  clear(): void {
    this.length = 0;
    if (this.words.byteLength > keptBytesMax) this.words = new Uint32Array(2 * rowsStart);
  }
}

/** The bytes of a row in the columns of small numbers. DateTime is seconds since the epoch. */
export const numberWidths = { UInt8: 1, Bool: 1, DateTime: 4, UInt32: 4, Int32: 4 } as const;

/** Small numbers. Of a negative one the column has the two's complement. */
export class NumberColumn implements Column {
  readonly type: keyof typeof numberWidths;
  private numbers: Uint8Array | Uint32Array;
  private length = 0;

  constructor(type: keyof typeof numberWidths) {
    this.type = type;
    this.numbers = this.newNumbers(rowsStart);
  }

  get isDefault(): boolean {
    return isZero(this.numbers, this.length);
  }

  push(value: number): void {
    if (this.length === this.numbers.length) {
      const larger = this.newNumbers(2 * this.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers[this.length++] = value;
  }

  size(): number {
    return numberWidths[this.type] * this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    target.set(new Uint8Array(this.numbers.buffer, 0, this.size()), at);
    return at + this.size();
  }

  clear(): void {
    this.length = 0;
    if (this.numbers.byteLength > keptBytesMax) this.numbers = this.newNumbers(rowsStart);
  }

  private newNumbers(length: number): Uint8Array | Uint32Array {
    return numberWidths[this.type] === 1 ? new Uint8Array(length) : new Uint32Array(length);
  }
}

/** One 64-bit value for all rows of a block. */
export class ConstantColumn implements Column {
  readonly type: string;
  rows = 0;
  private readonly value = new Uint32Array(2);

  constructor(type: string) {
    this.type = type;
  }

  set(low: number, high: number): void {
    this.value[0] = low;
    this.value[1] = high;
  }

  size(): number {
    return 8 * this.rows;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    const end = at + 8 * this.rows;
    target.fill(new Uint8Array(this.value.buffer), at, end);
    return end;
  }

  clear(): void {
    this.rows = 0;
  }
}

/** String: a varint length and the bytes of each row. Bytes that are not UTF-8 become U+FFFD. */
export class TextColumn implements Column {
  readonly type = 'String';
  private readonly tally: TextTally;
  private texts = new ByteSource(Buffer.allocUnsafeSlow(bytesStart));
  private length = 0;

  constructor(tally: TextTally = { repairs: 0 }) {
    this.tally = tally;
  }

  /** The length of a text that is not empty is not 0. */
  get isDefault(): boolean {
    return isZero(this.texts.bytes, this.length);
  }

  /** Appends the bytes [start, end) of `source`. */
  push(source: ByteSource, start: number, end: number): void {
    const size = end - start;
    if (this.length + size + 5 > this.texts.bytes.length)
      this.texts = growSource(this.texts, this.length, size + 5);
    const at = writeVarint(this.texts.bytes, this.length, size);
    const any = copyBytes(source, start, size, this.texts, at);
    if ((any & notAscii) !== 0 && !isUtf8(source.bytes.subarray(start, end))) {
      this.tally.repairs++;
      const repaired = repair(source.bytes, start, end);
      return this.push(repaired, 0, repaired.bytes.length);
    }
    this.length = at + size;
  }

  pushEmpty(): void {
    if (this.length === this.texts.bytes.length) this.texts = growSource(this.texts, this.length, 1);
    this.texts.bytes[this.length++] = 0;
  }

  size(): number {
    return this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    target.set(this.texts.bytes.subarray(0, this.length), at);
    return at + this.length;
  }

  clear(): void {
    this.length = 0;
    if (this.texts.bytes.length > keptBytesMax)
      this.texts = new ByteSource(Buffer.allocUnsafeSlow(bytesStart));
  }
}

/** The flag that a block numbers its texts in its own dictionary, written before the numbers. */
const dictionaryVersion = 1;
const ownDictionary = 0x600;

const indexWidth = (entries: number): 1 | 2 | 4 => (entries <= 0x100 ? 1 : entries <= 0x10000 ? 2 : 4);

/** LowCardinality(String): each different text once, then a number a row. */
export class LowTextColumn implements Column {
  readonly type = 'LowCardinality(String)';
  readonly dictionary: Dictionary;
  private indexes = new Uint32Array(rowsStart);
  private length = 0;
  /** Number of the text pushed last: it is often the next one too. */
  private last = 0;

  constructor(tally?: TextTally) {
    this.dictionary = new Dictionary(tally);
  }

  /** A dictionary of one byte has only the empty text. */
  get isDefault(): boolean {
    return this.dictionary.length <= 1;
  }

  /** Appends the rows of a block: `width` bytes each at `start`, numbers that `numbers` has the dictionary's for. */
  pushBlock(block: Buffer, start: number, width: number, rows: number, numbers: Uint32Array): void {
    while (this.length + rows > this.indexes.length) this.widen();
    const { indexes, length } = this;
    if (width === 1) {
      for (let row = 0; row < rows; row++) indexes[length + row] = numbers[block[start + row] ?? 0] ?? 0;
    } else {
      for (let row = 0; row < rows; row++)
        indexes[length + row] = numbers[block.readUIntLE(start + row * width, width)] ?? 0;
    }
    this.length += rows;
  }

  /** Appends a row for each of these numbers, all of them this many times. */
  pushIndexes(indexes: readonly number[], times: number): void {
    const end = this.length + times * indexes.length;
    while (end > this.indexes.length) this.widen();
    const { indexes: target } = this;
    while (this.length < end)
      for (let place = 0; place < indexes.length; place++) target[this.length++] = indexes[place] ?? 0;
  }

  /** Appends this many rows with the dictionary's text of that number. */
  pushRows(index: number, rows: number): void {
    const end = this.length + rows;
    while (end > this.indexes.length) this.widen();
    while (this.length < end) this.indexes[this.length++] = index;
  }

  /** Appends a row for each of the first `count` numbers. */
  pushFirst(indexes: Int32Array, count: number): void {
    while (this.length + count > this.indexes.length) this.widen();
    const { indexes: target, length } = this;
    for (let place = 0; place < count; place++) target[length + place] = indexes[place] ?? 0;
    this.length = length + count;
  }

  /** Appends a row with the dictionary's text of that number. */
  pushIndex(index: number): void {
    if (this.length === this.indexes.length) this.widen();
    this.indexes[this.length++] = index;
  }

  private widen(): void {
    const larger = new Uint32Array(2 * this.indexes.length);
    larger.set(this.indexes);
    this.indexes = larger;
  }

  push(source: ByteSource, start: number, end: number): void {
    const { dictionary } = this;
    if (!dictionary.is(this.last, source, start, end)) this.last = dictionary.indexOf(source, start, end);
    this.pushIndex(this.last);
  }

  size(): number {
    if (this.length === 0) return 8;
    return 32 + this.dictionary.length + this.length * indexWidth(this.dictionary.count);
  }

  writePrefix(target: Buffer, at: number): number {
    return writeCount(target, at, dictionaryVersion);
  }

  write(target: Buffer, at: number): number {
    if (this.length === 0) return at;
    const { dictionary } = this;
    const width = indexWidth(dictionary.count);
    let to = writeCount(target, at, ownDictionary | (width >> 1));
    to = writeCount(target, to, dictionary.count);
    target.set(dictionary.texts.bytes.subarray(0, dictionary.length), to);
    to = writeCount(target, to + dictionary.length, this.length);
    return writeIndexes(target, to, this.indexes, this.length, width);
  }

  clear(): void {
    this.length = 0;
    this.dictionary.clear();
    if (this.indexes.byteLength > keptBytesMax) this.indexes = new Uint32Array(rowsStart);
  }
}

/** Writes numbers of one, two or four bytes, little endian; returns their end. */
const writeIndexes = (
  target: Uint8Array,
  at: number,
  indexes: Uint32Array,
  length: number,
  width: 1 | 2 | 4,
): number => {
  if (width === 1) {
    for (let row = 0; row < length; row++) target[at + row] = indexes[row] ?? 0;
    return at + length;
  }
  let to = at;
  for (let row = 0; row < length; row++) {
    const index = indexes[row] ?? 0;
    target[to++] = index;
    target[to++] = index >>> 8;
    if (width === 2) continue;
    target[to++] = index >>> 16;
    target[to++] = index >>> 24;
  }
  return to;
};

/** Map(K, V): the caller appends keys and values, then ends the row. */
export class MapColumn<Keys extends Column, Values extends Column> implements Column {
  readonly type: string;
  readonly keys: Keys;
  readonly values: Values;
  private readonly offsets: WordColumn;
  private entries = 0;

  constructor(keys: Keys, values: Values, offsets = new WordColumn('UInt64')) {
    this.type = `Map(${keys.type}, ${values.type})`;
    this.keys = keys;
    this.values = values;
    this.offsets = offsets;
  }

  get isDefault(): boolean {
    return this.entries === 0;
  }

  /** Ends a row with this number of keys and values. */
  endRow(entries: number): void {
    this.entries += entries;
    this.offsets.push(this.entries, 0);
  }

  /** Ends this many rows with as many keys and values each. */
  endRows(entries: number, rows: number): void {
    for (let row = 0; row < rows; row++) this.endRow(entries);
  }

  size(): number {
    return this.offsets.size() + this.keys.size() + this.values.size();
  }

  writePrefix(target: Buffer, at: number): number {
    return this.values.writePrefix(target, this.keys.writePrefix(target, at));
  }

  write(target: Buffer, at: number): number {
    const afterKeys = this.keys.write(target, this.offsets.write(target, at));
    return this.values.write(target, afterKeys);
  }

  clear(): void {
    this.entries = 0;
    this.offsets.clear();
    this.keys.clear();
    this.values.clear();
  }
}

/** Array(T) over a column of its items; arrays of one Nested share their offsets. */
export class ArrayColumn<Items extends Column> implements Column {
  readonly type: string;
  readonly items: Items;
  private readonly offsets: WordColumn;

  constructor(items: Items, offsets: WordColumn) {
    this.type = `Array(${items.type})`;
    this.items = items;
    this.offsets = offsets;
  }

  size(): number {
    return this.offsets.size() + this.items.size();
  }

  writePrefix(target: Buffer, at: number): number {
    return this.items.writePrefix(target, at);
  }

  write(target: Buffer, at: number): number {
    return this.items.write(target, this.offsets.write(target, at));
  }

  clear(): void {
    this.offsets.clear();
    this.items.clear();
  }
}

/**
 * A column with the bytes that introduce it in a block: its name and its type. `omittable` is the same column where a block leaves
 * it out when every row has the default of its type, which ClickHouse then fills in.
 */
export type NamedColumn<C extends WritableColumn = Column> = {
  readonly head: Buffer;
  readonly column: C;
  readonly omittable?: OmittableColumn;
};

export const nameColumn = (name: string, column: Column): NamedColumn => {
  const texts = new TextColumn();
  for (const text of [name, column.type]) texts.push(sourceOf(text), 0, Buffer.byteLength(text));
  const head = Buffer.alloc(texts.size());
  texts.write(head, 0);
  return { head, column };
};

/** One block: the named columns with this number of rows each. Blocks one after the other are one INSERT's body. */
export const encodeBlock = (columns: readonly NamedColumn<WritableColumn>[], rows: number): Buffer => {
  const sent = columns.filter(({ omittable }) => omittable?.isDefault !== true);
  let size = varintSize(sent.length) + varintSize(rows);
  for (const { head, column } of sent) size += head.length + column.size();
  const block = Buffer.allocUnsafeSlow(size);
  let at = writeVarint(block, writeVarint(block, 0, sent.length), rows);
  for (const { head, column } of sent) {
    block.set(head, at);
    at = column.write(block, column.writePrefix(block, at + head.length));
  }
  return block;
};

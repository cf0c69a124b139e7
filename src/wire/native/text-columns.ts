import { isUtf8 } from 'node:buffer';
import { ByteSource, copyBytes, growSource, notAscii, writeCount, writeVarint } from './bytes.ts';
import { type Column, isZero, keptBytesMax, rowsStart } from './column.ts';
import { Dictionary, repair, repairedEnd, type TextTally } from './dictionary.ts';

// Small, as `rowsStart` is.
const bytesStart = 256;

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
      return this.push(repaired, 0, repairedEnd(repaired, this.tally));
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

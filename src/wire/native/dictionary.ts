import { isUtf8 } from 'node:buffer';
import { ByteSource, copyBytes, growSource, isSame, limitedEnd, notAscii, writeVarint } from './bytes.ts';

const tableSizeStart = 16;
/** The next block frees a table or a text buffer that one block made larger. */
const keptEntriesMax = 4096;
const keptBytesMax = 256 * 1024;
const bytesStart = 256;

/** Different in each process, so that no sender can prepare texts with equal hashes. */
const hashSeed = Math.floor(Math.random() * 2 ** 32) | 1;

const hashOf = ({ bytes }: ByteSource, start: number, end: number): number => {
  let hash = hashSeed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
};

/** The most bytes of a text, and the counts that the columns of one block share. */
export type TextTally = {
  /** Texts that were not UTF-8 and got U+FFFD, which has three bytes. */
  repairs: number;
  /** Texts that were truncated to the limit. */
  cutValues?: number;
  /** No limit where it is absent. */
  bytesMax?: number;
};

/**
 * The different texts of one column of a block, numbered in the order of their first use. `texts` up to `length` are
 * those texts as FORMAT Native writes a String column, so that a finished dictionary is copied whole.
 */
export class Dictionary {
  texts = new ByteSource(Buffer.allocUnsafeSlow(bytesStart));
  length = 0;
  count = 0;
  private readonly tally: TextTally;
  private starts = new Int32Array(tableSizeStart);
  private ends = new Int32Array(tableSizeStart);
  private hashes = new Int32Array(tableSizeStart);
  private table = new Int32Array(2 * tableSizeStart);

  constructor(tally: TextTally = { repairs: 0 }) {
    this.tally = tally;
  }

  /** Number of the text, which is added when it is new. */
  indexOf(source: ByteSource, start: number, end: number): number {
    const hash = hashOf(source, start, end);
    const mask = this.table.length - 1;
    let place = hash & mask;
    for (;;) {
      const entry = this.table[place] ?? 0;
      if (entry === 0) return this.add(source, start, end, hash, place);
      if (this.hashes[entry - 1] === hash && this.is(entry - 1, source, start, end)) return entry - 1;
      place = (place + 1) & mask;
    }
  }

  /** Whether number `index` is this text. False for an unused number. */
  is(index: number, source: ByteSource, start: number, end: number): boolean {
    if (index >= this.count) return false;
    const at = this.starts[index] ?? 0;
    const size = end - start;
    return (this.ends[index] ?? 0) - at === size && isSame(this.texts, at, source, start, size);
  }

  clear(): void {
    if (this.texts.bytes.length > keptBytesMax)
      this.texts = new ByteSource(Buffer.allocUnsafeSlow(bytesStart));
    if (this.starts.length > keptEntriesMax) {
      this.starts = new Int32Array(tableSizeStart);
      this.ends = new Int32Array(tableSizeStart);
      this.hashes = new Int32Array(tableSizeStart);
      this.table = new Int32Array(2 * tableSizeStart);
    } else if (this.count > 0) this.table.fill(0);
    this.length = 0;
    this.count = 0;
  }

  private add(source: ByteSource, start: number, end: number, hash: number, place: number): number {
    const index = this.count;
    if (index === this.starts.length) {
      this.growTable();
      return this.indexOf(source, start, end);
    }
    const size = end - start;
    if (this.length + size + 5 > this.texts.bytes.length)
      this.texts = growSource(this.texts, this.length, size + 5);
    const from = writeVarint(this.texts.bytes, this.length, size);
    const any = copyBytes(source, start, size, this.texts, from);
    if ((any & notAscii) !== 0 && !isUtf8(source.bytes.subarray(start, end)))
      return this.indexOfRepaired(source, start, end);
    this.starts[index] = from;
    this.ends[index] = from + size;
    this.hashes[index] = hash;
    this.table[place] = index + 1;
    this.length = from + size;
    this.count = index + 1;
    return index;
  }

  private indexOfRepaired({ bytes }: ByteSource, start: number, end: number): number {
    this.tally.repairs++;
    const repaired = repair(bytes, start, end);
    return this.indexOf(repaired, 0, repairedEnd(repaired, this.tally));
  }

  private growTable(): void {
    const size = this.starts.length * 2;
    this.starts = widened(this.starts, size);
    this.ends = widened(this.ends, size);
    this.hashes = widened(this.hashes, size);
    this.table = new Int32Array(2 * size);
    const mask = this.table.length - 1;
    for (let index = 0; index < this.count; index++) {
      let place = (this.hashes[index] ?? 0) & mask;
      while (this.table[place] !== 0) place = (place + 1) & mask;
      this.table[place] = index + 1;
    }
  }
}

const widened = (array: Int32Array, size: number): Int32Array<ArrayBuffer> => {
  const result = new Int32Array(size);
  result.set(array);
  return result;
};

/** The end of a repaired text within the limit; one that is longer is counted. */
export const repairedEnd = ({ bytes }: ByteSource, tally: TextTally): number => {
  const { bytesMax = bytes.length } = tally;
  if (bytes.length > bytesMax) tally.cutValues = (tally.cutValues ?? 0) + 1;
  return limitedEnd(bytes, bytesMax);
};

/** The same text with U+FFFD for bytes that are not UTF-8. */
export const repair = (bytes: Uint8Array, start: number, end: number): ByteSource =>
  new ByteSource(Buffer.from(Buffer.from(bytes.subarray(start, end)).toString('utf8')));

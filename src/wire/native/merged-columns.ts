import {
  type BlockCursor,
  insideOf,
  nullableWidth,
  numberWidth,
  partsOfMap,
  takeLowRows,
  takeLowWidth,
  UnreadableBlock,
} from './block-cursor.ts';
import { sourceOf, writeCount } from './bytes.ts';
import type { WritableColumn } from './column.ts';
import { LowTextColumn } from './text-columns.ts';

/**
 * A column that joins the same column of several blocks. Bytes that are the same in the result are not decoded: numbers
 * and texts are copied block by block, ends of arrays are shifted, and dictionaries become one.
 */
export type MergedColumn = WritableColumn & {
  /** Appends the data of this many rows at the cursor, and skips it. Throws UnreadableBlock; the merger is then unusable. */
  add(cursor: BlockCursor, rows: number): void;
  /** Appends this many rows of the default of the type. */
  addDefaults(rows: number): void;
  /** Frees what later merges can use. The column is then empty. */
  release(): void;
};

/** Skips the data of this many rows. */
type Skip = (cursor: BlockCursor, rows: number) => void;

const skipNumbers =
  (width: number): Skip =>
  (cursor, rows) => {
    cursor.take(width * rows);
  };

const skipTexts: Skip = (cursor, rows) => cursor.skipTexts(rows);

/** Numbers and texts: the bytes of the blocks one behind the other. */
class MergedBytes implements MergedColumn {
  private readonly skip: Skip;
  /** Bytes of a default, which are 0: a number's, or the length of an empty text. */
  private readonly width: number;
  /** The block of each piece; undefined for defaults. */
  private readonly blocks: (Buffer | undefined)[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private bytes = 0;

  constructor(skip: Skip, width: number) {
    this.skip = skip;
    this.width = width;
  }

  add(cursor: BlockCursor, rows: number): void {
    const start = cursor.at;
    this.skip(cursor, rows);
    if (start === cursor.at) return;
    this.blocks.push(cursor.bytes);
    this.starts.push(start);
    this.ends.push(cursor.at);
    this.bytes += cursor.at - start;
  }

  addDefaults(rows: number): void {
    this.blocks.push(undefined);
    this.starts.push(0);
    this.ends.push(this.width * rows);
    this.bytes += this.width * rows;
  }

  release(): void {
    this.blocks.length = this.starts.length = this.ends.length = this.bytes = 0;
  }

  size(): number {
    return this.bytes;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    let to = at;
    // Not by views: there would be one for each block and column.
    for (let index = 0; index < this.blocks.length; index++) {
      const start = this.starts[index] ?? 0;
      const end = this.ends[index] ?? 0;
      const block = this.blocks[index];
      if (block === undefined) target.fill(0, to, to + end);
      else block.copy(target, to, start, end);
      to += end - start;
    }
    return to;
  }
}

/** Numbers that may be null: the bytes that say so of all blocks, then the numbers. */
class MergedNullable implements MergedColumn {
  private readonly nulls = new MergedBytes(skipNumbers(1), 1);
  private readonly values: MergedBytes;
  private rows = 0;
  /** Rows of defaults, from and to in turn: of these the byte is 1. */
  private readonly defaults: number[] = [];

  constructor(width: number) {
    this.values = new MergedBytes(skipNumbers(width), width);
  }

  add(cursor: BlockCursor, rows: number): void {
    this.nulls.add(cursor, rows);
    this.values.add(cursor, rows);
    this.rows += rows;
  }

  addDefaults(rows: number): void {
    this.nulls.addDefaults(rows);
    this.values.addDefaults(rows);
    this.defaults.push(this.rows, this.rows + rows);
    this.rows += rows;
  }

  release(): void {
    this.nulls.release();
    this.values.release();
    this.rows = this.defaults.length = 0;
  }

  size(): number {
    return this.nulls.size() + this.values.size();
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    const afterNulls = this.nulls.write(target, at);
    for (let index = 0; index < this.defaults.length; index += 2)
      target.fill(1, at + (this.defaults[index] ?? 0), at + (this.defaults[index + 1] ?? 0));
    return this.values.write(target, afterNulls);
  }
}

const requireBelow = (entries: number, bytes: Buffer, start: number, width: number, rows: number): void => {
  // A number of one byte is never larger.
  if (width === 1 && entries >= 256) return;
  let highest = 0;
  for (let row = 0; row < rows; row++) {
    const index = width === 1 ? (bytes[start + row] ?? 0) : bytes.readUIntLE(start + row * width, width);
    if (index > highest) highest = index;
  }
  if (highest >= entries) throw new UnreadableBlock('a row refers past the end of its dictionary');
};

/** Columns for reuse: their buffers have the size that merges need. */
const spare: LowTextColumn[] = [];
const spareMax = 64;
const noText = sourceOf('');

/** LowCardinality(String): the texts of all dictionaries once, and the rows' numbers by the new one. */
class MergedLow implements MergedColumn {
  private readonly merged = spare.pop() ?? new LowTextColumn();
  /** By number in a block: the new number of its text. */
  private numbers = new Uint32Array(64);

  add(cursor: BlockCursor, rows: number): void {
    if (rows === 0) return;
    const width = takeLowWidth(cursor);
    const entries = this.addDictionary(cursor, cursor.count(1));
    const start = takeLowRows(cursor, rows, width);
    requireBelow(entries, cursor.bytes, start, width, rows);
    this.merged.pushBlock(cursor.bytes, start, width, rows, this.numbers);
  }

  addDefaults(rows: number): void {
    for (let row = 0; row < rows; row++) this.merged.push(noText, 0, 0);
  }

  release(): void {
    this.merged.clear();
    if (spare.length < spareMax) spare.push(this.merged);
  }

  /** Finds the new number of each text; returns their count. */
  private addDictionary(cursor: BlockCursor, entries: number): number {
    if (entries > this.numbers.length) this.numbers = new Uint32Array(2 * entries);
    const { source } = cursor;
    const { dictionary } = this.merged;
    const { numbers } = this;
    for (let entry = 0; entry < entries; entry++) {
      const size = cursor.varint();
      const start = cursor.take(size);
      // Blocks of one sender have mostly the same texts in the same order.
      if (!dictionary.is(numbers[entry] ?? 0, source, start, start + size))
        numbers[entry] = dictionary.indexOf(source, start, start + size);
    }
    return entries;
  }

  size(): number {
    return this.merged.size();
  }

  writePrefix(target: Buffer, at: number): number {
    return this.merged.writePrefix(target, at);
  }

  write(target: Buffer, at: number): number {
    return this.merged.write(target, at);
  }
}

/** Array and Map: ends of the rows among all items, and columns of the items. */
class MergedLists implements MergedColumn {
  private readonly parts: readonly MergedColumn[];
  /** The block of some rows; undefined for empty lists. */
  private readonly cursors: (BlockCursor | undefined)[] = [];
  private readonly starts: number[] = [];
  private readonly rows: number[] = [];
  private readonly items: number[] = [];
  private rowsTotal = 0;

  constructor(parts: readonly MergedColumn[]) {
    this.parts = parts;
  }

  add(cursor: BlockCursor, rows: number): void {
    const items = cursor.skipOffsets(rows);
    this.cursors.push(cursor);
    this.starts.push(cursor.at - 8 * rows);
    this.rows.push(rows);
    this.items.push(items);
    this.rowsTotal += rows;
    for (const part of this.parts) part.add(cursor, items);
  }

  addDefaults(rows: number): void {
    this.cursors.push(undefined);
    this.starts.push(0);
    this.rows.push(rows);
    this.items.push(0);
    this.rowsTotal += rows;
  }

  release(): void {
    this.cursors.length = this.starts.length = this.rows.length = this.items.length = this.rowsTotal = 0;
    for (const part of this.parts) part.release();
  }

  size(): number {
    return this.parts.reduce((total, part) => total + part.size(), 8 * this.rowsTotal);
  }

  writePrefix(target: Buffer, at: number): number {
    return this.parts.reduce((to, part) => part.writePrefix(target, to), at);
  }

  write(target: Buffer, at: number): number {
    const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
    let to = at;
    let before = 0;
    for (const [index, cursor] of this.cursors.entries()) {
      const end = to + 8 * (this.rows[index] ?? 0);
      const items = this.items[index] ?? 0;
      if (cursor === undefined) for (; to < end; to += 8) writeCount(target, to, before);
      else writeEnds(view, to, end, before, items, cursor.source.view, this.starts[index] ?? 0);
      to = end;
      before += items;
    }
    return this.parts.reduce((end, part) => part.write(target, end), to);
  }
}

/** Copies the ends of a block's rows to [at, end), each greater by `before`. */
const writeEnds = (
  target: DataView,
  at: number,
  end: number,
  before: number,
  items: number,
  source: DataView,
  start: number,
): void => {
  const isWide = before + items >= 2 ** 32;
  let from = start;
  for (let to = at; to < end; to += 8) {
    // Below 2³² in each block, as the reader has checked.
    const value = before + source.getUint32(from, true);
    target.setUint32(to, value, true);
    target.setUint32(to + 4, isWide ? Math.floor(value / 2 ** 32) : 0, true);
    from += 8;
  }
};

/** A column of this type to merge into. Throws UnreadableBlock for a type that Tidemark does not use. */
export const mergedColumn = (type: string): MergedColumn => {
  if (type === 'String') return new MergedBytes(skipTexts, 1);
  if (type === 'LowCardinality(String)') return new MergedLow();
  const width = numberWidth(type);
  if (width !== undefined) return new MergedBytes(skipNumbers(width), width);
  const nullable = nullableWidth(type);
  if (nullable !== undefined) return new MergedNullable(nullable);
  const array = insideOf(type, 'Array');
  if (array !== undefined) return new MergedLists([mergedColumn(array)]);
  const map = insideOf(type, 'Map');
  if (map !== undefined) return new MergedLists(partsOfMap(map).map(mergedColumn));
  throw new UnreadableBlock(`unknown column type ${type}`);
};

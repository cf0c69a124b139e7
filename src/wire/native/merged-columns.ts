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
import { ByteSource, writeCount } from './bytes.ts';
import { LowTextColumn, type WritableColumn } from './columns.ts';

/**
 * A column that joins the same column of several blocks. Bytes that are the same in the result are not decoded: numbers
 * and texts are copied block by block, ends of arrays are shifted, and dictionaries become one.
 */
export type MergedColumn = WritableColumn & {
  /** Appends the data of this many rows at the cursor, and skips it. Throws UnreadableBlock; the merger is then unusable. */
  add(cursor: BlockCursor, rows: number): void;
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
  private readonly blocks: Buffer[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private bytes = 0;

  constructor(skip: Skip) {
    this.skip = skip;
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

  size(): number {
    return this.bytes;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    let to = at;
    // Not by views: there would be one for each block and column.
    for (let index = 0; index < this.blocks.length; index++)
      to += this.blocks[index]?.copy(target, to, this.starts[index], this.ends[index]) ?? 0;
    return to;
  }
}

/** Numbers that may be null: the bytes that say so of all blocks, then the numbers. */
class MergedNullable implements MergedColumn {
  private readonly nulls = new MergedBytes(skipNumbers(1));
  private readonly values: MergedBytes;

  constructor(width: number) {
    this.values = new MergedBytes(skipNumbers(width));
  }

  add(cursor: BlockCursor, rows: number): void {
    this.nulls.add(cursor, rows);
    this.values.add(cursor, rows);
  }

  size(): number {
    return this.nulls.size() + this.values.size();
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    return this.values.write(target, this.nulls.write(target, at));
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

/** LowCardinality(String): the texts of all dictionaries once, and the rows' numbers by the new one. */
class MergedLow implements MergedColumn {
  private readonly merged = new LowTextColumn();
  private numbers = new Uint32Array(256);

  add(cursor: BlockCursor, rows: number): void {
    if (rows === 0) return;
    const width = takeLowWidth(cursor);
    const entries = this.addDictionary(cursor, cursor.count(1));
    const start = takeLowRows(cursor, rows, width);
    requireBelow(entries, cursor.bytes, start, width, rows);
    this.merged.pushBlock(cursor.bytes, start, width, rows, this.numbers);
  }

  /** Finds the new number of each text; returns their count. */
  private addDictionary(cursor: BlockCursor, entries: number): number {
    if (entries > this.numbers.length) this.numbers = new Uint32Array(2 * entries);
    const source = new ByteSource(cursor.bytes);
    for (let entry = 0; entry < entries; entry++) {
      const size = cursor.varint();
      const start = cursor.take(size);
      this.numbers[entry] = this.merged.dictionary.indexOf(source, start, start + size);
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
  private readonly cursors: BlockCursor[] = [];
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

  size(): number {
    return this.parts.reduce((total, part) => total + part.size(), 8 * this.rowsTotal);
  }

  writePrefix(target: Buffer, at: number): number {
    return this.parts.reduce((to, part) => part.writePrefix(target, to), at);
  }

  write(target: Buffer, at: number): number {
    let to = at;
    let before = 0;
    for (const [index, { bytes }] of this.cursors.entries()) {
      let from = this.starts[index] ?? 0;
      for (let row = 0; row < (this.rows[index] ?? 0); row++) {
        // Below 2³², as the reader has checked.
        to = writeCount32(target, to, before + bytes.readUInt32LE(from));
        from += 8;
      }
      before += this.items[index] ?? 0;
    }
    return this.parts.reduce((end, part) => part.write(target, end), to);
  }
}

const writeCount32 = (target: Buffer, at: number, value: number): number => {
  if (value >= 2 ** 32) return writeCount(target, at, value);
  target.writeUInt32LE(value, at);
  target.writeUInt32LE(0, at + 4);
  return at + 8;
};

/** A column of this type to merge into. Throws UnreadableBlock for a type that Tidemark does not use. */
export const mergedColumn = (type: string): MergedColumn => {
  if (type === 'String') return new MergedBytes(skipTexts);
  if (type === 'LowCardinality(String)') return new MergedLow();
  const width = numberWidth(type);
  if (width !== undefined) return new MergedBytes(skipNumbers(width));
  const nullable = nullableWidth(type);
  if (nullable !== undefined) return new MergedNullable(nullable);
  const array = insideOf(type, 'Array');
  if (array !== undefined) return new MergedLists([mergedColumn(array)]);
  const map = insideOf(type, 'Map');
  if (map !== undefined) return new MergedLists(partsOfMap(map).map(mergedColumn));
  throw new UnreadableBlock(`unknown column type ${type}`);
};

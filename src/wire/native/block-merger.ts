import { BlockCursor, readVersion, UnreadableBlock } from './block-cursor.ts';
import { ByteSource, isSame } from './bytes.ts';
import type { NamedColumn } from './column.ts';
import { encodeBlock } from './encode-block.ts';
import { type MergedColumn, mergedColumn } from './merged-columns.ts';
import { mayLack } from './omitted-columns.ts';

/**
 * Limits of a merged block: ClickHouse gains little beyond them, and memory holds the bytes twice until the insert is
 * done.
 */
export type MergeBounds = { readonly rowsMax: number; readonly bytesMax: number };

/** `versions` is the number of dictionaries, whose versions stand before the data; `rows` those that the column has so far. */
type HeadedColumn = NamedColumn<MergedColumn> & {
  readonly source: ByteSource;
  readonly name: string;
  readonly versions: number;
  rows: number;
};

const countsOf = (cursor: BlockCursor): { columns: number; rows: number } => {
  const columns = cursor.varint();
  const rows = cursor.varint();
  if (rows > cursor.bytes.length) throw new UnreadableBlock('a count exceeds the bytes of the block');
  return { columns, rows };
};

/** A new column with the head at the cursor, which it skips. */
const headedAt = (cursor: BlockCursor): HeadedColumn => {
  const start = cursor.at;
  const name = cursor.text();
  const type = cursor.text();
  if (type.length > 200) throw new UnreadableBlock('the name of a column type is too long');
  const head = cursor.bytes.subarray(start, cursor.at);
  const versions = type.split('LowCardinality(String)').length - 1;
  return { head, source: new ByteSource(head), name, versions, rows: 0, column: mergedColumn(type) };
};

/** Whether the bytes at the cursor are the head of this column; if so, skips it. */
const isAt = (cursor: BlockCursor, { source: head }: HeadedColumn): boolean => {
  const { at, source } = cursor;
  const { length } = head.bytes;
  if (at + length > source.bytes.length || !isSame(source, at, head, 0, length)) return false;
  cursor.at = at + length;
  return true;
};

const differ = (): UnreadableBlock => new UnreadableBlock('the columns differ from those of the first block');

/** Blocks that become one. A column that a block may lack has its defaults for the rows of those without it. */
class Merger {
  private readonly columns: HeadedColumn[] = [];
  private rows = 0;

  /** Throws UnreadableBlock; the merger is then unusable. */
  add(block: Uint8Array): void {
    const cursor = new BlockCursor(block);
    const { columns, rows } = countsOf(cursor);
    let place = 0;
    for (let index = 0; index < columns; index++) {
      place = this.placeOf(cursor, place);
      const headed = this.columns[place++];
      // A column that it has twice.
      if (headed === undefined || headed.rows !== this.rows) throw differ();
      for (let version = 0; version < headed.versions; version++) readVersion(cursor);
      headed.column.add(cursor, rows);
      headed.rows += rows;
    }
    this.rows += rows;
    for (const headed of this.columns) if (headed.rows < this.rows) this.lack(headed, rows);
    if (cursor.at !== cursor.bytes.length) throw new UnreadableBlock('unexpected bytes after the block');
  }

  finish(): Buffer {
    return encodeBlock(this.columns, this.rows);
  }

  release(): void {
    for (const { column } of this.columns) column.release();
  }

  /**
   * The place of the column whose head is at the cursor: nearly always the next one. ClickHouse takes columns by their names, and blocks that
   * lack different ones do not tell in which order these come.
   */
  private placeOf(cursor: BlockCursor, next: number): number {
    // The first block has all of its columns once.
    const length = this.rows === 0 ? 0 : this.columns.length;
    for (let step = 0; step < length; step++) {
      const place = (next + step) % length;
      const headed = this.columns[place];
      if (headed !== undefined && isAt(cursor, headed)) return place;
    }
    return this.insert(cursor, next);
  }

  /** Adds the defaults of a column that the block of `rows` rows lacks. */
  private lack(headed: HeadedColumn, rows: number): void {
    if (!mayLack(headed.name)) throw differ();
    headed.column.addDefaults(rows);
    headed.rows += rows;
  }

  /** A column that no block before had. */
  private insert(cursor: BlockCursor, place: number): number {
    const headed = headedAt(cursor);
    if (this.rows > 0) {
      if (this.columns.some(({ name }) => name === headed.name)) throw differ();
      this.lack(headed, this.rows);
    }
    this.columns.splice(place, 0, headed);
    return place;
  }
}

/** Blocks of the same columns become one. Throws UnreadableBlock where one of them is none, or has other columns. */
const mergeAll = (blocks: readonly Uint8Array[]): Buffer => {
  const merger = new Merger();
  try {
    for (const block of blocks) merger.add(block);
    return merger.finish();
  } finally {
    merger.release();
  }
};

/**
 * The rows of a block, and the head of its first column, which tells tables apart; undefined for a block without rows, which states
 * no types, and for malformed bytes.
 */
const shapeOf = (block: Uint8Array): { first: string; rows: number } | undefined => {
  try {
    const cursor = new BlockCursor(block);
    const { rows } = countsOf(cursor);
    const start = cursor.at;
    cursor.text();
    cursor.text();
    return rows === 0 ? undefined : { first: cursor.bytes.toString('latin1', start, cursor.at), rows };
  } catch (error) {
    if (error instanceof UnreadableBlock) return undefined;
    throw error;
  }
};

const mergedOrSame = (blocks: readonly Uint8Array[]): readonly Uint8Array[] => {
  if (blocks.length < 2) return blocks;
  try {
    return [mergeAll(blocks)];
  } catch (error) {
    if (error instanceof UnreadableBlock) return blocks;
    throw error;
  }
};

type Group = { blocks: Uint8Array[]; rows: number; bytes: number };

/**
 * The same rows in fewer blocks of FORMAT Native: ClickHouse's work for a block of a hundred rows is twice that for the
 * same rows in a large one. Where a block lacks a column of `mayLack` that another has, its rows have the defaults; the bound of bytes
 * does not count those. Blocks that differ in other columns are returned unchanged. Rows of like blocks keep their order.
 */
export const mergeBlocks = (blocks: readonly Uint8Array[], bounds: MergeBounds): Uint8Array[] => {
  const result: Uint8Array[] = [];
  const groups = new Map<string, Group>();
  for (const block of blocks) {
    const shape = shapeOf(block);
    if (shape === undefined) {
      result.push(block);
      continue;
    }
    let group = groups.get(shape.first);
    if (group !== undefined && isFull(group, shape.rows, block.length, bounds)) {
      result.push(...mergedOrSame(group.blocks));
      group = undefined;
    }
    if (group === undefined) {
      group = { blocks: [], rows: 0, bytes: 0 };
      groups.set(shape.first, group);
    }
    group.blocks.push(block);
    group.rows += shape.rows;
    group.bytes += block.length;
  }
  for (const group of groups.values()) result.push(...mergedOrSame(group.blocks));
  return result;
};

const isFull = (group: Group, rows: number, bytes: number, { rowsMax, bytesMax }: MergeBounds): boolean =>
  group.rows + rows > rowsMax || group.bytes + bytes > bytesMax;

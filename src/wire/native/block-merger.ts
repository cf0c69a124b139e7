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

/** `versions` is the number of dictionaries, whose versions stand before the data. */
type HeadedColumn = NamedColumn<MergedColumn> & {
  readonly source: ByteSource;
  readonly name: string;
  readonly versions: number;
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
  return { head, source: new ByteSource(head), name, versions, column: mergedColumn(type) };
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
      place = this.placeOf(cursor, place, rows);
      const headed = this.columns[place++];
      if (headed === undefined) throw differ();
      for (let version = 0; version < headed.versions; version++) readVersion(cursor);
      headed.column.add(cursor, rows);
    }
    while (place < this.columns.length) place = this.lack(place, rows);
    if (cursor.at !== cursor.bytes.length) throw new UnreadableBlock('unexpected bytes after the block');
    this.rows += rows;
  }

  finish(): Buffer {
    return encodeBlock(this.columns, this.rows);
  }

  release(): void {
    for (const { column } of this.columns) column.release();
  }

  /** The place of the column whose head is at the cursor, behind those from `from` on that this block of `rows` rows lacks. */
  private placeOf(cursor: BlockCursor, from: number, rows: number): number {
    let place = from;
    for (;;) {
      const headed = this.columns[place];
      if (headed !== undefined && isAt(cursor, headed)) break;
      if (headed === undefined || !mayLack(headed.name)) return this.insert(cursor, from);
      place++;
    }
    for (let lacked = from; lacked < place; ) lacked = this.lack(lacked, rows);
    return place;
  }

  /** Adds the defaults of a column that the block of `rows` rows lacks; returns the next place. */
  private lack(place: number, rows: number): number {
    const headed = this.columns[place];
    if (headed === undefined || !mayLack(headed.name)) throw differ();
    headed.column.addDefaults(rows);
    return place + 1;
  }

  /** A column that no block before had. */
  private insert(cursor: BlockCursor, place: number): number {
    const headed = headedAt(cursor);
    if (this.rows > 0) {
      if (!mayLack(headed.name) || this.columns.some(({ name }) => name === headed.name)) throw differ();
      headed.column.addDefaults(this.rows);
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

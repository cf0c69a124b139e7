import { BlockCursor, readPrefix, UnreadableBlock } from './block-cursor.ts';
import { encodeBlock, type NamedColumn } from './columns.ts';
import { type MergedColumn, mergedColumn } from './merged-columns.ts';

/**
 * Limits of a merged block: ClickHouse gains little beyond them, and memory holds the bytes twice until the insert is
 * done.
 */
export type MergeBounds = { readonly rowsMax: number; readonly bytesMax: number };

type HeadedColumn = NamedColumn<MergedColumn> & { readonly type: string };

const countsOf = (cursor: BlockCursor): { columns: number; rows: number } => {
  const columns = cursor.varint();
  const rows = cursor.varint();
  if (rows > cursor.bytes.length) throw new UnreadableBlock('a count exceeds the bytes of the block');
  return { columns, rows };
};

/** Name and type of a column as the block has them, and the type. */
const headAt = (cursor: BlockCursor): { head: Buffer; type: string } => {
  const start = cursor.at;
  cursor.text();
  const type = cursor.text();
  if (type.length > 200) throw new UnreadableBlock('the name of a column type is too long');
  return { head: cursor.bytes.subarray(start, cursor.at), type };
};

/** Whether the bytes at the cursor are this head; if so, skips it. */
const isAt = (cursor: BlockCursor, head: Buffer): boolean => {
  const { bytes, at } = cursor;
  if (bytes.compare(head, 0, head.length, at, Math.min(bytes.length, at + head.length)) !== 0) return false;
  cursor.at = at + head.length;
  return true;
};

/** Blocks of the same columns become one. Throws UnreadableBlock where one of them is none, or has other columns. */
const mergeAll = (blocks: readonly Uint8Array[]): Buffer => {
  const columns: HeadedColumn[] = [];
  let rowsTotal = 0;
  for (const [index, block] of blocks.entries()) {
    const cursor = new BlockCursor(block);
    const counts = countsOf(cursor);
    if (index > 0 && counts.columns !== columns.length)
      throw new UnreadableBlock('the columns differ from those of the first block');
    for (let place = 0; place < counts.columns; place++) {
      let headed = columns[place];
      if (headed === undefined) {
        const { head, type } = headAt(cursor);
        headed = { head, type, column: mergedColumn(type) };
        columns.push(headed);
      } else if (!isAt(cursor, headed.head))
        throw new UnreadableBlock('the columns differ from those of the first block');
      readPrefix(cursor, headed.type);
      headed.column.add(cursor, counts.rows);
    }
    if (cursor.at !== cursor.bytes.length) throw new UnreadableBlock('unexpected bytes after the block');
    rowsTotal += counts.rows;
  }
  return encodeBlock(columns, rowsTotal);
};

/**
 * The key of blocks that can be merged; undefined for a block without rows, which states no types, and for malformed
 * bytes.
 */
const shapeOf = (block: Uint8Array): { columns: number; rows: number } | undefined => {
  try {
    const counts = countsOf(new BlockCursor(block));
    return counts.rows === 0 ? undefined : counts;
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
 * same rows in a large one. A block that lacks columns (a request without events does) is merged only with its like; a
 * block that cannot be merged is returned unchanged. Rows of like blocks keep their order.
 */
export const mergeBlocks = (blocks: readonly Uint8Array[], bounds: MergeBounds): Uint8Array[] => {
  const result: Uint8Array[] = [];
  const groups = new Map<number, Group>();
  for (const block of blocks) {
    const shape = shapeOf(block);
    if (shape === undefined) {
      result.push(block);
      continue;
    }
    let group = groups.get(shape.columns);
    if (group !== undefined && isFull(group, shape.rows, block.length, bounds)) {
      result.push(...mergedOrSame(group.blocks));
      group = undefined;
    }
    if (group === undefined) {
      group = { blocks: [], rows: 0, bytes: 0 };
      groups.set(shape.columns, group);
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

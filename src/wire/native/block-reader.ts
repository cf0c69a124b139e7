import {
  BlockCursor,
  insideOf,
  isNumberType,
  numberWidth,
  partsOfMap,
  readPrefix,
  rowsMax,
  skipData,
  type Texts,
  takeLowRows,
  takeLowWidth,
  UnreadableBlock,
} from './block-cursor.ts';
import { ByteSource } from './bytes.ts';
import type { Column } from './column.ts';
import { encodeBlock, nameColumn } from './encode-block.ts';
import { ArrayColumn, MapColumn } from './nested-columns.ts';
import { NumberColumn, WordColumn } from './number-columns.ts';
import { LowTextColumn, TextColumn } from './text-columns.ts';
import { NullableColumn } from './value-columns.ts';

type Words = {
  readonly kind: 'words';
  readonly type: string;
  readonly width: 1 | 4 | 8;
  readonly start: number;
};
type Plain = { readonly kind: 'texts'; readonly texts: Texts };
type Low = { readonly kind: 'low'; readonly dictionary: Texts; readonly indexes: Uint32Array };
type List = { readonly kind: 'array'; readonly offsets: Uint32Array; readonly items: ReadColumn };
type Pairs = {
  readonly kind: 'map';
  readonly offsets: Uint32Array;
  readonly keys: ReadColumn;
  readonly values: ReadColumn;
};
/** A byte that is 1 for null, and the values. */
type Nullable = { readonly kind: 'nullable'; readonly nulls: number; readonly values: Words };
type ReadColumn = Words | Plain | Low | List | Pairs | Nullable;

export { UnreadableBlock } from './block-cursor.ts';

/** A value of a row: text, a whole number (DateTime and DateTime64 in their own unit), a double, arrays and maps of these. */
export type NativeValue =
  | string
  | bigint
  | number
  | boolean
  | null
  | readonly NativeValue[]
  | ReadonlyMap<string, NativeValue>;

const readLow = (cursor: BlockCursor, rows: number): Low => {
  const nothing = new Uint32Array(0);
  if (rows === 0) return { kind: 'low', dictionary: { starts: nothing, ends: nothing }, indexes: nothing };
  const width = takeLowWidth(cursor);
  const dictionary = cursor.texts(cursor.count(1));
  const start = takeLowRows(cursor, rows, width);
  const indexes = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    const index = cursor.bytes.readUIntLE(start + row * width, width);
    if (index >= dictionary.starts.length)
      throw new UnreadableBlock('a row refers past the end of its dictionary');
    indexes[row] = index;
  }
  return { kind: 'low', dictionary, indexes };
};

const readNullable = (cursor: BlockCursor, type: string, rows: number): Nullable => {
  const width = numberWidth(type);
  if (width !== 8) throw new UnreadableBlock(`unknown column type Nullable(${type})`);
  const nulls = cursor.take(rows);
  return {
    kind: 'nullable',
    nulls,
    values: { kind: 'words', type, width, start: cursor.take(width * rows) },
  };
};

const readData = (cursor: BlockCursor, type: string, rows: number): ReadColumn => {
  if (type === 'String') return { kind: 'texts', texts: cursor.texts(rows) };
  if (type === 'LowCardinality(String)') return readLow(cursor, rows);
  const width = numberWidth(type);
  if (width !== undefined) return { kind: 'words', type, width, start: cursor.take(width * rows) };
  const inside = insideOf(type, 'Nullable');
  if (inside !== undefined) return readNullable(cursor, inside, rows);
  const array = insideOf(type, 'Array');
  const map = insideOf(type, 'Map');
  if (array === undefined && map === undefined) throw new UnreadableBlock(`unknown column type ${type}`);
  const offsets = cursor.offsets(rows);
  const items = offsets[rows - 1] ?? 0;
  if (array !== undefined) return { kind: 'array', offsets, items: readData(cursor, array, items) };
  const [keyType, valueType] = partsOfMap(map ?? '');
  const keys = readData(cursor, keyType, items);
  return { kind: 'map', offsets, keys, values: readData(cursor, valueType, items) };
};

/** A decoded block of FORMAT Native. Its columns are views of the block; a value is decoded when it is read. */
export class NativeBlock {
  readonly rows: number;
  private readonly bytes: Buffer;
  private readonly columns: ReadonlyMap<string, ReadColumn>;

  constructor(bytes: Buffer, rows: number, columns: ReadonlyMap<string, ReadColumn>) {
    this.bytes = bytes;
    this.rows = rows;
    this.columns = columns;
  }

  /** Names of the columns in the order sent. */
  get names(): string[] {
    return [...this.columns.keys()];
  }

  /** All values of a column; undefined when the block does not send it. */
  column(name: string): NativeValue[] | undefined {
    const column = this.columns.get(name);
    if (column === undefined) return undefined;
    return Array.from({ length: this.rows }, (_, row) => this.value(column, row));
  }

  /** A column of text; throws UnreadableBlock when the block has no such column. */
  texts(name: string): string[] {
    return this.columnOf(name).map((value) => {
      if (typeof value !== 'string') throw new UnreadableBlock(`${name} is not text`);
      return value;
    });
  }

  /** A column of numbers; throws UnreadableBlock when it is of another type. */
  words(name: string): bigint[] {
    return this.columnOf(name).map((value) => {
      if (typeof value !== 'bigint') throw new UnreadableBlock(`${name} is not a number`);
      return value;
    });
  }

  /** One row as an object of its columns. */
  row(row: number): Record<string, NativeValue> {
    return Object.fromEntries([...this.columns].map(([name, column]) => [name, this.value(column, row)]));
  }

  /** A block of the rows from number `from` (0 is the first) up to, not including, `to`. */
  slice(from: number, to: number): Buffer {
    return this.select(Uint32Array.from({ length: to - from }, (_, index) => from + index));
  }

  /** A block of the given rows, in their order. */
  select(rows: Uint32Array): Buffer {
    const source = new ByteSource(this.bytes);
    const columns = [...this.columns].map(([name, column]) =>
      nameColumn(name, copyColumn(source, column, rows)),
    );
    return encodeBlock(columns, rows.length);
  }

  /**
   * The different pairs of texts of the rows in two columns; throws UnreadableBlock when there is no such column of
   * text. For columns with dictionaries each pair is decoded once, not once for each row.
   */
  pairs(one: string, other: string): [string, string][] {
    const [left, right] = [this.columns.get(one), this.columns.get(other)];
    if (left?.kind !== 'low' || right?.kind !== 'low') {
      const others = this.texts(other);
      return this.texts(one).map((text, row) => [text, others[row] ?? '']);
    }
    const pairs = new Map<number, [string, string]>();
    const width = right.dictionary.starts.length;
    for (let row = 0; row < this.rows; row++) {
      const [first, second] = [left.indexes[row] ?? 0, right.indexes[row] ?? 0];
      const key = first * width + second;
      if (!pairs.has(key))
        pairs.set(key, [this.text(left.dictionary, first), this.text(right.dictionary, second)]);
    }
    return [...pairs.values()];
  }

  /**
   * For each text of the column `texts`, the least and the greatest number that its rows have in the column `words`; throws
   * UnreadableBlock when there is no such column of text, or of signed 64-bit numbers. It makes nothing for each row.
   */
  extremes(texts: string, words: string): Map<string, { readonly min: bigint; readonly max: bigint }> {
    const [text, word] = [this.columns.get(texts), this.columns.get(words)];
    if (text?.kind !== 'texts' || word?.kind !== 'words' || word.width !== 8)
      throw new UnreadableBlock(`${texts} or ${words} is missing, or of another type`);
    const rowsOf = new Map<string, { min: number; max: number }>();
    let known: { min: number; max: number } | undefined;
    for (let row = 0; row < this.rows; row++) {
      if (known === undefined || !this.isSameText(text.texts, row - 1, row)) {
        const name = this.text(text.texts, row);
        known = rowsOf.get(name);
        if (known === undefined) {
          known = { min: row, max: row };
          rowsOf.set(name, known);
          continue;
        }
      }
      if (this.isLess(word, row, known.min)) known.min = row;
      else if (this.isLess(word, known.max, row)) known.max = row;
    }
    return new Map(
      [...rowsOf].map(([name, { min, max }]) => [
        name,
        { min: this.signed(word, min), max: this.signed(word, max) },
      ]),
    );
  }

  private isSameText({ starts, ends }: Texts, one: number, other: number): boolean {
    const [from, end] = [starts[one] ?? 0, ends[one] ?? 0];
    const at = starts[other] ?? 0;
    if ((ends[other] ?? 0) - at !== end - from) return false;
    return this.bytes.compare(this.bytes, at, at + end - from, from, end) === 0;
  }

  private signed({ width, start }: Words, row: number): bigint {
    return this.bytes.readBigInt64LE(start + width * row);
  }

  /** Whether the signed number of 64 bits in one row is below that in the other. */
  private isLess({ width, start }: Words, one: number, other: number): boolean {
    const [left, right] = [start + width * one, start + width * other];
    const [high, otherHigh] = [this.bytes.readInt32LE(left + 4), this.bytes.readInt32LE(right + 4)];
    return (
      high < otherHigh ||
      (high === otherHigh && this.bytes.readUInt32LE(left) < this.bytes.readUInt32LE(right))
    );
  }

  private columnOf(name: string): NativeValue[] {
    const values = this.column(name);
    if (values === undefined) throw new UnreadableBlock(`column ${name} is missing`);
    return values;
  }

  private text({ starts, ends }: Texts, row: number): string {
    return this.bytes.toString('utf8', starts[row] ?? 0, ends[row] ?? 0);
  }

  private number({ type, width, start }: Words, row: number): NativeValue {
    const at = start + width * row;
    if (type === 'Bool') return this.bytes[at] !== 0;
    if (type === 'Float64') return this.bytes.readDoubleLE(at);
    if (type === 'Int32') return BigInt(this.bytes.readInt32LE(at));
    if (width !== 8) return BigInt(this.bytes.readUIntLE(at, width));
    return type === 'UInt64' ? this.bytes.readBigUInt64LE(at) : this.bytes.readBigInt64LE(at);
  }

  private value(column: ReadColumn, row: number): NativeValue {
    if (column.kind === 'texts') return this.text(column.texts, row);
    if (column.kind === 'low') return this.text(column.dictionary, column.indexes[row] ?? 0);
    if (column.kind === 'words') return this.number(column, row);
    if (column.kind === 'nullable')
      return this.bytes[column.nulls + row] === 0 ? this.number(column.values, row) : null;
    const from = row === 0 ? 0 : (column.offsets[row - 1] ?? 0);
    const items = Array.from({ length: (column.offsets[row] ?? 0) - from }, (_, index) => from + index);
    if (column.kind === 'array') return items.map((item) => this.value(column.items, item));
    return new Map(
      items.map((item) => [String(this.value(column.keys, item)), this.value(column.values, item)]),
    );
  }
}

const spread = (offsets: Uint32Array, rows: Uint32Array): { items: Uint32Array; ends: Uint32Array } => {
  const ends = new Uint32Array(rows.length);
  let total = 0;
  for (const [index, row] of rows.entries()) {
    total += (offsets[row] ?? 0) - (row === 0 ? 0 : (offsets[row - 1] ?? 0));
    ends[index] = total;
  }
  const items = new Uint32Array(total);
  let to = 0;
  for (const row of rows) {
    for (let item = row === 0 ? 0 : (offsets[row - 1] ?? 0); item < (offsets[row] ?? 0); item++)
      items[to++] = item;
  }
  return { items, ends };
};

const copyLow = (source: ByteSource, { dictionary, indexes }: Low, rows: Uint32Array): LowTextColumn => {
  const copy = new LowTextColumn();
  const numbers = new Int32Array(dictionary.starts.length).fill(-1);
  for (const row of rows) {
    const index = indexes[row] ?? 0;
    if (numbers[index] === -1)
      numbers[index] = copy.dictionary.indexOf(
        source,
        dictionary.starts[index] ?? 0,
        dictionary.ends[index] ?? 0,
      );
    copy.pushIndex(numbers[index] ?? 0);
  }
  return copy;
};

const copyNumbers = (
  { bytes }: ByteSource,
  { start, width }: Words,
  copy: NumberColumn,
  rows: Uint32Array,
): NumberColumn => {
  for (const row of rows) {
    let value = 0;
    for (let byte = width - 1; byte >= 0; byte--)
      value = value * 256 + (bytes[start + row * width + byte] ?? 0);
    copy.push(value);
  }
  return copy;
};

const copyNullable = (
  { bytes, view }: ByteSource,
  { nulls, values }: Nullable,
  rows: Uint32Array,
): NullableColumn => {
  const copy = new NullableColumn(values.type);
  for (const row of rows) {
    const at = values.start + 8 * row;
    if (bytes[nulls + row] === 0) copy.push(view.getUint32(at, true), view.getUint32(at + 4, true));
    else copy.pushNull();
  }
  return copy;
};

const copyColumn = (source: ByteSource, column: ReadColumn, rows: Uint32Array): Column => {
  if (column.kind === 'low') return copyLow(source, column, rows);
  if (column.kind === 'texts') {
    const copy = new TextColumn();
    const { starts, ends } = column.texts;
    for (const row of rows) copy.push(source, starts[row] ?? 0, ends[row] ?? 0);
    return copy;
  }
  if (column.kind === 'words') {
    if (isNumberType(column.type)) return copyNumbers(source, column, new NumberColumn(column.type), rows);
    const copy = new WordColumn(column.type);
    for (const row of rows) {
      const at = column.start + 8 * row;
      copy.push(source.view.getUint32(at, true), source.view.getUint32(at + 4, true));
    }
    return copy;
  }
  if (column.kind === 'nullable') return copyNullable(source, column, rows);
  const { items, ends } = spread(column.offsets, rows);
  const offsets = new WordColumn('UInt64');
  for (const end of ends) offsets.push(end, 0);
  if (column.kind === 'array') return new ArrayColumn(copyColumn(source, column.items, items), offsets);
  return new MapColumn(
    copyColumn(source, column.keys, items),
    copyColumn(source, column.values, items),
    offsets,
  );
};

/**
 * Decodes one block of the types that Tidemark has (numbers of 8, 32 and 64 bits, Bool, DateTime, DateTime64, Float64, Nullable of 64
 * bits, String, LowCardinality(String), and Array and Map of them). With `wanted` only those columns can be read afterwards, and the others are skipped. Throws only
 * UnreadableBlock, for all other bytes.
 */
export const readBlock = (bytes: Uint8Array, wanted?: ReadonlySet<string>): NativeBlock => {
  const cursor = new BlockCursor(bytes);
  const columnCount = cursor.varint();
  const rows = cursor.varint();
  // A row is at least a byte of each column: without columns there is nothing that bounds it.
  if (rows > rowsMax || (columnCount === 0 && rows > 0))
    throw new UnreadableBlock('a count exceeds the bytes of the block');
  const columns = new Map<string, ReadColumn>();
  for (let index = 0; index < columnCount; index++) {
    const name = cursor.text();
    const type = cursor.text();
    if (type.length > 200) throw new UnreadableBlock('the name of a column type is too long');
    if (rows > 0) readPrefix(cursor, type);
    if (wanted === undefined || wanted.has(name)) columns.set(name, readData(cursor, type, rows));
    else skipData(cursor, type, rows);
  }
  if (cursor.at !== cursor.bytes.length) throw new UnreadableBlock('unexpected bytes after the block');
  return new NativeBlock(cursor.bytes, rows, columns);
};

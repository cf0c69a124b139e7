import { ByteSource } from './bytes.ts';
import { numberWidths } from './number-columns.ts';

/** Texts of a column: where each begins and ends in the block. */
export type Texts = { readonly starts: Uint32Array; readonly ends: Uint32Array };

/** Thrown for bytes that are not a block, or a block with types that Tidemark does not use. */
export class UnreadableBlock extends Error {
  constructor(what: string) {
    super(`the block cannot be read: ${what}`);
    this.name = 'UnreadableBlock';
  }
}

/** The parts of a type, or undefined when it has none. */
export const insideOf = (type: string, name: string): string | undefined =>
  type.startsWith(`${name}(`) && type.endsWith(')') ? type.slice(name.length + 1, -1) : undefined;

/** Types of 64 bits a row. */
const wordTypes = /^(?:U?Int64|Float64|DateTime64\(\d\))$/;

/** The small numbers that a block may have. */
export const isNumberType = (type: string): type is keyof typeof numberWidths =>
  Object.hasOwn(numberWidths, type);

/** The bytes of a row of a type of numbers; undefined for any other type. */
export const numberWidth = (type: string): 1 | 4 | 8 | undefined =>
  isNumberType(type) ? numberWidths[type] : wordTypes.test(type) ? 8 : undefined;

/** The bytes of a value of numbers that may be null, beside the byte that says so; undefined for any other type. */
export const nullableWidth = (type: string): 1 | 4 | 8 | undefined => {
  const inside = insideOf(type, 'Nullable');
  return inside === undefined ? undefined : numberWidth(inside);
};

/** More rows than any block of Tidemark has. */
export const rowsMax = 2 ** 28;

/**
 * A position in a block that is read from its beginning. Every call throws UnreadableBlock where the block does not
 * hold the requested bytes.
 */
export class BlockCursor {
  readonly bytes: Buffer;
  /** The same bytes. */
  readonly source: ByteSource;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.source = new ByteSource(this.bytes);
  }

  /** Skips this many bytes; returns their start. */
  take(size: number): number {
    const start = this.at;
    if (!(size >= 0 && start + size <= this.bytes.length)) throw new UnreadableBlock('unexpected end');
    this.at = start + size;
    return start;
  }

  varint(): number {
    const first = this.bytes[this.at];
    if (first !== undefined && first < 0x80) {
      this.at++;
      return first;
    }
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.bytes[this.take(1)] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new UnreadableBlock('a count exceeds its limit');
  }

  /** A 64-bit count of things that take at least `sizeMin` bytes each. */
  count(sizeMin: number): number {
    const start = this.take(8);
    const { view } = this.source;
    const value = view.getUint32(start, true) + view.getUint32(start + 4, true) * 2 ** 32;
    if (value > rowsMax || value * sizeMin > this.bytes.length - this.at)
      throw new UnreadableBlock('a count exceeds the bytes of the block');
    return value;
  }

  text(): string {
    const size = this.varint();
    const start = this.take(size);
    return this.bytes.toString('utf8', start, start + size);
  }

  texts(rows: number): Texts {
    if (rows > this.bytes.length - this.at)
      throw new UnreadableBlock('a count exceeds the bytes of the block');
    const starts = new Uint32Array(rows);
    const ends = new Uint32Array(rows);
    for (let row = 0; row < rows; row++) {
      const size = this.varint();
      starts[row] = this.take(size);
      ends[row] = this.at;
    }
    return { starts, ends };
  }

  /** Skips this many texts. */
  skipTexts(rows: number): void {
    const { bytes } = this;
    let { at } = this;
    for (let row = 0; row < rows; row++) {
      let size = bytes[at++] ?? Number.NaN;
      if (size >= 0x80) {
        this.at = at - 1;
        size = this.varint();
        at = this.at;
      }
      at += size;
    }
    // Not a number where a length was looked for behind the end.
    if (!(at <= bytes.length)) throw new UnreadableBlock('unexpected end');
    this.at = at;
  }

  /** Skips the offsets of this many arrays; returns their number of items. */
  skipOffsets(rows: number): number {
    const start = this.take(8 * rows);
    const { view } = this.source;
    const stop = this.at;
    let before = 0;
    for (let at = start; at < stop; at += 8) {
      const end = view.getUint32(at, true);
      if (end < before || end > rowsMax || view.getUint32(at + 4, true) !== 0)
        throw new UnreadableBlock('array offsets do not ascend');
      before = end;
    }
    return before;
  }

  offsets(rows: number): Uint32Array {
    const start = this.take(8 * rows);
    const offsets = new Uint32Array(rows);
    let before = 0;
    for (let row = 0; row < rows; row++) {
      const end = Number(this.bytes.readBigUInt64LE(start + 8 * row));
      if (end < before || end > rowsMax) throw new UnreadableBlock('array offsets do not ascend');
      offsets[row] = end;
      before = end;
    }
    return offsets;
  }
}

const dictionaryVersion = 1;
/** Flag of a dictionary that is written with its rows. */
const ownDictionary = 0x200;

/** Skips the version of a dictionary. */
export const readVersion = (cursor: BlockCursor): void => {
  if (cursor.count(0) !== dictionaryVersion) throw new UnreadableBlock('unknown version of a dictionary');
};

/** Skips the prefix of a type before its data. */
export const readPrefix = (cursor: BlockCursor, type: string): void => {
  if (type === 'LowCardinality(String)') {
    readVersion(cursor);
    return;
  }
  const array = insideOf(type, 'Array');
  const map = insideOf(type, 'Map');
  if (array !== undefined) readPrefix(cursor, array);
  else if (map !== undefined) for (const part of partsOfMap(map)) readPrefix(cursor, part);
};

/** Types of a map's keys and values. */
export const partsOfMap = (inside: string): [string, string] => {
  const comma = inside.indexOf(', ');
  if (comma < 0 || inside.slice(0, comma).includes('Map(')) throw new UnreadableBlock(`Map(${inside})`);
  return [inside.slice(0, comma), inside.slice(comma + 2)];
};

/** Bytes of each row's number; a LowCardinality column with rows states them before its dictionary. */
export const takeLowWidth = (cursor: BlockCursor): number => {
  const flags = cursor.count(0);
  const width = 1 << (flags & 0xff);
  if ((flags & ownDictionary) === 0 || width > 4)
    throw new UnreadableBlock('a dictionary is shared with another block');
  return width;
};

/** Skips the rows' numbers behind the dictionary; returns their start. */
export const takeLowRows = (cursor: BlockCursor, rows: number, width: number): number => {
  if (cursor.count(width) !== rows)
    throw new UnreadableBlock('a column and the block differ in their number of rows');
  return cursor.take(rows * width);
};

const skipLow = (cursor: BlockCursor, rows: number): void => {
  if (rows === 0) return;
  const width = takeLowWidth(cursor);
  cursor.skipTexts(cursor.count(1));
  takeLowRows(cursor, rows, width);
};

/** Skips this many rows of a type. */
export const skipData = (cursor: BlockCursor, type: string, rows: number): void => {
  if (type === 'String') return cursor.skipTexts(rows);
  if (type === 'LowCardinality(String)') return skipLow(cursor, rows);
  const width = numberWidth(type);
  if (width !== undefined) {
    cursor.take(width * rows);
    return;
  }
  const nullable = nullableWidth(type);
  if (nullable !== undefined) {
    cursor.take((1 + nullable) * rows);
    return;
  }
  const array = insideOf(type, 'Array');
  const map = insideOf(type, 'Map');
  if (array === undefined && map === undefined) throw new UnreadableBlock(`unknown column type ${type}`);
  const items = cursor.skipOffsets(rows);
  for (const part of array === undefined ? partsOfMap(map ?? '') : [array]) skipData(cursor, part, items);
};

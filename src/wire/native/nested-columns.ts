import type { Column } from './column.ts';
import { WordColumn } from './number-columns.ts';

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

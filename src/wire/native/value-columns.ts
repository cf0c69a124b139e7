import { type Column, keptBytesMax, rowsStart } from './column.ts';
import { NumberColumn, WordColumn } from './number-columns.ts';

/** Doubles. */
export class FloatColumn implements Column {
  readonly type = 'Float64';
  private numbers = new Float64Array(rowsStart);
  private length = 0;

  get rows(): number {
    return this.length;
  }

  push(value: number): void {
    if (this.length === this.numbers.length) this.reserve(1);
    this.numbers[this.length++] = value;
  }

  /** Appends the first `count` numbers. */
  pushFirst(values: Float64Array, count: number): void {
    this.reserve(count);
    const { numbers, length } = this;
    for (let index = 0; index < count; index++) numbers[length + index] = values[index] ?? 0;
    this.length = length + count;
  }

  size(): number {
    return 8 * this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  // Every machine that Node runs on is little endian, as the format is.
  write(target: Buffer, at: number): number {
    target.set(new Uint8Array(this.numbers.buffer, 0, this.size()), at);
    return at + this.size();
  }

  clear(): void {
    this.length = 0;
    if (this.numbers.byteLength > keptBytesMax) this.numbers = new Float64Array(rowsStart);
  }

  private reserve(extra: number): void {
    if (this.length + extra <= this.numbers.length) return;
    const larger = new Float64Array(Math.max(2 * this.numbers.length, this.length + extra));
    larger.set(this.numbers);
    this.numbers = larger;
  }
}

/** 64-bit values or null: a byte a row that is 1 for null, then the values. */
export class NullableColumn implements Column {
  readonly type: string;
  private readonly nulls = new NumberColumn('UInt8');
  private readonly values: WordColumn;
  private hasAny = false;

  constructor(type: string) {
    this.type = `Nullable(${type})`;
    this.values = new WordColumn(type);
  }

  get isDefault(): boolean {
    return !this.hasAny;
  }

  push(low: number, high: number): void {
    this.hasAny = true;
    this.nulls.push(0);
    this.values.push(low, high);
  }

  pushNull(): void {
    this.nulls.push(1);
    this.values.push(0, 0);
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

  clear(): void {
    this.hasAny = false;
    this.nulls.clear();
    this.values.clear();
  }
}

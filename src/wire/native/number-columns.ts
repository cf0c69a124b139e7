import { type Column, isZero, keptBytesMax, rowsStart } from './column.ts';

/** 64-bit values as two halves, least significant first: UInt64, Int64, DateTime64 and offsets alike. */
export class WordColumn implements Column {
  readonly type: string;
  private words = new Uint32Array(2 * rowsStart);
  private length = 0;

  constructor(type: string) {
    this.type = type;
  }

  get rows(): number {
    return this.length / 2;
  }

  get isDefault(): boolean {
    return isZero(this.words, this.length);
  }

  push(low: number, high: number): void {
    if (this.length === this.words.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[this.length] = low;
    this.words[this.length + 1] = high;
    this.length += 2;
  }

  /** Appends the first `count` values, as halves one after the other. */
  pushFirst(words: Uint32Array, count: number): void {
    const { length } = this;
    if (length + 2 * count > this.words.length) {
      const larger = new Uint32Array(Math.max(2 * this.words.length, length + 2 * count));
      larger.set(this.words);
      this.words = larger;
    }
    const { words: target } = this;
    for (let index = 0; index < 2 * count; index++) target[length + index] = words[index] ?? 0;
    this.length = length + 2 * count;
  }

  size(): number {
    return 4 * this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  // Every machine that Node runs on is little endian, as the format is.
  write(target: Buffer, at: number): number {
    target.set(new Uint8Array(this.words.buffer, 0, 4 * this.length), at);
    return at + 4 * this.length;
  }

  clear(): void {
    this.length = 0;
    if (this.words.byteLength > keptBytesMax) this.words = new Uint32Array(2 * rowsStart);
  }
}

/** The bytes of a row in the columns of small numbers. DateTime is seconds since the epoch. */
export const numberWidths = { UInt8: 1, Bool: 1, DateTime: 4, UInt32: 4, Int32: 4 } as const;

/** Small numbers. Of a negative one the column has the two's complement. */
export class NumberColumn implements Column {
  readonly type: keyof typeof numberWidths;
  private numbers: Uint8Array | Uint32Array;
  private length = 0;

  constructor(type: keyof typeof numberWidths) {
    this.type = type;
    this.numbers = this.newNumbers(rowsStart);
  }

  get isDefault(): boolean {
    return isZero(this.numbers, this.length);
  }

  push(value: number): void {
    if (this.length === this.numbers.length) {
      const larger = this.newNumbers(2 * this.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers[this.length++] = value;
  }

  size(): number {
    return numberWidths[this.type] * this.length;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    target.set(new Uint8Array(this.numbers.buffer, 0, this.size()), at);
    return at + this.size();
  }

  clear(): void {
    this.length = 0;
    if (this.numbers.byteLength > keptBytesMax) this.numbers = this.newNumbers(rowsStart);
  }

  private newNumbers(length: number): Uint8Array | Uint32Array {
    return numberWidths[this.type] === 1 ? new Uint8Array(length) : new Uint32Array(length);
  }
}

/** One 64-bit value for all rows of a block. */
export class ConstantColumn implements Column {
  readonly type: string;
  rows = 0;
  private readonly value = new Uint32Array(2);

  constructor(type: string) {
    this.type = type;
  }

  set(low: number, high: number): void {
    this.value[0] = low;
    this.value[1] = high;
  }

  size(): number {
    return 8 * this.rows;
  }

  writePrefix(_target: Buffer, at: number): number {
    return at;
  }

  write(target: Buffer, at: number): number {
    const end = at + 8 * this.rows;
    target.fill(new Uint8Array(this.value.buffer), at, end);
    return end;
  }

  clear(): void {
    this.rows = 0;
  }
}

import type { ConstantColumn, WordColumn } from '../native/number-columns.ts';
import type { TimeSlot } from './slots.ts';

const word = 2 ** 32;

// The remainder operator is slow for doubles beyond 32 bits; quotients here are far from rounding up, and every step is exact.

/** Splits fixed64 nanoseconds, given as halves, into milliseconds and the rest. */
export const setTimeOfWords = (time: TimeSlot, low: number, high: number): void => {
  // 2³² = 4294 × 10⁶ + 967296, and high × 967296 + low < 2⁵³.
  const nanos = high * 967_296 + low;
  const millis = Math.floor(nanos / 1_000_000);
  time.rest = nanos - millis * 1_000_000;
  time.millis = high * 4294 + millis;
};

/** Appends millis × 10⁶ + rest, below 2⁶⁴, to a column. */
export const pushTime = (column: WordColumn, millis: number, rest: number): void => {
  const upper = Math.floor(millis / 0x100000);
  const product = upper * 1_000_000;
  const high = Math.floor(product / 0x1000);
  const low = (product - high * 0x1000) * 0x100000 + (millis - upper * 0x100000) * 1_000_000 + rest;
  const carry = Math.floor(low / word);
  column.push(low - carry * word, high + carry);
};

/** Decimal nanoseconds. */
export const timeText = (millis: number, rest: number): string =>
  millis === 0 ? String(rest) : millis + String(rest + 1_000_000).slice(1);

/** Makes a safe integer, as 64 bits in two's complement, the value of a column. */
export const setInteger = (column: ConstantColumn, value: number): void => {
  const high = Math.floor(value / word);
  column.set(value - high * word, high);
};

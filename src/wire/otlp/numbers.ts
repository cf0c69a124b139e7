import type { TimeSlot } from './span-slots.ts';

const word = 2 ** 32;

/** Splits fixed64 nanoseconds, given as halves, into milliseconds and the rest. Every step is exact in a double. */
export const setTimeOfWords = (time: TimeSlot, low: number, high: number): void => {
  // 2³² = 4294 × 10⁶ + 967296, and high × 967296 + low < 2⁵³.
  const rest = high * 967_296 + low;
  time.rest = rest % 1_000_000;
  time.millis = high * 4294 + (rest - time.rest) / 1_000_000;
};

/** High half of millis × 10⁶ + rest; the low half is in `lowOfTime`. Exact for every time below 2⁶⁴ nanoseconds. */
export const highOfTime = (millis: number, rest: number): number => {
  const upper = Math.floor(millis / 0x100000);
  const product = upper * 1_000_000;
  const carried = (product % 0x1000) * 0x100000 + (millis - upper * 0x100000) * 1_000_000 + rest;
  return Math.floor(product / 0x1000) + Math.floor(carried / word);
};

export const lowOfTime = (millis: number, rest: number): number => {
  const upper = Math.floor(millis / 0x100000);
  const product = upper * 1_000_000;
  return ((product % 0x1000) * 0x100000 + (millis - upper * 0x100000) * 1_000_000 + rest) % word;
};

/** Decimal nanoseconds. */
export const timeText = (millis: number, rest: number): string =>
  millis === 0 ? String(rest) : millis + String(rest + 1_000_000).slice(1);

/** Halves of a safe integer as 64 bits, two's complement. */
export const highOf = (value: number): number => Math.floor(value / word) >>> 0;
export const lowOf = (value: number): number => value - Math.floor(value / word) * word;

import { spanTimeLengthMax } from '../../model/span-time.ts';
import type { ByteSource } from '../native/bytes.ts';
import type { TimeSlot } from './slots.ts';

/** The largest double has 309 digits: JavaScript senders print whole doubles as integers. */
const wholeDigitsMax = 400;

const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * Exact decimal digits of a JSON number that is whole, in any notation ("1.5e3" is 1500); undefined when it is not whole or
 * longer than the largest double.
 */
export const wholeDigits = (source: string): string | undefined => {
  if (source.length > wholeDigitsMax) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberForm.exec(source) ?? [];
  if (whole === '') return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  const shift = Number(exponent) - fraction.length;
  if (shift >= 0)
    return digits.length + shift > wholeDigitsMax ? undefined : sign + digits + '0'.repeat(shift);
  if (-shift >= digits.length || /[^0]/.test(digits.slice(shift))) return undefined;
  return sign + digits.slice(0, shift);
};

/** Digits of every nanosecond from the year 2001 to 2286. */
export const usualTimeLength = 19;

/** The number of four digits, the first in the lowest byte; −1 where one of them is not a digit. */
const fourDigits = (word: number): number => {
  const tens = 0xf0f0f0f0 | 0;
  if ((word & tens) !== 0x30303030 || ((word + 0x06060606) & tens) !== 0x30303030) return -1;
  const pairs = (word & 0x0f0f0f0f) * 10 + ((word >>> 8) & 0x0f0f0f0f);
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
};

/** Reads decimal nanoseconds from bytes [start, end) into `time`; NaN when they are not such a number. */
export const setTimeOfDigits = (time: TimeSlot, source: ByteSource, start: number, end: number): void => {
  const { bytes } = source;
  const length = end - start;
  if (length === usualTimeLength && setUsualTime(time, source, start)) return;
  time.rest = 0;
  time.millis = Number.NaN;
  if (length === 0 || length > spanTimeLengthMax) return;
  const split = end - 6;
  let millis = 0;
  let rest = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return;
    if (at < split) millis = millis * 10 + digit;
    else rest = rest * 10 + digit;
  }
  time.millis = millis;
  time.rest = rest;
};

/** The same for the usual length; false where these are not digits alone, and `time` is unchanged. */
export const setUsualTime = (time: TimeSlot, { bytes, view }: ByteSource, start: number): boolean => {
  const first = fourDigits(view.getInt32(start, true));
  const second = fourDigits(view.getInt32(start + 4, true));
  const third = fourDigits(view.getInt32(start + 8, true));
  const last = fourDigits(view.getInt32(start + 15, true));
  const a = (bytes[start + 12] ?? 0) - 0x30;
  const b = (bytes[start + 13] ?? 0) - 0x30;
  const c = (bytes[start + 14] ?? 0) - 0x30;
  if ((first | second | third | last | a | b | c | (9 - a) | (9 - b) | (9 - c)) < 0) return false;
  time.millis = first * 1e9 + (second * 100_000 + third * 10 + a);
  time.rest = b * 100_000 + c * 10_000 + last;
  return true;
};

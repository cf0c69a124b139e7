import { spanTimeLengthMax } from '../../model/span-time.ts';
import type { TimeSlot } from './span-slots.ts';

/** The largest double has 309 digits: JavaScript senders print whole doubles as integers. */
const wholeDigitsMax = 400;

const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * Exact decimal digits of a JSON number that is whole, in whatever notation ("1.5e3" is 1500); undefined when it is not whole or
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

/** Reads decimal nanoseconds from bytes [start, end) into `time`; NaN when they are not such a number. */
export const setTimeOfDigits = (time: TimeSlot, source: Uint8Array, start: number, end: number): void => {
  const length = end - start;
  time.rest = 0;
  time.millis = Number.NaN;
  if (length === 0 || length > spanTimeLengthMax) return;
  const split = end - 6;
  let millis = 0;
  let rest = 0;
  for (let at = start; at < end; at++) {
    const digit = (source[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return;
    if (at < split) millis = millis * 10 + digit;
    else rest = rest * 10 + digit;
  }
  time.millis = millis;
  time.rest = rest;
};

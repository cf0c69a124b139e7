import type { ByteSource } from '../native/bytes.ts';
import { isDecimalNumber } from './value-forms.ts';

/** Powers of ten that a double holds exactly. */
const powers = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
const digitsMax = 15;

/**
 * The double of a JSON number in bytes [start, end), of the forms that nearly all have: at most 15 digits, no exponent. Its digits and the
 * power of ten are exact, so that their quotient is rounded once, as the number itself is. NaN for any other number.
 */
export const usualDouble = ({ bytes }: ByteSource, start: number, end: number): number => {
  const isNegative = bytes[start] === 0x2d;
  const first = isNegative ? start + 1 : start;
  if (end - first > digitsMax + 1) return Number.NaN;
  let value = 0;
  let point = end;
  for (let at = first; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (digit === -2 && point === end) point = at;
    else return Number.NaN;
  }
  const decimals = point === end ? 0 : end - point - 1;
  if (end - first - (point === end ? 0 : 1) > digitsMax) return Number.NaN;
  const result = value / (powers[decimals] ?? Number.NaN);
  return isNegative ? -result : result;
};

const namedDoubles = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** A double as a number or as text; undefined for any other text, and for digits beyond the range: no sender means infinity by them. */
export const doubleOf = (text: string): number | undefined => {
  const named = namedDoubles.get(text);
  if (named !== undefined || !isDecimalNumber(text)) return named;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
};

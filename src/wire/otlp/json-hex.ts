import type { ByteSource } from '../native/bytes.ts';

/** Lower-case digit of each hexadecimal digit; 0 for every other byte. */
const hexDigits = new Uint8Array(256);
for (const digit of '0123456789abcdef')
  hexDigits[digit.charCodeAt(0)] = hexDigits[digit.toUpperCase().charCodeAt(0)] = digit.charCodeAt(0);

/** The value of a hexadecimal digit; -1 for any other byte. */
export const hexValues = new Int8Array(256).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries())
  hexValues[digit.charCodeAt(0)] = hexValues[digit.toUpperCase().charCodeAt(0)] = value;

/**
 * Copies hexadecimal digits in lower case; returns the bits in which they differ from zeros, −1 for another character.
 */
export const copyHex = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  place: number,
): number => {
  let any = 0;
  let to = place;
  for (let at = start; at < end; at++) {
    const digit = hexDigits[source[at] ?? 0] ?? 0;
    if (digit === 0) return -1;
    any |= digit ^ 0x30;
    target[to++] = digit;
  }
  return any;
};

/** The result of `copyLowerHex` for anything but hexadecimal digits in lower case. */
export const notHex = -1;

/** Has the high bit of each byte set. */
const highBits = 0x80808080 | 0;

/**
 * Copies `size` hexadecimal digits in lower case, a multiple of four, four at a time. Returns 0 when all are zeros, 1 when not, and
 * `notHex` for anything else; then some of `target` may be overwritten.
 */
export const copyLowerHex = (
  source: ByteSource,
  start: number,
  size: number,
  target: ByteSource,
  place: number,
): number => {
  let any = 0;
  let right = highBits;
  for (let index = 0; index < size; index += 4) {
    const word = source.view.getInt32(start + index, true);
    // Each sum has a byte's high bit set from the character on that it is named for: '0', ':', 'a' and 'g'.
    const isDigit = (word + 0x50505050) & ~(word + 0x46464646);
    const isLetter = (word + 0x1f1f1f1f) & ~(word + 0x19191919);
    right &= (isDigit | isLetter) & ~word;
    any |= word ^ 0x30303030;
    target.view.setInt32(place + index, word, true);
  }
  if (right !== highBits) return notHex;
  return any === 0 ? 0 : 1;
};

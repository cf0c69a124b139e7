import { timingSafeEqual } from 'node:crypto';
import type { PreviousToken } from './records.ts';

/** In constant time for tokens of the right length; the length is not secret. */
export const tokenMatches = (given: string, expected: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
};

/** When a receiver stops accepting a token that was rotated, Unix milliseconds. */
export const expiryMs = ({ expires_at: seconds }: PreviousToken): number => seconds * 1000;

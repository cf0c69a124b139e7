import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { IdentityCredential, PreviousToken } from '../model/records.ts';

/** Shape of the token before the last rotation in KV. */
export const previousTokenSchema: z.ZodType<PreviousToken> = z.object({
  token: z.string(),
  expires_at: z.number(),
});

/** Shape in KV of the first token, which identifies repeats. */
export const identityCredentialSchema: z.ZodType<IdentityCredential> = z.object({
  identity_credential: z.string(),
});

/** In constant time for tokens of the right length; the length is not secret. */
export const tokenMatches = (given: string, expected: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
};

/** When a receiver stops accepting a token that was rotated, Unix milliseconds. */
export const expiryMs = ({ expires_at: seconds }: PreviousToken): number => seconds * 1000;

import type { Source } from '../../directory/directory.ts';
import { type IdentityKey, type RequestIdentity, requestIdentity } from '../identity.ts';
import { type PushPair, scanBody } from './decode.ts';

/** The body with the first token of its data id, in pieces. */
const withFirstToken = (bytes: Buffer, { token }: PushPair, first: string | undefined): Buffer[] => {
  if (first === undefined || first === token) return [bytes];
  const { tokenStart, tokenEnd } = scanBody(bytes, Number.MAX_SAFE_INTEGER);
  return [bytes.subarray(0, tokenStart), Buffer.from(first), bytes.subarray(tokenEnd)];
};

/**
 * The identity of a push with an Idempotency-Key: data id, key and body, with the data id's first token in the place of the sent
 * one. So a repeat under a new token is recognised, too, and before a rotation all programs agree.
 */
export const pushIdentity = (
  installation: IdentityKey,
  { dataId, identityCredential }: Source,
  pair: PushPair,
  key: string,
  bytes: Buffer,
): Promise<RequestIdentity> =>
  requestIdentity(
    installation,
    `${dataId}:${identityCredential ?? pair.token}`,
    key,
    ...withFirstToken(bytes, pair, identityCredential),
  );

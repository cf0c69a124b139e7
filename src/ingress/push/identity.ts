import type { Source } from '../../directory/directory.ts';
import { PushScan } from '../../rules/points/push-scan.ts';
import { eachTurn, type IdentityKey, type RequestIdentity, requestIdentity } from '../identity.ts';
import type { PushPair } from './decode.ts';

/** How an escape of a token begins: tokens are of 0 to 9 and a to f. */
const escapesOfTokens = [Buffer.from('\\u003'), Buffer.from('\\u006')];

/** The body with the first token of its data id wherever it names the sent one, in pieces. */
const withFirstToken = async (bytes: Buffer, { token }: PushPair, first: string): Promise<Uint8Array[]> => {
  if (first === token && !escapesOfTokens.some((start) => bytes.includes(start))) return [bytes];
  const plain = Buffer.from(first);
  const pieces: Uint8Array[] = [];
  let from = 0;
  const scan = new PushScan(Number.MAX_SAFE_INTEGER);
  scan.onToken = () => {
    if (scan.token !== token) return;
    pieces.push(bytes.subarray(from, scan.tokenStart), plain);
    from = scan.tokenEnd;
  };
  await eachTurn([bytes], ({ buffer, byteOffset, length }) =>
    scan.feed(Buffer.from(buffer, byteOffset, length)),
  );
  pieces.push(bytes.subarray(from));
  // A digest of many pieces would hold the event loop.
  return pieces.length > 3 ? [Buffer.concat(pieces)] : pieces;
};

/**
 * The identity of a push with an Idempotency-Key: data id, key and body, with the data id's first token in the place of the sent
 * one, however often the body has it, and in any form. So a repeat under a new token is recognised, too, and before a rotation all
 * programs agree.
 */
export const pushIdentity = async (
  installation: IdentityKey,
  { dataId, identityCredential }: Source,
  pair: PushPair,
  key: string,
  bytes: Buffer,
): Promise<RequestIdentity> => {
  const first = identityCredential ?? pair.token;
  const body = await withFirstToken(bytes, pair, first);
  return requestIdentity(installation, `${dataId}:${first}`, key, ...body);
};

import type { KvBucket } from '../../bus/kv.ts';
import { nowSeconds } from '../../model/time.ts';
import { draftTokenFile } from './admin-token-file.ts';
import {
  type AdminToken,
  added,
  change,
  firstToken,
  hashOf,
  isAlive,
  lastOf,
  newToken,
  noTokens,
  readFormer,
  type StoredToken,
  shown,
} from './admin-token-state.ts';

/** The new token's record, and those that were revoked. */
export type ResetTokens = { readonly record: AdminToken; readonly revoked: readonly AdminToken[] };

/**
 * The way back when every admin token is lost: registers a new one and puts it into `<dataFolder>/admin.token` in place of
 * what is there. It needs no token, only the bus and the folder. With `revokeOthers`, all other tokens of the role admin are revoked
 * in the same step; those of other roles stay valid. `onChanged` gets what is done, once KV has it and before the file has the token. Permanent Fault, with nothing changed,
 * where the folder cannot be written. A call that is killed leaves the old file and perhaps a token that nobody knows; the same call
 * again helps.
 */
export const resetAdminToken = async (
  system: KvBucket,
  dataFolder: string,
  revokeOthers: boolean,
  onChanged: (done: ResetTokens) => void = () => undefined,
): Promise<ResetTokens & { readonly file: string }> => {
  const token = newToken();
  const draft = await draftTokenFile(dataFolder, token);
  const done = await registerReset(system, token, revokeOthers).catch(async (error: unknown) => {
    await draft.drop();
    throw error;
  });
  onChanged(done);
  return { ...done, file: await draft.put() };
};

const registerReset = async (
  system: KvBucket,
  token: string,
  revokeOthers: boolean,
): Promise<ResetTokens> => {
  const now = nowSeconds();
  const former = await readFormer(system);
  let others: AdminToken[] = [];
  const { state } = await change(system, (current) => {
    const before = current ?? (former === undefined ? noTokens : added(noTokens, firstToken, former, now));
    const isOther = (each: StoredToken): boolean =>
      revokeOthers && each.role === 'admin' && isAlive(each, now);
    others = before.tokens.filter(isOther).map((each) => ({ ...shown(each), is_revoked: true }));
    const tokens = before.tokens.map((each) => (isOther(each) ? { ...each, is_revoked: true } : each));
    const wanted = { name: 'reset', role: 'admin', creator: 'cli' } as const;
    return added({ ...before, tokens }, wanted, hashOf(token), now);
  });
  return { record: shown(lastOf(state)), revoked: others };
};

import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type KvBucket, untilWritten } from '../../bus/kv.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import { notFound } from '../problem.ts';
import { type AdminRole, adminRoles } from './roles.ts';

// The admin tokens as one value in KV, and its changes.

/** The owner of the token of a request. `mon_biz_id`: of a node's token, the one business that it may read; null = all. */
export type AdminIdentity = {
  readonly token_id: number;
  readonly name: string;
  readonly role: AdminRole;
  readonly mon_biz_id: number | null;
};

const shape = {
  token_id: z.int().positive(),
  name: z.string(),
  role: z.enum(adminRoles),
  mon_biz_id: z.int().nullable(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  creator: z.string(),
  create_time: z.int(),
  expires_at: z.int().nullable(),
  is_revoked: z.boolean(),
};
/** A later program adds fields: a change by this one keeps them. */
const storedTokenSchema = z.looseObject(shape);

/** An admin token as the API shows it; times are Unix seconds, expires_at null = never. Neither the token nor its hash. */
export const adminTokenSchema = z.strictObject(shape).omit({ sha256: true });
export type AdminToken = z.output<typeof adminTokenSchema>;

export type StoredToken = z.output<typeof storedTokenSchema>;

/** All tokens are one value, so that one compare-and-set decides about all of them (for instance, who is the last admin). */
const stateSchema = z.looseObject({ last_id: z.int().nonnegative(), tokens: z.array(storedTokenSchema) });
export type State = z.output<typeof stateSchema>;

/** The values of a new token. `expires_at` is in Unix seconds. */
export type NewAdminToken = {
  readonly name: string;
  readonly role: AdminRole;
  readonly mon_biz_id?: number | null | undefined;
  readonly expires_at?: number | null | undefined;
  readonly creator: string;
};

export const key = 'admin_tokens';
/** One token {sha256}, of deployments made before tokens had roles. */
const formerKey = 'admin_token';
const formerSchema = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });

/** Its hash; undefined without one. */
export const readFormer = async (system: Pick<KvBucket, 'get'>): Promise<string | undefined> => {
  const former = await system.get(formerKey);
  return former === undefined ? undefined : formerSchema.parse(former.value).sha256;
};

const tokensMax = 4_096;

const conflictsMax = 100;

export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
export const newToken = (): string => randomBytes(32).toString('hex');

const shownFields = z.object(shape).omit({ sha256: true });

/** As the API shows it: without the hash, and without fields of a later program, which could be secret, too. */
export const shown = (token: StoredToken): AdminToken => shownFields.parse(token);

export const isAlive = (token: StoredToken, now: number): boolean =>
  !token.is_revoked && (token.expires_at === null || token.expires_at > now);

/** The owner of a token that is neither revoked nor expired. */
export const identityIn = (token: StoredToken | undefined): AdminIdentity | undefined => {
  if (token === undefined || !isAlive(token, nowSeconds())) return undefined;
  const { token_id, name, role, mon_biz_id } = token;
  return { token_id, name, role, mon_biz_id };
};

export const parseState = (value: unknown): State => {
  const result = stateSchema.safeParse(value);
  if (result.success) return result.data;
  // The issues could show hashes.
  throw new Fault('internal', 'record_invalid', `${key} in KV is malformed`);
};

/**
 * Replaces the state by the result of `edit`, again on a conflict. `edit` may throw; the same object writes nothing.
 */
export const change = (
  system: KvBucket,
  edit: (state: State | undefined) => State,
): Promise<{ state: State; revision: number }> =>
  untilWritten('the admin tokens', conflictsMax, async () => {
    const stored = await system.get(key);
    const state = stored && parseState(stored.value);
    const next = edit(state);
    if (stored !== undefined && next === state) return { state: next, revision: stored.revision };
    const revision =
      stored === undefined ? await system.create(key, next) : await system.update(key, next, stored.revision);
    return { state: next, revision };
  });

export const added = (state: State, token: NewAdminToken, sha256: string, now: number): State => {
  const last_id = state.last_id + 1;
  const { name, role, mon_biz_id = null, expires_at = null, creator } = token;
  let { tokens } = state;
  if (tokens.length >= tokensMax) {
    // The audit log keeps their former values.
    const dead = tokens.findIndex((candidate) => !isAlive(candidate, now));
    if (dead < 0) {
      throw new Fault(
        'permanent',
        'admin_tokens_full',
        `the limit of ${tokensMax} admin tokens is reached; revoke one first`,
      );
    }
    tokens = tokens.toSpliced(dead, 1);
  }
  const record: StoredToken = {
    token_id: last_id,
    name,
    role,
    mon_biz_id,
    sha256,
    creator,
    create_time: now,
    expires_at,
    is_revoked: false,
  };
  return { ...state, last_id, tokens: [...tokens, record] };
};

export const firstToken = { name: 'admin', role: 'admin', creator: 'system' } as const;
export const noTokens: State = { last_id: 0, tokens: [] };

export const lastOf = (state: State): StoredToken => {
  const last = state.tokens.at(-1);
  if (last === undefined) throw new Fault('internal', 'record_invalid', `${key} in KV is empty`);
  return last;
};

export const revoked = (state: State | undefined, tokenId: number, now: number): State => {
  const found = state?.tokens.find(({ token_id }) => token_id === tokenId);
  if (state === undefined || found === undefined) {
    throw notFound(`admin token ${tokenId}`);
  }
  if (found.is_revoked) return state;
  // Beside one that ends some day, one without an end has to stay.
  const isOtherAdmin = (token: StoredToken): boolean =>
    token !== found &&
    token.role === 'admin' &&
    isAlive(token, now) &&
    (token.expires_at === null || found.expires_at !== null);
  if (found.role === 'admin' && isAlive(found, now) && !state.tokens.some(isOtherAdmin)) {
    const why =
      found.expires_at === null
        ? 'the last token of the role admin without an end; create another without expires_at first'
        : 'the last token of the role admin; create another first';
    throw new Fault('permanent', 'last_admin_token', `admin token ${tokenId} is ${why}`);
  }
  const tokens = state.tokens.map((token) => (token === found ? { ...token, is_revoked: true } : token));
  return { ...state, tokens };
};

/** Those of a copy, and after them those that only the other one has. What one of them has revoked is revoked. */
export const mergedTokens = (kept: unknown, found: unknown): State => {
  const [copy, other] = [parseState(kept), parseState(found)];
  const others = new Map(other.tokens.map((token) => [token.sha256, token]));
  const tokens = copy.tokens.map((token) => {
    const same = others.get(token.sha256);
    others.delete(token.sha256);
    return same?.is_revoked === true ? { ...token, is_revoked: true } : token;
  });
  let last_id = Math.max(copy.last_id, other.last_id);
  const used = new Set(tokens.map(({ token_id }) => token_id));
  for (const token of others.values())
    tokens.push(used.has(token.token_id) ? { ...token, token_id: ++last_id } : token);
  return { ...copy, last_id, tokens };
};

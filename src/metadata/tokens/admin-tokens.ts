import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Bus } from '../../bus/connection.ts';
import type { KvBucket } from '../../bus/kv.ts';
import { isConflict } from '../../bus/kv.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import type { Log } from '../../telemetry/log.ts';
import { notFound } from '../problem.ts';
import { adminTokenPath, draftTokenFile, readTokenFile, tokenOfFolder } from './admin-token-file.ts';
import { type AdminRole, adminRoles } from './roles.ts';
import { createSharedReads } from './shared-reads.ts';

/** The owner of the token of a request. `mon_biz_id`: of a node's token, the one business that it may read; null = all. */
export type AdminIdentity = {
  readonly token_id: number;
  readonly name: string;
  readonly role: AdminRole;
  readonly mon_biz_id: number | null;
};

const storedTokenSchema = z.strictObject({
  token_id: z.int().positive(),
  name: z.string(),
  role: z.enum(adminRoles),
  mon_biz_id: z.int().nullable(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  creator: z.string(),
  create_time: z.int(),
  expires_at: z.int().nullable(),
  is_revoked: z.boolean(),
});

/** An admin token as the API shows it; times are Unix seconds, expires_at null = never. Neither the token nor its hash. */
export const adminTokenSchema = storedTokenSchema.omit({ sha256: true });
export type AdminToken = z.output<typeof adminTokenSchema>;

type StoredToken = z.output<typeof storedTokenSchema>;

/** All tokens are one value, so that one compare-and-set decides about all of them (for instance, who is the last admin). */
const stateSchema = z.strictObject({ last_id: z.int().nonnegative(), tokens: z.array(storedTokenSchema) });
type State = z.output<typeof stateSchema>;

/** The values of a new token. `expires_at` is in Unix seconds. */
export type NewAdminToken = {
  readonly name: string;
  readonly role: AdminRole;
  readonly mon_biz_id?: number | null | undefined;
  readonly expires_at?: number | null | undefined;
  readonly creator: string;
};

/** The admin tokens of a deployment. KV has their SHA-256 only. */
export type AdminTokens = {
  /**
   * The owner of this token; undefined for an unknown, revoked or expired token. A revocation takes effect within a
   * second on every metadata process, a new token at once: a token that this process lacks is looked up in KV
   * (transient Fault when NATS is down). Unknown tokens share such reads, 20 a second at most, and the result of a
   * lookup counts for a second.
   */
  authorize(bearer: string): Promise<AdminIdentity | undefined>;
  /**
   * The owner with this id; undefined for an unknown, revoked or expired token, as soon as `authorize` refuses it. Transient Fault
   * when NATS is down and this process lacks the token.
   */
  identityOf(tokenId: number): Promise<AdminIdentity | undefined>;
  /**
   * A new token, 64 hex digits, which only this call returns. Permanent Faults `invalid_value`, `admin_tokens_full`.
   */
  create(token: NewAdminToken): Promise<{ record: AdminToken; token: string }>;
  /** All of them by ascending id, revoked and expired ones too. */
  list(): Promise<AdminToken[]>;
  /** Permanent Fault `not_found`. */
  get(tokenId: number): Promise<AdminToken>;
  /**
   * Revokes a token for good; a repeat changes nothing. Permanent Faults `not_found`, and `last_admin_token` for the
   * last admin token that is neither revoked nor expired, also for two concurrent calls.
   */
  revoke(tokenId: number): Promise<AdminToken>;
  stop(): void;
};

const order: Readonly<Record<AdminRole, number>> = { node: 0, viewer: 1, editor: 2, admin: 3 };

/**
 * Whether a token of `role` may do what needs `needed`: admin > editor > viewer; the rights of nodes belong to nodes
 * and admins.
 */
export const roleAllows = (role: AdminRole, needed: AdminRole): boolean =>
  needed === 'node' ? role === 'node' || role === 'admin' : order[role] >= order[needed];

const key = 'admin_tokens';
/** One token {sha256}, of deployments made before tokens had roles. */
const formerKey = 'admin_token';
const formerSchema = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });

const tokensMax = 4_096;

/**
 * Unknown tokens cost the bus at most one read in this many ms, and a token that was looked up is not looked up again
 * for a second.
 */
const readEveryMs = 50;
const missMemoryMs = 1_000;
const missesMax = 10_000;

const conflictsMax = 100;

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
const newToken = (): string => randomBytes(32).toString('hex');

const shown = ({ sha256: _, ...token }: StoredToken): AdminToken => token;

const isAlive = (token: StoredToken, now: number): boolean =>
  !token.is_revoked && (token.expires_at === null || token.expires_at > now);

/** The owner of a token that is neither revoked nor expired. */
const identityIn = (token: StoredToken | undefined): AdminIdentity | undefined => {
  if (token === undefined || !isAlive(token, nowSeconds())) return undefined;
  const { token_id, name, role, mon_biz_id } = token;
  return { token_id, name, role, mon_biz_id };
};

const parseState = (value: unknown): State => {
  const result = stateSchema.safeParse(value);
  if (result.success) return result.data;
  // The issues could show hashes.
  throw new Fault('internal', 'record_invalid', `${key} in KV is malformed`);
};

/**
 * Replaces the state by the result of `edit`, again on a conflict. `edit` may throw; the same object writes nothing.
 */
const change = async (
  system: KvBucket,
  edit: (state: State | undefined) => State,
): Promise<{ state: State; revision: number }> => {
  for (let tries = 0; tries < conflictsMax; tries++) {
    const stored = await system.get(key);
    const state = stored && parseState(stored.value);
    const next = edit(state);
    if (stored !== undefined && next === state) return { state: next, revision: stored.revision };
    try {
      const revision =
        stored === undefined
          ? await system.create(key, next)
          : await system.update(key, next, stored.revision);
      return { state: next, revision };
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
  throw new Fault('transient', 'kv_contended', 'too many concurrent changes of the admin tokens');
};

const added = (state: State, token: NewAdminToken, sha256: string, now: number): State => {
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
  return { last_id, tokens: [...tokens, record] };
};

const firstToken = { name: 'admin', role: 'admin', creator: 'system' } as const;
const noTokens: State = { last_id: 0, tokens: [] };

const lastOf = (state: State): StoredToken => {
  const last = state.tokens.at(-1);
  if (last === undefined) throw new Fault('internal', 'record_invalid', `${key} in KV is empty`);
  return last;
};

/**
 * Ensures that an admin token exists. The first start creates one and writes it to `<dataFolder>/admin.token` before
 * its hash goes to KV; later starts and other metadata processes use the one in KV. Where KV has none (a first start,
 * or NATS lost its data) the file's token is registered; a file with another token is never trusted. Permanent Faults
 * when the file cannot be read or written.
 */
const ensureFirst = async (system: KvBucket, dataFolder: string, log: Log): Promise<void> => {
  const file = adminTokenPath(dataFolder);
  if ((await system.get(key)) === undefined) {
    const former = await system.get(formerKey);
    const sha256 =
      former === undefined
        ? hashOf(await tokenOfFolder(dataFolder, newToken))
        : formerSchema.parse(former.value).sha256;
    await change(system, (state) => state ?? added(noTokens, firstToken, sha256, nowSeconds()));
  }
  const own = await readTokenFile(file);
  const stored = await system.get(key);
  const tokens = stored === undefined ? [] : parseState(stored.value).tokens;
  const hash = own && hashOf(own);
  if (!tokens.some((token) => token.sha256 === hash && isAlive(token, nowSeconds()))) {
    log.warn({ file }, 'this file has no valid admin token; run `tidemark admin-token reset` for a new one');
  }
};

const requireUsable = ({ role, mon_biz_id, expires_at }: NewAdminToken, now: number): void => {
  if (typeof mon_biz_id === 'number' && role !== 'node') {
    throw new Fault('permanent', 'invalid_value', 'mon_biz_id: is allowed only for tokens of role node');
  }
  if (typeof expires_at === 'number' && expires_at <= now) {
    throw new Fault('permanent', 'invalid_value', 'expires_at: must be in the future');
  }
};

const revoked = (state: State | undefined, tokenId: number, now: number): State => {
  const found = state?.tokens.find(({ token_id }) => token_id === tokenId);
  if (state === undefined || found === undefined) {
    throw notFound(`admin token ${tokenId}`);
  }
  if (found.is_revoked) return state;
  const isOtherAdmin = (token: StoredToken): boolean =>
    token !== found && token.role === 'admin' && isAlive(token, now);
  if (found.role === 'admin' && isAlive(found, now) && !state.tokens.some(isOtherAdmin)) {
    throw new Fault(
      'permanent',
      'last_admin_token',
      `admin token ${tokenId} is the last admin token; create another first`,
    );
  }
  const tokens = state.tokens.map((token) => (token === found ? { ...token, is_revoked: true } : token));
  return { ...state, tokens };
};

/** The tokens as this process has read them, by hash. */
const createCopy = () => {
  let revision = -1;
  let state = noTokens;
  let byHash = new Map<string, StoredToken>();
  return {
    get state() {
      return state;
    },
    find: (hash: string) => byHash.get(hash),
    findId: (tokenId: number) => state.tokens.find(({ token_id }) => token_id === tokenId),
    take: (next: State, at: number): void => {
      if (at <= revision) return;
      revision = at;
      state = next;
      byHash = new Map(next.tokens.map((token) => [token.sha256, token]));
    },
    /** A server that lost its data counts revisions from 1 again: an earlier reading must not win. */
    age: (): void => {
      revision = -1;
    },
  };
};

/** Ensures that an admin token exists, and follows all of them. `AdminTokens` and `ensureFirst` have the promises. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the operations of one set of tokens.
export const openAdminTokens = async (
  bus: Pick<Bus, 'onDisconnect'>,
  system: KvBucket,
  dataFolder: string,
  log: Log,
): Promise<AdminTokens> => {
  await ensureFirst(system, dataFolder, log);
  const copy = createCopy();
  const read = async (): Promise<State> => {
    const stored = await system.get(key);
    if (stored !== undefined) copy.take(parseState(stored.value), stored.revision);
    return copy.state;
  };
  await read();
  const readShared = createSharedReads(
    async () => void (await read()),
    readEveryMs,
    () => performance.now(),
  );
  const misses = new Map<string, number>();
  bus.onDisconnect(() => {
    copy.age();
    misses.clear();
  });
  const watch = system.watch(
    (entry) => {
      if (entry.key !== key || entry.value === undefined) return;
      misses.clear();
      try {
        copy.take(parseState(entry.value), entry.revision);
      } catch (error) {
        log.error({}, String(error));
      }
    },
    () => undefined,
  );
  /** From this process's copy, else from a read that begins now. */
  const find = async (hash: string): Promise<StoredToken | undefined> => {
    const known = copy.find(hash);
    if (known !== undefined) return known;
    const missedAt = misses.get(hash);
    if (missedAt !== undefined && performance.now() - missedAt < missMemoryMs) return undefined;
    const askedAt = performance.now();
    await readShared();
    const found = copy.find(hash);
    if (found === undefined) {
      if (misses.size >= missesMax) misses.clear();
      misses.set(hash, askedAt);
    }
    return found;
  };
  /** Where NATS lost its data, the memory of this process is the state. */
  const edited = async (edit: (state: State) => State): Promise<State> => {
    const { state, revision } = await change(system, (current) => edit(current ?? copy.state));
    copy.take(state, revision);
    return state;
  };
  return {
    // The token itself is never compared: the lookup's time could only reveal its digest, whose bytes a caller cannot
    // choose and from which it cannot get the token.
    authorize: async (bearer) => identityIn(await find(hashOf(bearer))),
    identityOf: async (tokenId) => {
      if (copy.findId(tokenId) === undefined) await readShared();
      return identityIn(copy.findId(tokenId));
    },
    create: async (wanted) => {
      const now = nowSeconds();
      requireUsable(wanted, now);
      const token = newToken();
      const state = await edited((current) => added(current, wanted, hashOf(token), now));
      return { record: shown(lastOf(state)), token };
    },
    list: async () => (await read()).tokens.map(shown),
    get: async (tokenId) => {
      const found = (await read()).tokens.find(({ token_id }) => token_id === tokenId);
      if (found === undefined) throw notFound(`admin token ${tokenId}`);
      return shown(found);
    },
    revoke: async (tokenId) => {
      const { tokens } = await edited((state) => revoked(state, tokenId, nowSeconds()));
      const found = tokens.find(({ token_id }) => token_id === tokenId);
      if (found === undefined)
        throw new Fault('internal', 'record_invalid', `admin token ${tokenId} was revoked`);
      return shown(found);
    },
    stop: watch.stop,
  };
};

/** The new token's record, and those that were revoked. */
export type ResetTokens = { readonly record: AdminToken; readonly revoked: readonly AdminToken[] };

/**
 * The way back when every admin token is lost: registers a new one and puts it into `<dataFolder>/admin.token` in place of
 * what is there. It needs no token, only the bus and the folder. With `revokeOthers`, all other admin tokens are revoked in the
 * same step. `onChanged` gets what is done, once KV has it and before the file has the token. Permanent Fault, with nothing changed,
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
  const former = await system.get(formerKey);
  let others: AdminToken[] = [];
  const { state } = await change(system, (current) => {
    const before =
      current ??
      (former === undefined
        ? noTokens
        : added(noTokens, firstToken, formerSchema.parse(former.value).sha256, now));
    const isOther = (each: StoredToken): boolean =>
      revokeOthers && each.role === 'admin' && isAlive(each, now);
    others = before.tokens.filter(isOther).map((each) => ({ ...shown(each), is_revoked: true }));
    const tokens = before.tokens.map((each) => (isOther(each) ? { ...each, is_revoked: true } : each));
    const wanted = { name: 'reset', role: 'admin', creator: 'cli' } as const;
    return added({ ...before, tokens }, wanted, hashOf(token), now);
  });
  return { record: shown(lastOf(state)), revoked: others };
};

import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Bus } from '../../bus/connection.ts';
import { isConflict, type KvBucket, openKvBucket, unlessConflict, untilWritten } from '../../bus/kv.ts';
import { eraseKey } from '../../bus/outbox.ts';
import { createServerClock } from '../../bus/server-clock.ts';
import { readServerTimeMs } from '../../bus/stream-state.ts';
import { buckets } from '../../directory/keys.ts';
import { Fault } from '../../model/fault.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import type { AdminTokens } from '../tokens/admin-tokens.ts';
import { adminRoles } from '../tokens/roles.ts';

const lifeMs = 12 * 3_600_000;
const idleMs = 3_600_000;
/** A session in use is written at most this often. */
const renewMs = 60_000;
const codeLifeMs = 60_000;
const provenMs = 300_000;

/** Of one token, on all metadata processes: one token alone cannot fill the bucket, which would end all log-ins. */
const ofTokenMax = 100;
/** The same of links; with the markers of used ones. */
const codesOfTokenMax = 10;

/** A few hundred bytes each: ten thousand sessions. */
const bucketLimits = { ttlMs: lifeMs, bytesMax: 4 * 2 ** 20 };

/** Times in ms since 1970, by the clock of NATS: the hosts of metadata processes may differ. */
const sessionSchema = z.strictObject({
  token_id: z.int().positive(),
  role: z.enum(adminRoles),
  created_at: z.int(),
  seen_at: z.int(),
  /** When the token itself, or a link that it had just made, was last presented. */
  proven_at: z.int(),
});
const codeSchema = z.strictObject({
  token_id: z.int().positive(),
  role: z.enum(adminRoles),
  expires_at: z.int(),
});

/** A session that is valid now, with the present values of its token. */
export type Session = {
  readonly identity: AdminIdentity;
  /** Names the session in the audit; of the hash, not of the secret. */
  readonly id: string;
  /** Ms since 1970. */
  readonly expiresAt: number;
  /** The token was presented within the last five minutes. */
  readonly isProven: boolean;
};

/** The sessions of the console: a random secret in the browser, its SHA-256 in KV, each bound to one token and its role. */
export type Sessions = {
  /**
   * A new session; `cookie` is its secret, which only this call returns. Beyond 100 sessions of its token, the one that was
   * unused for longest ends.
   */
  open(identity: AdminIdentity): Promise<{ cookie: string; session: Session }>;
  /**
   * The session of a cookie: undefined for an unknown one, after 12 h, after 1 h without a request, and from the moment on when
   * its token is revoked, expired or of another role. Transient Fault when NATS is down.
   */
  find(cookie: string): Promise<Session | undefined>;
  /** Notes that the token was presented again. */
  prove(cookie: string): Promise<void>;
  /** False where it has ended already: of many calls at once, one ends it. */
  end(cookie: string): Promise<boolean>;
  /** Ends all sessions of a token, on every metadata process. False where none was left. */
  endAll(tokenId: number): Promise<boolean>;
  /** A code that opens one session within 60 s. Beyond ten codes of its token, the oldest of them ends. */
  makeCode(identity: AdminIdentity): Promise<{ code: string; expiresAt: number }>;
  /** The owner of a code, once; undefined for an unknown, used or expired one. */
  takeCode(code: string): Promise<AdminIdentity | undefined>;
};

/** What the sessions need of their bucket. */
export type SessionStore = Pick<KvBucket, 'get' | 'create' | 'update' | 'delete'> & {
  /** Removes every key that matches but the `keep` (none by default) that were written last. No marker takes their room. Returns how many. */
  eraseAll(pattern: string, keep?: number): Promise<number>;
  /** The clock of the server that holds them, ms since 1970. */
  now(): Promise<number>;
};

/**
 * The bucket of the sessions. It is in memory and is lost when the NATS server restarts, so a failed call opens it again and is
 * repeated once.
 */
export const openSessionStore = (bus: Bus): SessionStore => {
  let opening: Promise<KvBucket> | undefined;
  const open = (): Promise<KvBucket> => {
    opening ??= openKvBucket(bus, buckets.sessions, bucketLimits);
    return opening;
  };
  const call = async <T>(work: (bucket: KvBucket) => Promise<T>): Promise<T> => {
    try {
      return await work(await open());
    } catch (error) {
      opening = undefined;
      if (isConflict(error)) throw error;
      return await work(await open());
    }
  };
  const stream = `KV_${buckets.sessions}`;
  return {
    now: createServerClock(() => call(() => readServerTimeMs(bus, stream))),
    get: (key) => call((bucket) => bucket.get(key)),
    create: (key, value) => call((bucket) => bucket.create(key, value)),
    update: (key, value, revision) => call((bucket) => bucket.update(key, value, revision)),
    delete: (key, revision) => call((bucket) => bucket.delete(key, revision)),
    eraseAll: (pattern, keep) => eraseKey(bus, buckets.sessions, pattern, keep),
  };
};

// A secret is found by its hash and never compared: the time of the lookup could only reveal the hash.
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (): string => randomBytes(32).toString('hex');
/** Of a link, which is printed: short enough for a line. */
const newCodeSecret = (): string => randomBytes(20).toString('hex');

/** `<token_id>.<secret>`. */
const cookieForm = /^(\d{1,15})\.([0-9a-f]{64})$/;
const codeForm = /^(\d{1,15})\.([0-9a-f]{40})$/;

const placeIn = (
  kind: 'session' | 'code',
  form: RegExp,
  text: string,
): { key: string; id: string } | undefined => {
  const [, tokenId, secret] = form.exec(text.slice(0, 128)) ?? [];
  if (tokenId === undefined || secret === undefined) return undefined;
  const hash = hashOf(secret);
  return { key: `${kind}.${tokenId}.${hash}`, id: hash.slice(0, 16) };
};
const placeOf = (cookie: string) => placeIn('session', cookieForm, cookie);
const placeOfCode = (code: string) => placeIn('code', codeForm, code);

/** The token of a session or a code as it is now, if it still has the same role. */
const ownersIn =
  (tokens: Pick<AdminTokens, 'identityOf'>) =>
  async (bound: { token_id: number; role: string }): Promise<AdminIdentity | undefined> => {
    const identity = await tokens.identityOf(bound.token_id);
    return identity?.role === bound.role ? identity : undefined;
  };

export const createSessions = (store: SessionStore, tokens: Pick<AdminTokens, 'identityOf'>): Sessions => {
  const read = async (cookie: string) => {
    const place = placeOf(cookie);
    const stored = place === undefined ? undefined : await store.get(place.key);
    if (place === undefined || stored === undefined) return undefined;
    return { ...place, value: sessionSchema.parse(stored.value), revision: stored.revision };
  };
  const ownerOf = ownersIn(tokens);
  return {
    open: async (identity) => {
      const at = await store.now();
      const cookie = `${identity.token_id}.${newSecret()}`;
      const place = placeOf(cookie);
      if (place === undefined)
        throw new Fault('internal', 'internal_error', 'the id of the token has no session');
      const { token_id, role } = identity;
      await store.create(place.key, { token_id, role, created_at: at, seen_at: at, proven_at: at });
      await store.eraseAll(`session.${token_id}.*`, ofTokenMax);
      return { cookie, session: { identity, id: place.id, expiresAt: at + lifeMs, isProven: true } };
    },
    find: async (cookie) => {
      const found = await read(cookie);
      if (found === undefined) return undefined;
      const { key, id, value, revision } = found;
      const at = await store.now();
      const isOver = at >= value.created_at + lifeMs || at >= value.seen_at + idleMs;
      const identity = isOver ? undefined : await ownerOf(value);
      if (identity === undefined) {
        await store.eraseAll(key);
        return undefined;
      }
      // Else a request beside this one was first, and wrote the same.
      if (at >= value.seen_at + renewMs)
        await unlessConflict(store.update(key, { ...value, seen_at: at }, revision));
      const isProven = at < value.proven_at + provenMs;
      return { identity, id, expiresAt: value.created_at + lifeMs, isProven };
    },
    prove: (cookie) =>
      untilWritten('the session', 3, async () => {
        const found = await read(cookie);
        if (found === undefined) return;
        const { key, value, revision } = found;
        const at = await store.now();
        await store.update(key, { ...value, seen_at: at, proven_at: at }, revision);
      }),
    end: async (cookie) => {
      const place = placeOf(cookie);
      return place !== undefined && (await store.eraseAll(place.key)) > 0;
    },
    endAll: async (tokenId) => (await store.eraseAll(`session.${tokenId}.*`)) > 0,
    makeCode: async ({ token_id, role }) => {
      const secret = newCodeSecret();
      const expiresAt = (await store.now()) + codeLifeMs;
      await store.create(`code.${token_id}.${hashOf(secret)}`, { token_id, role, expires_at: expiresAt });
      await store.eraseAll(`code.${token_id}.*`, codesOfTokenMax);
      return { code: `${token_id}.${secret}`, expiresAt };
    },
    takeCode: async (code) => {
      const key = placeOfCode(code)?.key;
      const stored = key === undefined ? undefined : await store.get(key);
      if (key === undefined || stored === undefined) return undefined;
      // Of two processes that were given one code, one deletes it.
      const isDeleted = await unlessConflict(store.delete(key, stored.revision).then(() => true));
      if (isDeleted === undefined) return undefined;
      const value = codeSchema.parse(stored.value);
      return (await store.now()) < value.expires_at ? ownerOf(value) : undefined;
    },
  };
};

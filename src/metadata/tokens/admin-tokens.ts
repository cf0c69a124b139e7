import type { Bus } from '../../bus/connection.ts';
import type { KvBucket } from '../../bus/kv.ts';
import { adminTokenPath } from '../../config/settings.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import type { Log } from '../../telemetry/log.ts';
import { fieldFault, notFound } from '../problem.ts';
import { readTokenFile, tokenOfFolder } from './admin-token-file.ts';
import {
  type AdminIdentity,
  type AdminToken,
  added,
  change,
  firstToken,
  hashOf,
  identityIn,
  isAlive,
  key,
  lastOf,
  type NewAdminToken,
  newToken,
  noTokens,
  parseState,
  readFormer,
  revoked,
  type State,
  type StoredToken,
  shown,
} from './admin-token-state.ts';
import { createSharedReads } from './shared-reads.ts';

/** The admin tokens of a deployment. KV has their SHA-256 only. */
export type AdminTokens = {
  /**
   * The owner of this token; undefined for an unknown, revoked or expired token. A revocation takes effect within a
   * second on every metadata process, a new token at once: KV is read for a token that this process lacks, and for any token where
   * the last reading is 400 ms ago (transient Fault while NATS is away or hangs). All calls share such reads, 20 a second at most,
   * and the result of a lookup counts for a second.
   */
  authorize(bearer: string): Promise<AdminIdentity | undefined>;
  /**
   * The owner with this id; undefined for an unknown, revoked or expired token, as soon as `authorize` refuses it. Transient Fault
   * while NATS is away or hangs.
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
   * last admin token that is neither revoked nor expired, and for the last one of them without an end, also for two concurrent calls.
   */
  revoke(tokenId: number): Promise<AdminToken>;
  stop(): void;
};

/**
 * Unknown tokens cost the bus at most one read in this many ms, and a token that was looked up is not looked up again
 * for a second.
 */
const readEveryMs = 50;
const missMemoryMs = 1_000;
/** The watch tells nothing of a token that was revoked while NATS hangs. A live stream looks each 500 ms, and ends within a second: each look reads. */
const readingMsMax = 400;
const missesMax = 10_000;

/**
 * Ensures that an admin token exists. The first start creates one and writes it to `<dataFolder>/admin.token` before
 * its hash goes to KV; later starts and other metadata processes use the one in KV. Where KV has none (a first start,
 * or NATS lost its data) the file's token is registered; a file with another token is never trusted. Permanent Faults
 * when the file cannot be read or written.
 */
const ensureFirst = async (system: KvBucket, dataFolder: string, log: Log): Promise<void> => {
  const file = adminTokenPath(dataFolder);
  if ((await system.get(key)) === undefined) {
    const sha256 = (await readFormer(system)) ?? hashOf(await tokenOfFolder(dataFolder, newToken));
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
    throw fieldFault('invalid_value', 'mon_biz_id', 'is allowed only for tokens of role node');
  }
  if (typeof expires_at === 'number' && expires_at <= now) {
    throw fieldFault('invalid_value', 'expires_at', 'must be in the future');
  }
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
  bus: Pick<Bus, 'connected' | 'onDisconnect'>,
  system: KvBucket,
  dataFolder: string,
  log: Log,
): Promise<AdminTokens> => {
  await ensureFirst(system, dataFolder, log);
  const copy = createCopy();
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<State> => {
    const askedAt = performance.now();
    // A server that is cut off from its cluster would answer with the tokens of before.
    await system.askLeader();
    const stored = await system.get(key);
    if (stored !== undefined) copy.take(parseState(stored.value), stored.revision);
    readAt = askedAt;
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
    readAt = Number.NEGATIVE_INFINITY;
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
  const readWhereOld = async (): Promise<void> => {
    // A request of a lost connection waits for its timeout.
    if (!bus.connected) throw new Fault('transient', 'nats_unavailable', 'no answer from NATS');
    if (performance.now() - readAt >= readingMsMax) await readShared();
  };
  /** From this process's copy of a moment ago, else from a read that begins now. */
  const find = async (hash: string): Promise<StoredToken | undefined> => {
    if (copy.find(hash) !== undefined) await readWhereOld();
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
      else await readWhereOld();
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

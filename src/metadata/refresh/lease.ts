import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isConflict, type KvBucket, type Stored } from '../../bus/kv.ts';
import { Fault } from '../../model/fault.ts';

/**
 * How long a lease lives without renewal, and how often it is renewed; both by the clock of the process that measures.
 */
export type LeaseTimes = { readonly ttlMs: number; readonly renewMs: number };

export const leaseTimesDefault: LeaseTimes = { ttlMs: 30_000, renewMs: 10_000 };

export type HeldLease = {
  /** Aborted once the lease is lost; its holder then stops writing. */
  readonly signal: AbortSignal;
  /** To be called before each write: reads the lease from KV. Transient Fault `lease_lost` when it is another's. */
  check(): Promise<void>;
  /** Gives it back, so that others need not wait for its expiry. Never throws. */
  release(): Promise<void>;
};

/** The state of the lease in KV. `expired`: this process has seen no renewal for a whole ttl. */
export type Observation<N> = {
  readonly state: 'free' | 'held' | 'expired';
  /** The note of the last holder; undefined when there was none. */
  readonly note: N | undefined;
};

/** A lease in KV: of any number of processes, one at a time has it. */
export type Lease<N> = {
  /**
   * Reads the lease. Throws a transient Fault when KV does not answer: the watched time then restarts. One that cannot be read is a
   * transient Fault `record_invalid` with its key for a whole ttl, and then expired without a note.
   */
  observe(): Promise<Observation<N>>;
  /**
   * Takes the lease if it is free or expired and `judge` returns a note for it; undefined when another process holds it
   * or has just taken it, or `judge` returns undefined.
   */
  acquire(judge: (seen: Observation<N>) => N | undefined): Promise<HeldLease | undefined>;
};

const lost = (): Fault =>
  new Fault('transient', 'lease_lost', 'another process may have the lease: this process stopped writing');

type Entry<N> = { holder: string | null; renewals: number; note: N };

/** Keeps a lease alive until it is released or lost. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one lease and its transitions.
const hold = <N>(
  bucket: KvBucket,
  key: string,
  times: LeaseTimes,
  schema: z.ZodType<Entry<N>>,
  taken: { entry: Entry<N>; revision: number; sentAt: number },
): HeldLease => {
  const losing = new AbortController();
  let { entry, revision, sentAt } = taken;
  let timer: NodeJS.Timeout | undefined;
  let renewing: Promise<void> = Promise.resolve();
  let isReleased = false;

  /** Undefined for an entry that cannot be read: another process wrote it. */
  const holderIn = ({ value }: Stored): string | null | undefined => schema.safeParse(value).data?.holder;

  const lose = (): Fault => {
    clearTimeout(timer);
    losing.abort();
    return lost();
  };
  const isOver = (): boolean => performance.now() - sentAt >= times.ttlMs;

  const write = async (next: Entry<N>): Promise<void> => {
    const startedAt = performance.now();
    try {
      revision = await bucket.update(key, next, revision);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A write of this process whose answer was lost looks like that of another one.
      const stored = await bucket.get(key);
      if (stored === undefined || holderIn(stored) !== entry.holder) throw lose();
      revision = stored.revision;
    }
    entry = next;
    sentAt = startedAt;
  };

  const renew = async (): Promise<void> => {
    try {
      await write({ ...entry, renewals: entry.renewals + 1 });
    } catch {
      if (isOver()) lose();
    }
  };
  const plan = (): void => {
    if (isReleased || losing.signal.aborted) return;
    // Late renewals are tried again in short steps, and the end of the ttl is never slept through.
    const late = performance.now() - sentAt - times.renewMs;
    const wait = Math.max(times.renewMs / 10, -late);
    timer = setTimeout(() => {
      if (isOver()) lose();
      else renewing = Promise.race([renew(), expiry()]).finally(plan);
    }, wait).unref();
  };
  const expiry = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(
        () => {
          if (isOver()) lose();
          resolve();
        },
        Math.max(0, times.ttlMs - (performance.now() - sentAt)),
      ).unref();
    });
  plan();

  return {
    signal: losing.signal,
    check: async () => {
      if (losing.signal.aborted || isOver()) throw lose();
      const stored = await bucket.get(key);
      // A holder's name is used once, so it is the same exactly as long as only we renewed the revision.
      if (stored === undefined || holderIn(stored) !== entry.holder) throw lose();
      if (isOver()) throw lose();
    },
    release: async () => {
      isReleased = true;
      clearTimeout(timer);
      await renewing;
      // A lease that is not released expires.
      if (!losing.signal.aborted) {
        await bucket.update(key, { ...entry, holder: null }, revision).catch(() => undefined);
      }
      losing.abort();
    },
  };
};

/** The lease under `key`; `note` is the schema of its holder's note. */
export const createLease = <N>(
  bucket: KvBucket,
  key: string,
  note: z.ZodType<N>,
  times: LeaseTimes = leaseTimesDefault,
): Lease<N> => {
  const schema: z.ZodType<Entry<N>> = z.object({ holder: z.string().nullable(), renewals: z.int(), note });
  let seen: { revision: number; since: number } | undefined;

  const look = async (): Promise<Observation<N> & { revision: number }> => {
    const stored = await bucket.get(key).catch((error: unknown) => {
      // While KV was unreachable for this process, the holder may not have reached it either.
      seen = undefined;
      throw error;
    });
    if (stored === undefined) return { state: 'free', note: undefined, revision: 0 };
    const { revision } = stored;
    if (seen?.revision !== revision) seen = { revision, since: performance.now() };
    const isExpired = performance.now() - seen.since >= times.ttlMs;
    const entry = schema.safeParse(stored.value).data;
    // Nobody renews one that cannot be read, and its holder may write for a ttl.
    if (entry === undefined && isExpired) return { state: 'expired', note: undefined, revision };
    if (entry === undefined)
      throw new Fault('transient', 'record_invalid', `${key} in KV is no lease: it expires within seconds`);
    const state = entry.holder === null ? 'free' : isExpired ? 'expired' : 'held';
    return { state, note: entry.note, revision };
  };

  return {
    observe: look,
    acquire: async (judge) => {
      const current = await look();
      if (current.state === 'held') return undefined;
      const own = judge(current);
      if (own === undefined) return undefined;
      const entry: Entry<N> = { holder: randomUUID(), renewals: 0, note: own };
      const sentAt = performance.now();
      try {
        const revision =
          current.revision === 0
            ? await bucket.create(key, entry)
            : await bucket.update(key, entry, current.revision);
        return hold(bucket, key, times, schema, { entry, revision, sentAt });
      } catch (error) {
        if (isConflict(error)) return undefined;
        throw error;
      }
    },
  };
};

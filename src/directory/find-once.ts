import { createHash } from 'node:crypto';
import { inTime } from '../bus/in-time.ts';
import { Fault } from '../model/fault.ts';

/**
 * A credential that was looked up in vain is not looked up again for this long, so that wrong tokens cannot load the bus; no
 * longer than a new token may take to work everywhere.
 */
const missMemoryMs = 1_000;
const missesMax = 10_000;

/**
 * A lookup without an answer ends after this, so that requests are answered while KV hangs; as long as a miss is
 * remembered, no other lookup begins.
 */
const lookUpMsMax = 2_000;

/** Lookups under way of one process, and their rate: credentials are free to make, and each is a read of the bus. */
export const lookUpsAtOnceMax = 32;
export const lookUpsPerSecond = 50;
const lookUpsBurst = 2 * lookUpsPerSecond;

/** The code of the Fault of a lookup beyond these limits: it cost no read. */
export const tooManyLookUps = 'too_many_lookups';

/**
 * Finds what a credential stands for: from memory, else by one fetch; a credential that was not found is not fetched again for a
 * while. Throws a transient Fault when the fetch does not end in time, and without a fetch when too many others were begun.
 */
export type FindOnce = {
  findOnce<T>(
    credential: string,
    find: () => T | undefined,
    fetch: () => Promise<void>,
  ): Promise<T | undefined>;
  /** The next call fetches again, also for a credential that was not found. */
  forgetMisses(): void;
};

/** How many fetches may begin: a burst, and a rate as time goes on. */
const createRate = (monotonic: () => number): { take(): boolean } => {
  let left = lookUpsBurst;
  let atMs = monotonic();
  return {
    take: () => {
      const nowMs = monotonic();
      left = Math.min(lookUpsBurst, left + ((nowMs - atMs) * lookUpsPerSecond) / 1000);
      atMs = nowMs;
      if (left < 1) return false;
      left--;
      return true;
    },
  };
};

/** `now` as the records have it; `monotonic`: ms of a clock that nobody sets. */
export const createFindOnce = (
  now: () => number,
  monotonic: () => number = performance.now.bind(performance),
): FindOnce => {
  const misses = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();
  const rate = createRate(monotonic);
  let hungUntil = 0;
  const fetchInTime = async (fetch: () => Promise<void>): Promise<void> => {
    const startedAt = performance.now();
    try {
      await inTime('the bucket of the records', fetch(), startedAt + lookUpMsMax);
    } catch (error) {
      if (performance.now() - startedAt >= lookUpMsMax) hungUntil = performance.now() + missMemoryMs;
      throw error;
    }
  };
  /** Lookups of one credential share a fetch. */
  const fetchShared = (digest: string, fetch: () => Promise<void>): Promise<void> => {
    const shared = underWay.get(digest);
    if (shared !== undefined) return shared;
    if (performance.now() < hungUntil)
      throw new Fault('transient', 'not_in_time', 'the records were not readable a moment ago');
    if (underWay.size >= lookUpsAtOnceMax || !rate.take())
      throw new Fault(
        'transient',
        tooManyLookUps,
        `too many unknown tokens are looked up: the limit is ${lookUpsPerSecond} per second`,
      );
    const fetching = fetchInTime(fetch).finally(() => underWay.delete(digest));
    underWay.set(digest, fetching);
    return fetching;
  };

  const findOnce = async <T>(
    credential: string,
    find: () => T | undefined,
    fetch: () => Promise<void>,
  ): Promise<T | undefined> => {
    const known = find();
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(credential).digest('base64');
    // A clock that was set back must not keep a token unknown.
    const missedFor = now() - (misses.get(digest) ?? Number.NEGATIVE_INFINITY);
    if (missedFor >= 0 && missedFor < missMemoryMs) return undefined;
    await fetchShared(digest, fetch);
    const found = find();
    if (found === undefined) {
      if (misses.size >= missesMax) misses.clear();
      misses.set(digest, now());
    }
    return found;
  };

  return { findOnce, forgetMisses: () => misses.clear() };
};

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

/**
 * Lookups under way of one process, and their rate: credentials are free to make, and each is a read of the bus. Half of both is for
 * senders that have shown a valid one, so that strangers cannot use up what they need.
 */
export const lookUpsAtOnceMax = 32;
export const lookUpsPerSecond = 200;
const lookUpsBurst = 2 * lookUpsPerSecond;
const knownShare = 0.5;

/** The code of the Fault of a lookup beyond these limits: it cost no read. */
export const tooManyLookUps = 'too_many_lookups';

/**
 * Finds what a credential stands for: from memory, else by one fetch; a credential that was not found is not fetched again for a
 * while. `isKnown`: its sender has shown another, valid one. Throws a transient Fault when the fetch does not end in time, and without a
 * fetch when too many others were begun.
 */
export type FindOnce = {
  findOnce<T>(
    credential: string,
    find: () => T | undefined,
    fetch: () => Promise<void>,
    isKnown?: boolean,
  ): Promise<T | undefined>;
  /** The next call fetches again, also for a credential that was not found. */
  forgetMisses(): void;
};

/** How many fetches may begin, beyond those that are kept for others: a burst, and a rate as time goes on. */
const createRate = (monotonic: () => number): { take(kept: number): boolean } => {
  let left = lookUpsBurst;
  let atMs = monotonic();
  return {
    take: (kept) => {
      const nowMs = monotonic();
      left = Math.min(lookUpsBurst, left + ((nowMs - atMs) * lookUpsPerSecond) / 1000);
      atMs = nowMs;
      if (left < kept + 1) return false;
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
  const mayBegin = (isKnown: boolean): boolean => {
    const kept = isKnown ? 0 : knownShare;
    return underWay.size < lookUpsAtOnceMax * (1 - kept) && rate.take(lookUpsBurst * kept);
  };
  /** Lookups of one credential share a fetch. Undefined where none may begin. */
  const fetchShared = (
    digest: string,
    fetch: () => Promise<void>,
    isKnown: boolean,
  ): Promise<void> | undefined => {
    const shared = underWay.get(digest);
    if (shared !== undefined) return shared;
    if (performance.now() < hungUntil)
      throw new Fault('transient', 'not_in_time', 'the records were not readable a moment ago');
    if (!mayBegin(isKnown)) return undefined;
    const fetching = fetchInTime(fetch).finally(() => underWay.delete(digest));
    underWay.set(digest, fetching);
    return fetching;
  };

  const findOnce = async <T>(
    credential: string,
    find: () => T | undefined,
    fetch: () => Promise<void>,
    isKnown = false,
  ): Promise<T | undefined> => {
    const known = find();
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(credential).digest('base64');
    // A clock that was set back must not keep a token unknown.
    const missedFor = now() - (misses.get(digest) ?? Number.NEGATIVE_INFINITY);
    if (missedFor >= 0 && missedFor < missMemoryMs) return undefined;
    const fetching = fetchShared(digest, fetch, isKnown);
    if (fetching === undefined) {
      // Else the wrong tokens of a sender could keep its valid items from being stored, however often it tries. A change forgets them.
      if (isKnown && misses.has(digest)) return undefined;
      throw new Fault(
        'transient',
        tooManyLookUps,
        `too many unknown tokens are looked up: the limit is ${lookUpsPerSecond} per second`,
      );
    }
    await fetching;
    const found = find();
    if (found === undefined) {
      if (misses.size >= missesMax) misses.clear();
      misses.set(digest, now());
    }
    return found;
  };

  return { findOnce, forgetMisses: () => misses.clear() };
};

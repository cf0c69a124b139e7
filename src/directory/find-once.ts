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
 * Finds what a credential stands for: from memory, else by one fetch; a credential that was not found is not fetched again for a
 * while. Throws a transient Fault when the fetch does not end in time.
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

export const createFindOnce = (now: () => number): FindOnce => {
  const misses = new Map<string, number>();
  let hungUntil = 0;
  const fetchInTime = async (fetch: () => Promise<void>): Promise<void> => {
    const startedAt = performance.now();
    if (startedAt < hungUntil)
      throw new Fault('transient', 'not_in_time', 'the records were not readable a moment ago');
    try {
      await inTime('the bucket of the records', fetch(), startedAt + lookUpMsMax);
    } catch (error) {
      if (performance.now() - startedAt >= lookUpMsMax) hungUntil = performance.now() + missMemoryMs;
      throw error;
    }
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
    await fetchInTime(fetch);
    const found = find();
    if (found === undefined) {
      if (misses.size >= missesMax) misses.clear();
      misses.set(digest, now());
    }
    return found;
  };

  return { findOnce, forgetMisses: () => misses.clear() };
};

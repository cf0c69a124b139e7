import type { KvBucket } from '../bus/kv.ts';
import { isConflict } from '../bus/kv.ts';
import { Fault } from '../model/fault.ts';
import { systemKeys } from './keys.ts';

const originMs = Date.UTC(2024, 0, 1);
const epochEnd = 2 ** 24;

/** The least epoch at this time: minutes since 2024. */
export const epochNow = (nowMs: number): number => Math.floor((nowMs - originMs) / 60_000);

/**
 * Replaces a number of the bucket by the result of `next` for the last one (0 without one), by compare-and-set; returns
 * the new number. The same number writes nothing. Transient Faults, and internal `record_invalid` for a value that is no number.
 */
export const raiseNumber = async (
  system: KvBucket,
  key: string,
  next: (last: number) => number,
): Promise<number> => {
  for (;;) {
    const stored = await system.get(key);
    const last = stored === undefined ? 0 : stored.value;
    // From 0 on, numbers would be given out a second time.
    if (typeof last !== 'number') throw new Fault('internal', 'record_invalid', `${key} in KV is no number`);
    const raised = next(last);
    if (raised === last) return raised;
    try {
      if (stored === undefined) await system.create(key, raised);
      else await system.update(key, raised, stored.revision);
      return raised;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
};

/**
 * A number no process start has had before (architecture 5.1): the larger of stored + 1 and the minutes since 2024, so that
 * it rises even if the store was lost. Throws a transient Fault when KV does not answer.
 */
export const takeEpoch = (system: KvBucket, nowMs: number): Promise<number> =>
  raiseNumber(system, systemKeys.boot, (last) => {
    const boot = Math.max(last + 1, epochNow(nowMs));
    if (boot >= epochEnd)
      throw new Fault('internal', 'boot_numbers_exhausted', 'no epoch is left below 2^24');
    return boot;
  });

import type { KvBucket } from '../bus/kv.ts';
import { isConflict } from '../bus/kv.ts';
import { Fault } from '../model/fault.ts';
import { systemKeys } from './keys.ts';

const originMs = Date.UTC(2024, 0, 1);
const minuteMs = 60_000;
const bootEnd = 2 ** 24;

/** An epoch is the stored number times this, and the part of a minute in which it was taken. */
export const epochParts = 64;

/** The least stored number at this time: minutes since 2024. */
export const epochNow = (nowMs: number): number => Math.floor((nowMs - originMs) / minuteMs);

const partOf = (nowMs: number): number => {
  const ofMinute = nowMs - originMs - minuteMs * epochNow(nowMs);
  return Math.floor((ofMinute * epochParts) / minuteMs);
};

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
 * A number no process start has had before (architecture 5.1). Stored is the larger of the last one + 1 and the minutes since 2024, so
 * that it rises even if the store was lost; of two starts in one minute, between which it was, the parts of the minute differ. Throws a
 * transient Fault when KV does not answer.
 */
export const takeEpoch = async (system: KvBucket, nowMs: number): Promise<number> => {
  const taken = await raiseNumber(system, systemKeys.boot, (last) => {
    const boot = Math.max(last + 1, epochNow(nowMs));
    if (boot >= bootEnd)
      throw new Fault('internal', 'boot_numbers_exhausted', 'no epoch is left below 2^24 minutes');
    return boot;
  });
  return taken * epochParts + partOf(nowMs);
};

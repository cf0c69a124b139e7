import type { KvBucket } from '../bus/kv.ts';
import { epochNow, raiseNumber } from './epoch.ts';
import { counterNames, dataIdRange, systemKeys } from './keys.ts';

/** Epochs that are skipped at a restore: that is the largest number of starts since the backup. */
export const epochGap = 65_536;

/** Ids of each kind that are skipped at a restore: that is the largest number issued since the backup. */
export const idGap = 1_000;

/** The last used numbers, as a restore left them. */
export type RaisedNumbers = { readonly boot: number } & Readonly<Record<string, number>>;

/**
 * Raises the epoch and the ids of a restored system bucket above all that may have been used after the backup: an epoch
 * that is used twice gives two rows one uid, and the later replaces the earlier; an id that is used twice mixes the
 * rows of two senders. The clock alone is not enough, because it raises the epoch by one a minute. Call it before any
 * role starts. After an interruption call it again: it raises the numbers once more, the epoch first. Transient Faults.
 */
export const raiseAfterRestore = async (system: KvBucket, nowMs: number): Promise<RaisedNumbers> => {
  // First: without it rows would be lost, while an id used twice mixes two senders' rows.
  const boot = await raiseNumber(
    system,
    systemKeys.boot,
    (last) => Math.max(last, epochNow(nowMs)) + epochGap,
  );
  const raised: Record<string, number> = {};
  for (const name of counterNames) {
    const key = systemKeys.counter(name);
    // Without a counter the first data id follows the tables that there are.
    if (name === 'data_id' && (await system.get(key)) === undefined) continue;
    const most = name === 'data_id' ? dataIdRange.last : Number.MAX_SAFE_INTEGER;
    raised[name] = await raiseNumber(system, key, (last) => Math.min(last + idGap, most));
  }
  return { ...raised, boot };
};

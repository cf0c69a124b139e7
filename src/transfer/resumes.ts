import { type KvBucket, unreadable } from '../bus/kv.ts';
import { systemKeys } from '../directory/keys.ts';

/**
 * An operator lets a consumer continue in every process by putting its key. Calls the function of that pipeline once for each such
 * order that is given after the first state was read, also for one that was given while the connection was lost.
 */
export const watchResumes = (
  system: Pick<KvBucket, 'watch'>,
  resets: ReadonlyMap<string, () => void>,
): { stop(): void } => {
  const resetOf = new Map([...resets].map(([pipeline, reset]) => [systemKeys.resume(pipeline), reset]));
  const known = new Map<string, string>();
  let isRead = false;
  return system.watch(
    ({ key, value }) => {
      if (value === undefined || value === unreadable) return;
      // Each reconnect reads all keys again, and a bucket that was lost is filled with old values under new revisions. So the value
      // tells orders apart: it has the time.
      const order = JSON.stringify(value);
      const isNew = known.get(key) !== order;
      known.set(key, order);
      if (isNew && isRead) resetOf.get(key)?.();
    },
    () => {
      isRead = true;
    },
    systemKeys.resume('*'),
  );
};

import { z } from 'zod';
import { isConflict, type KvBucket } from '../bus/kv.ts';
import { systemKeys } from './keys.ts';

const seconds = z.int().nonnegative();

/** Notes of earlier versions have no parts: they count for the streams, which each backup has. */
const schema = z.object({ finished_at: seconds, parts: z.record(z.string(), seconds).optional() });

/** The end of the last backup of each part (`nats`, `questdb`, `questdb-<instance>`, `clickhouse`), Unix seconds. */
export type BackupTimes = Readonly<Record<string, number>>;

const attemptsMax = 5;

const timesOf = (value: unknown): BackupTimes => {
  const { finished_at: nats, parts } = schema.parse(value);
  return parts ?? { nats };
};

export const readBackupTimes = async (system: Pick<KvBucket, 'get'>): Promise<BackupTimes> => {
  const stored = await system.get(systemKeys.backup);
  return stored === undefined ? {} : timesOf(stored.value);
};

/** Notes that these parts were backed up now, and keeps the times of the others. Faults of KV. */
export const noteBackedUp = async (
  system: Pick<KvBucket, 'get' | 'create' | 'update'>,
  parts: readonly string[],
  now: number,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const stored = await system.get(systemKeys.backup);
    const own = Object.fromEntries(parts.map((part) => [part, now]));
    const record = {
      finished_at: now,
      parts: { ...(stored === undefined ? {} : timesOf(stored.value)), ...own },
    };
    try {
      if (stored === undefined) await system.create(systemKeys.backup, record);
      else await system.update(systemKeys.backup, record, stored.revision);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === attemptsMax) throw error;
    }
  }
};

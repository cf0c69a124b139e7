import type { Bus } from '../../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../../src/bus/kv.ts';
import {
  createDeadLetterAdmin,
  type DeadLetterAdmin,
  type DeadLetterAdminDependencies,
} from '../../../src/dead-letters/admin.ts';
import { buckets } from '../../../src/directory/keys.ts';
import type { ReadRecord } from '../../../src/outcomes/record-reader.ts';

const noRecord: ReadRecord = async () => undefined;

/** The acts on dead letters of a metadata process, by default of one to which no record has come yet. */
export const adminOn = (
  bus: Bus,
  claims: KvBucket,
  readRecord = noRecord,
  more: Partial<DeadLetterAdminDependencies> = {},
): DeadLetterAdmin =>
  createDeadLetterAdmin({
    bus,
    claims,
    claimsBucket: buckets.system,
    encodeItem: () => Promise.reject(new Error('no item as it was received is in this test')),
    readRecord,
    readRecords: (keys, timeoutMs) => Promise.all(keys.map((key) => readRecord(key, timeoutMs))),
    readKeptDays: async () => undefined,
    isRead: () => true,
    now: Date.now,
    ...more,
  });

/** The same on the bucket of the system. */
export const adminWithoutRecords = async (bus: Bus): Promise<DeadLetterAdmin> =>
  adminOn(bus, await openKvBucket(bus, buckets.system));

import { randomBytes } from 'node:crypto';
import { unlessConflict } from '../../bus/kv.ts';
import { type IdentityKeyRecord, recordKeys } from '../../directory/keys.ts';
import type { Records } from './store.ts';

/**
 * Gives a new installation its key for the digests of large bodies (architecture 5.2). One that has owners keeps what it began with:
 * a repeat of a request of theirs has to have the same identity. To be called before the first owner can be created, with records that
 * have been read. Transient Faults.
 */
export const giveIdentityKey = async ({
  bucket,
  reports,
  dataSources,
  applications,
  unreadable,
}: Pick<Records, 'bucket' | 'reports' | 'dataSources' | 'applications' | 'unreadable'>): Promise<void> => {
  // It may be an owner.
  if (unreadable.size > 0) return;
  if ([reports, dataSources, applications].some((owners) => owners.list().length > 0)) return;
  const record: IdentityKeyRecord = { algorithm: 'aes-256-gcm', key: randomBytes(32).toString('hex') };
  await unlessConflict(bucket.create(recordKeys.identityKey, record));
};

import { describe, expect, it } from 'vitest';
import { startDirectory } from '../../../src/directory/directory.ts';
import { recordKeys } from '../../../src/directory/keys.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';

const token = '0123456789abcdef0123456789abcdef';
const key = 'ab'.repeat(32);
const record = { algorithm: 'aes-256-gcm', key };

const start = () => {
  const [records, columns] = [createMemoryBucket(), createMemoryBucket()];
  const invalid: string[] = [];
  const directory = startDirectory({
    records,
    columns,
    defaults: defaultRules,
    now: () => 1_780_000_000_000,
    onInvalid: (each) => invalid.push(each),
  });
  columns.snapshot();
  return { records, directory, invalid, write: createRecordWriter(records) };
};

// Two receivers that disagree on the key take a repeat for a new request, and store its items twice.
describe('the key of the digests of large bodies', () => {
  it('is known with the first owner, also one that a read of KV found before the watch brought either', async () => {
    for (const owner of ['data id', 'application'] as const) {
      const { records, directory, write } = start();
      records.snapshot();
      await records.put(recordKeys.identityKey, record);
      if (owner === 'data id') await write.source(1_500_001, token);
      else await write.application(7, token);
      const found =
        owner === 'data id'
          ? await directory.authorize(1_500_001, token)
          : await directory.authorizeApplication(token);
      expect(found).toBeDefined();
      expect(directory.identityKey?.toString('hex')).toBe(key);
    }
  });

  it('is there after each reading of the whole state, and absent in an installation without one', async () => {
    const { records, directory } = start();
    records.snapshot();
    expect(directory.identityKey).toBeUndefined();
    await records.put(recordKeys.identityKey, record);
    records.tell();
    records.snapshot();
    expect(directory.identityKey?.toString('hex')).toBe(key);
  });

  it('stays where its record cannot be read', async () => {
    const { records, directory, invalid } = start();
    await records.put(recordKeys.identityKey, record);
    records.snapshot();
    await records.put(recordKeys.identityKey, { algorithm: 'aes-256-gcm', key: 'short' });
    records.tell();
    expect(invalid).toEqual([recordKeys.identityKey]);
    expect(directory.identityKey?.toString('hex')).toBe(key);
  });
});

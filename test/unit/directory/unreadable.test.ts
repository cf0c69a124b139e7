import { describe, expect, it } from 'vitest';
import { unreadable } from '../../../src/bus/kv.ts';
import { startDirectory } from '../../../src/directory/directory.ts';
import { columnsKey, recordKeys } from '../../../src/directory/keys.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket, type MemoryBucket } from '../../support/stack/memory-bucket.ts';

const dataId = 1_500_003;
const appId = 1;
const token = '0123456789abcdef0123456789abcdef';
const otherToken = 'fedcba9876543210fedcba9876543210';

type Buckets = { readonly records: MemoryBucket; readonly columns: MemoryBucket };

/** A process that begins to follow the buckets now. */
const startOn = ({ records, columns }: Buckets) => {
  const invalid: string[] = [];
  const directory = startDirectory({
    records,
    columns,
    defaults: defaultRules,
    now: () => 1_780_000_000_000,
    onInvalid: (key) => invalid.push(key),
  });
  return { directory, invalid };
};

const buckets = async (): Promise<Buckets> => {
  const records = createMemoryBucket();
  const write = createRecordWriter(records);
  await write.source(dataId, token);
  await write.source(dataId + 1, otherToken);
  await write.application(appId, token);
  await write.application(appId + 1, otherToken);
  return { records, columns: createMemoryBucket() };
};

/** Both kinds of process: one that has read the record before, and one that starts with it. */
const both = async (key: string, value: unknown) => {
  const stored = await buckets();
  const before = startOn(stored);
  stored.records.snapshot();
  stored.columns.snapshot();
  await (key.startsWith('columns.') ? stored.columns : stored.records).put(key, value);
  stored.records.tell();
  stored.columns.tell();
  const restarted = startOn(stored);
  stored.records.snapshot();
  stored.columns.snapshot();
  return { ...stored, processes: [before, restarted] };
};

const refusal = (key: string) => ({
  kind: 'transient',
  code: 'record_unreadable',
  message: expect.stringContaining(key),
});

// The record that holds may disable the owner, revoke its token or change its rules, and 401 is final.
describe('an owner with a record that cannot be read is refused for now, alike by a process that knew the record before and by one that starts', () => {
  it.each([
    [recordKeys.group(dataId), { is_enable: true, is_delete: false, max_rate: '77' }],
    [recordKeys.sourcePolicy(dataId), { points_max: 2_000_000 }],
    [recordKeys.table(dataId), unreadable],
    [recordKeys.dataSource(dataId), unreadable],
    [recordKeys.previousToken(dataId), { token: 7 }],
    [recordKeys.sourceIdentity(dataId), unreadable],
    [columnsKey(dataId), unreadable],
  ])('a data id: %s', async (key, value) => {
    const { records, columns, processes } = await both(key, value);
    for (const { directory, invalid } of processes) {
      await expect(directory.authorize(dataId, token)).rejects.toMatchObject(refusal(key));
      expect(await directory.authorize(dataId + 1, otherToken)).toMatchObject({ isEnabled: true });
      expect(await directory.authorize(dataId + 1, token)).toBeUndefined();
      expect(directory.isReady).toBe(true);
      expect(directory.unreadable).toBe(`1 record cannot be read: ${key}`);
      records.snapshot();
      columns.snapshot();
      expect(invalid).toEqual([key]);
    }
  });

  it.each([
    [
      recordKeys.application(appId),
      { app_id: appId, mon_biz_id: 2, token, is_enable: true, is_delete: false, max_rate: 0.5 },
    ],
    [recordKeys.application(appId), unreadable],
    [recordKeys.applicationPolicy(appId), unreadable],
    [recordKeys.previousApplicationToken(appId), unreadable],
    [recordKeys.applicationIdentity(appId), 7],
  ])('an application: %s', async (key, value) => {
    const { processes } = await both(key, value);
    for (const { directory, invalid } of processes) {
      expect(directory.application(token)).toBeUndefined();
      await expect(directory.authorizeApplication(token)).rejects.toMatchObject(refusal(key));
      expect(await directory.authorizeApplication(otherToken)).toMatchObject({ appId: appId + 1 });
      expect(await directory.authorizeApplication('unknown')).toBeUndefined();
      expect(invalid).toEqual([key]);
    }
  });

  it('until the record is repaired, or gone', async () => {
    const key = recordKeys.sourcePolicy(dataId);
    for (const repair of ['put', 'delete'] as const) {
      const { records, processes } = await both(key, unreadable);
      if (repair === 'put') await records.put(key, { points_max: 7 });
      else await records.delete(key);
      records.tell();
      for (const { directory } of processes) {
        const found = await directory.authorize(dataId, token);
        expect(found?.rules.pointsMax).toBe(repair === 'put' ? 7 : defaultRules.source.pointsMax);
        expect(directory.unreadable).toBeUndefined();
      }
    }
  });
});

it('the index of a token that cannot be read makes no token unknown', async () => {
  const { processes } = await both(recordKeys.applicationToken('lost'), unreadable);
  for (const { directory } of processes)
    await expect(directory.authorizeApplication('lost')).rejects.toMatchObject(
      refusal(recordKeys.applicationToken('lost')),
    );
});

// Without the key a repeat of a large body has another identity, and would be stored twice.
it('a process that starts with an identity key that cannot be read takes nothing until it can be', async () => {
  const { records, processes } = await both(recordKeys.identityKey, unreadable);
  expect(processes.map(({ directory }) => directory.isReady)).toEqual([false, false]);
  await records.put(recordKeys.identityKey, { algorithm: 'aes-256-gcm', key: 'ab'.repeat(32) });
  records.tell();
  expect(processes.map(({ directory }) => directory.isReady)).toEqual([true, true]);
});

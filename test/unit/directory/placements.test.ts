import { expect, it } from 'vitest';
import type { Change, KvBucket } from '../../../src/bus/kv.ts';
import { startDirectory } from '../../../src/directory/directory.ts';
import { startPlacements } from '../../../src/directory/placements.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';

/** The records bucket as far as the placements see it: its one watch. */
const watched = () => {
  const heard: {
    change?: (change: Change) => void;
    snapshot?: (keys: ReadonlySet<string>) => void;
  } = {};
  const bucket: Pick<KvBucket, 'watch'> = {
    watch: (onChange, onSnapshot, pattern) => {
      expect(pattern).toBe('placement.*');
      heard.change = onChange;
      heard.snapshot = onSnapshot;
      return { stop: () => {} };
    },
  };
  const placements = startPlacements(bucket);
  const tell = (dataId: number, value: unknown): void =>
    heard.change?.({ key: `placement.${dataId}`, value, revision: 1 });
  return { placements, tell, snapshot: (...keys: string[]) => heard.snapshot?.(new Set(keys)) };
};

const on = (questdb: unknown) => ({ mon_data_id: 1, table_id: 't', questdb });

it('a data id without a record is on the first instance, and on another while a record names it', () => {
  const { placements, tell, snapshot } = watched();
  expect(placements.instanceOf(1)).toBe('default');
  tell(1, on('b'));
  tell(2, on('default'));
  tell(3, on('c'));
  expect([1, 2, 3].map(placements.instanceOf)).toEqual(['b', 'default', 'c']);
  tell(1, undefined);
  expect(placements.instanceOf(1)).toBe('default');
  snapshot('placement.2');
  expect(placements.instanceOf(3)).toBe('default');
});

it('instances that no setting names are counted', () => {
  const { placements, tell } = watched();
  for (const dataId of [1, 2]) tell(dataId, on('zzz'));
  tell(3, on('b'));
  expect([...placements.unknown(['default', 'b'])]).toEqual([['zzz', 2]]);
  // Of a purged one nothing is left to be stored there.
  expect([...placements.unknown(['default', 'b'], (dataId) => dataId === 2)]).toEqual([['zzz', 1]]);
});

// Taken for the first instance's, its rows would go where its table is not.
it.each([on(7), on('B b'), {}, 'text', null])(
  'a record that cannot be read is on no instance: %j',
  (value) => {
    const { placements, tell } = watched();
    tell(1, value);
    expect(placements.instanceOf(1)).toBe('-');
    expect(placements.unknown(['default']).size).toBe(1);
  },
);

it.each([on('.>'), on(7), {}, 'text', null, 7, []])(
  'a receiver reads one that cannot be read alike: %j',
  async (value) => {
    const [records, columns] = [createMemoryBucket(), createMemoryBucket()];
    const directory = startDirectory({
      records,
      columns,
      defaults: defaultRules,
      now: () => 0,
      onInvalid: (key) => {
        throw new Error(key);
      },
    });
    await createRecordWriter(records).source(1, '0123456789abcdef0123456789abcdef');
    await records.put('placement.1', on('b'));
    records.tell();
    expect(directory.source(1)?.questdb).toBe('b');
    await records.put('placement.1', value);
    records.tell();
    expect(directory.source(1)?.questdb).toBe('-');
    directory.stop();
  },
);

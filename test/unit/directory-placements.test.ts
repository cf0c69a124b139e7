import { expect, it } from 'vitest';
import type { Change, KvBucket } from '../../src/bus/kv.ts';
import { placementFieldsSchema, startPlacements } from '../../src/directory/placements.ts';

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

it('a data id without a record is on the first instance, and a record says another until it is gone', () => {
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

it('a receiver reads it alike', () => {
  expect(placementFieldsSchema.parse(on('b')).questdb).toBe('b');
  expect(placementFieldsSchema.parse(on('.>')).questdb).toBe('-');
});

import { describe, expect, it } from 'vitest';
import { type StoreUse, volumesOf } from '../../../../src/metadata/disk/disk-use.ts';

const today = 20_000;

const store = (name: string, bytes: number, why = ''): StoreUse => ({
  store: name,
  why,
  stored: [
    {
      ...{ pipeline: 'metrics', dataId: 1, appId: 0, retentionDays: undefined },
      days: [{ day: today - 1, rows: 1, bytes }],
    },
  ],
});

const space = { freeBytes: 60, totalBytes: 100 };

describe('the disks', () => {
  it('that stores share fill with the growth of all', () => {
    const [one, ...others] = volumesOf(
      [store('questdb', 10), store('clickhouse', 5)],
      new Map([['data', space]]),
      today,
      true,
    );
    expect(others).toEqual([]);
    expect(one).toMatchObject({
      disk: 'data',
      stores: ['questdb', 'clickhouse'],
      bytesPerDay: 15,
      daysLeft: 4,
    });
  });

  it('of single stores have a forecast where their space is known, and else say why not', () => {
    const volumes = volumesOf(
      [store('questdb', 10), store('clickhouse', 5)],
      new Map([['clickhouse', space]]),
      today,
      false,
    );
    expect(volumes).toMatchObject([
      { disk: 'questdb', daysLeft: undefined, why: 'QuestDB does not report the space of its disk' },
      { disk: 'clickhouse', daysLeft: 12, why: '' },
    ]);
  });

  it('are full as soon as less than 2 % is free, with any growth, and where a store does not answer', () => {
    const left = (freeBytes: number, stores: readonly StoreUse[]) =>
      volumesOf(stores, new Map([['data', { freeBytes, totalBytes: 1_000 }]]), today, true)[0];
    expect(left(19, [store('questdb', 1)])).toMatchObject({ daysLeft: 0, why: '' });
    expect(left(19, [store('questdb', 0)])).toMatchObject({ daysLeft: 0, why: '' });
    expect(left(19, [store('questdb', 0, 'QuestDB is away')])).toMatchObject({ daysLeft: 0, why: '' });
    expect(left(20, [store('questdb', 1)])).toMatchObject({ daysLeft: 20 });
  });

  it('have no forecast while a store on them does not answer', () => {
    const volumes = volumesOf(
      [store('questdb', 0, 'QuestDB is away'), store('clickhouse', 5)],
      new Map([['data', space]]),
      today,
      true,
    );
    expect(volumes).toMatchObject([{ daysLeft: undefined, why: 'QuestDB is away', space }]);
  });
});

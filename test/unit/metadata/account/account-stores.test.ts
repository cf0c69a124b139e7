import { describe, expect, it } from 'vitest';
import { type Difference, differenceKey, type FoundDifference } from '../../../../src/account/difference.ts';
import type { StoreComparison } from '../../../../src/account/store-compare.ts';
import { shownStores } from '../../../../src/metadata/api/account-stores.ts';

const day = 20_000;
const owner = { pipeline: 'metrics', dataId: 7, appId: 0 } as const;
const found = (items: number): StoreComparison => ({
  differences: [{ ...owner, day, kind: 'missing_in_the_store', items, why: '' }],
  ...{ inFlight: [], steady: [], owners: [owner], compared: { days: 1, rows: 9 } },
});

const closed = (items: number): ReadonlyMap<string, FoundDifference> => {
  const difference: Difference = {
    ...{
      ...owner,
      kind: 'missing_in_the_store',
      stream: 'METRICS',
      minute: day * 86_400,
      items,
      messages: 0,
    },
  };
  const closing = { closedItems: items, closedMessages: 0, reason: 'truncated by hand' };
  return new Map([[differenceKey(difference), { ...difference, ...closing }]]);
};

const shown = (items: number, closings: ReadonlyMap<string, FoundDifference>) =>
  shownStores(found(items), [owner], closings, () => undefined).map(({ adds_up, why, differences }) => ({
    ...{ adds_up, why },
    differences: differences.map(({ is_open, reason }) => [is_open, reason]),
  }));

describe('an owner whose store lacks rows', () => {
  it('adds up where an operator has closed as many, and shows them as closed', () => {
    expect(shown(3, new Map())).toEqual([{ adds_up: false, why: '', differences: [[true, '']] }]);
    const reason = 'truncated by hand';
    expect(shown(3, closed(3))).toEqual([{ adds_up: true, why: '', differences: [[false, reason]] }]);
    expect(shown(4, closed(3))).toEqual([{ adds_up: false, why: '', differences: [[true, reason]] }]);
  });

  it('adds up where the rows without a record were closed in the books, as far as they go', () => {
    const reason = 'LEDGER was purged';
    const unrecorded: FoundDifference = {
      ...{
        ...owner,
        kind: 'unrecorded',
        stream: 'METRICS',
        minute: day * 86_400 + 60,
        items: 5,
        messages: 2,
      },
      ...{ closedItems: 5, closedMessages: 2, reason },
    };
    const closings = new Map([[differenceKey(unrecorded), unrecorded]]);
    const rows = (items: readonly number[]) => ({
      ...found(0),
      differences: items.map((each, index) => ({
        ...{ ...owner, day: day + index, kind: 'unrecorded' as const, items: each, why: '' },
      })),
    });
    const shownOf = (items: readonly number[]) =>
      shownStores(rows(items), [owner], closings, () => undefined).map(({ adds_up, differences }) => [
        adds_up,
        ...differences.map(({ is_open, reason: why }) => [is_open, why]),
      ]);
    expect(shownOf([5])).toEqual([[true, [false, reason]]]);
    expect(shownOf([3, 2])).toEqual([[true, [false, reason], [false, reason]]]);
    expect(shownOf([3, 3])).toEqual([[false, [false, reason], [true, reason]]]);
  });

  it('is not known where it is left out, as once it was purged', () => {
    const why = 'it was purged, and is not compared';
    const nothing = { ...found(0), differences: [] };
    expect(shownStores(nothing, [owner], new Map(), () => why)).toMatchObject([{ adds_up: null, why }]);
  });
});

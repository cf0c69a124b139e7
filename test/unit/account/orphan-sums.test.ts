import { describe, expect, it } from 'vitest';
import { differenceKey } from '../../../src/account/difference.ts';
import { sumOrphans } from '../../../src/account/orphan-sums.ts';

const dayMs = 86_400_000;
const noon = 20_000 * dayMs + dayMs / 2;
const letter = (sequence: number, at: number) => ({
  ...{ sequence, at, stream: 'METRICS', dataId: 7, appId: undefined, items: 2 },
});

describe('orphaned dead letters', () => {
  it('stand in one difference of their owner, in the minute of the oldest, also when others come later', () => {
    const before = sumOrphans([letter(1, noon + 1)]);
    const after = sumOrphans([letter(2, noon + dayMs), letter(1, noon + 1)]);
    expect(before).toMatchObject([
      { kind: 'orphan', dataId: 7, minute: noon / 1_000, items: 2, messages: 1 },
    ]);
    expect(after).toMatchObject([{ items: 4, messages: 2 }]);
    expect(after.map(differenceKey)).toEqual(before.map(differenceKey));
  });
});

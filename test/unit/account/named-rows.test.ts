import { expect, it } from 'vitest';
import type { Difference } from '../../../src/account/difference.ts';
import { minuteKey } from '../../../src/account/listed-minutes.ts';
import { notNamedByBooks, takeNamed } from '../../../src/account/named-rows.ts';

const dayOf = 86_400;
const unrecorded = (day: number, items: number): Difference => ({
  ...{ kind: 'unrecorded', stream: 'METRICS', pipeline: 'metrics', dataId: 7, appId: 0, messages: 1 },
  ...{ minute: day * dayOf + 3_600, items },
});

it.each([
  ['those of the same days', [unrecorded(20_000, 12)], 8],
  ['those of the day before, whose items may be ahead of it', [unrecorded(19_999, 12)], 8],
  ['none of long before, whose rows may have expired', [unrecorded(19_998, 12)], 20],
])('of rows without a record the books of an earlier process have named %s', (_, found, left) => {
  const rows = new Map([['metrics 7 0', new Map([[20_000, 20]])]]);
  expect(notNamedByBooks(new Map([['metrics 7 0', 20]]), rows, found, new Map())).toEqual(
    new Map([['metrics 7 0', left]]),
  );
});

it('what the books have named is taken off the event day of its arrival first, then off others', () => {
  const owner = { pipeline: 'metrics', dataId: 7, appId: 0 } as const;
  const rows = [20_000, 20_001, 20_002].map((day) => ({ ...owner, day, items: 10 }));
  const byStore = new Map([[minuteKey('METRICS', 20_001 * dayOf + 60), new Map([['metrics 7 0', 4]])]]);
  const takenOf = (...found: Difference[]) => [...takeNamed(rows, found, byStore).values()];
  expect(takenOf()).toEqual([0, 4, 0]);
  expect(takenOf(unrecorded(20_002, 6))).toEqual([0, 4, 6]);
  expect(takenOf(unrecorded(20_002, 12))).toEqual([2, 4, 10]);
  expect(takenOf(unrecorded(20_003, 50))).toEqual([10, 10, 10]);
});

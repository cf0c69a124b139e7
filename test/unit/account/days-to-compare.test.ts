import { describe, expect, it } from 'vitest';
import { createDaysToCompare, type SeenDay, seenDays } from '../../../src/account/days-to-compare.ts';
import type { SettledDays } from '../../../src/account/settled-days.ts';

const owner = (...days: [number, number, bigint][]) => ({
  days: new Map(days.map(([day, rows, sum]) => [day, { rows, sum }])),
  unknownUntil: undefined,
});
const settled: SettledDays = new Map([
  ['metrics', new Map([[1, owner([10, 3, 6n], [11, 2, 5n])]])],
  [
    'traces',
    new Map([
      [7, owner([10, 4, 1n])],
      [8, owner([10, 1, 2n ** 64n - 1n])],
    ]),
  ],
]);
const sizes = {
  points: new Map([
    [
      1,
      new Map([
        [10, 3],
        [12, 1],
      ]),
    ],
  ]),
  applications: new Map([['traces' as const, new Map([[10, 5]])]]),
};
const shown = (days: readonly SeenDay[]): string[] =>
  days.map(({ pipeline, owner, day }) => `${pipeline} ${owner} ${day}`);

describe('the days whose rows are read', () => {
  const seen = seenDays(settled, sizes);

  it('are those of the records and of the stores, with the numbers of both', () => {
    expect(seen.map((day) => [...shown([day]), day.state, day.stored, day.recorded])).toEqual([
      ['metrics 1 10', '3 3 6', 3, 3],
      ['metrics 1 12', '1 0 0', 1, 0],
      ['metrics 1 11', '0 2 5', 0, 2],
      ['traces 0 10', '5 5 0', 5, 5],
    ]);
  });

  it('are first those whose numbers differ, then the others, then none until something changes or time is up', () => {
    const days = createDaysToCompare(() => 1_000);
    expect(shown(days.next(seen, 3, 0))).toEqual(['metrics 1 12', 'metrics 1 11', 'metrics 1 10']);
    for (const day of seen) days.compared(day, 0);
    expect(days.next(seen, 9, 999)).toEqual([]);
    const changed = seen.map((day) => (day.pipeline === 'traces' ? { ...day, state: 'other' } : day));
    expect(shown(days.next(changed, 9, 999))).toEqual(['traces 0 10']);
    expect(days.next(seen, 9, 1_000)).toHaveLength(4);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DayTally, runDaysMax } from '../../../../src/rules/points/day-tally.ts';
import { always } from '../../../support/properties.ts';

const day = 86_400_000;

describe('the rows of a run by event day', () => {
  it('are counted with the sums of their ordinals, in any order of their times', () => {
    const times = fc.array(
      fc.tuple(fc.integer({ min: 20_000, max: 20_003 }), fc.constantFrom(0, 1, day - 1)),
    );
    always(
      fc.property(fc.array(times, { maxLength: 3 }), (runs) => {
        const tally = new DayTally();
        for (const run of runs) {
          const expected = new Map<number, { rows: number; ordinals: number }>();
          for (const [ordinal, [on, at]] of run.entries()) {
            tally.add(on * day + at, 1, ordinal);
            const known = expected.get(on) ?? { rows: 0, ordinals: 0 };
            expected.set(on, { rows: known.rows + 1, ordinals: known.ordinals + ordinal });
          }
          const days = [...expected].map(([on, sums]) => ({ day: on, ...sums }));
          expect(tally.take()).toEqual(days.toSorted((a, b) => a.day - b.day));
        }
      }),
    );
  });

  it('are reported up to a number of days, and not at all beyond it', () => {
    const tally = new DayTally();
    const fill = (days: number): number => {
      for (let on = 1; on <= days; on++) tally.add(on * day, 1, on);
      tally.add(day, 1, 0);
      return tally.take().length;
    };
    expect([fill(runDaysMax), fill(runDaysMax + 1), fill(1)]).toEqual([runDaysMax, 0, 1]);
  });
});

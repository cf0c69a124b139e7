import { describe, expect, it } from 'vitest';
import type { Difference } from '../../../src/account/difference.ts';
import { createEarlierRows } from '../../../src/account/earlier-rows.ts';

const owner = { pipeline: 'metrics', dataId: 1, appId: 0 } as const;
const day = 20_000;
const start = day * 86_400 + 36_000;
const hour = 3_600;

/** Rows without a record of a day, as a look at the stores names them. */
const rows = (items: number, change: Partial<Difference> = {}): Difference => ({
  ...{ ...owner, kind: 'unrecorded', stream: 'METRICS', minute: day * 86_400, items, messages: 0 },
  ...change,
});

const open = () => {
  let now = start;
  const earlier = createEarlierRows(() => now);
  return {
    earlier,
    note: (at: number, ...found: Difference[]): void => {
      now = start + at;
      earlier.note(found);
    },
    /** Of the rows of these days, how many were named before. */
    namedBefore: (at: number, byDay: ReadonlyMap<number, number> = new Map([[day, 100]])): number => {
      earlier.read(new Map([['metrics 1 0', byDay]]));
      return earlier.before(owner, start + at);
    },
  };
};

describe('rows without a record that the looks have named', () => {
  it('are of no message that arrived more than a minute later, and may be of an earlier one', () => {
    const { note, namedBefore } = open();
    note(0, rows(12));
    expect([-60, 0, 59].map((at) => namedBefore(at))).toEqual([0, 0, 0]);
    expect([60, hour].map((at) => namedBefore(at))).toEqual([12, 12]);
  });

  it('count with the figure of that time where there are more or fewer of them by now', () => {
    const { note, namedBefore } = open();
    note(0, rows(12));
    note(hour, rows(15));
    expect([hour, hour + 60].map((at) => namedBefore(at))).toEqual([12, 15]);
    note(2 * hour, rows(4));
    expect([hour, hour + 60].map((at) => namedBefore(at))).toEqual([4, 4]);
    note(3 * hour);
    expect(namedBefore(4 * hour)).toBe(0);
  });

  it('were there since their figure was stored, by another process too', () => {
    const { note, namedBefore } = open();
    note(0, rows(12, { foundAt: start - hour }));
    expect(namedBefore(-hour + 60)).toBe(12);
  });

  // They would explain the loss of a message that came long after them.
  it('were there when they were read, where the clock of ClickHouse was ahead', () => {
    const { note, namedBefore } = open();
    note(0, rows(12, { foundAt: start + 2 * hour }));
    note(60, rows(12, { foundAt: start + 2 * hour }));
    expect([0, 59, 60].map((at) => namedBefore(at))).toEqual([0, 0, 12]);
  });

  it('count as far as the stores were read: by day, and no more than there are', () => {
    const { note, namedBefore } = open();
    note(0, rows(12), rows(5, { minute: (day - 30) * 86_400 }), rows(7, { dataId: 2 }));
    expect(namedBefore(hour)).toBe(12);
    expect(namedBefore(hour, new Map([[day, 8]]))).toBe(8);
    expect(
      namedBefore(
        hour,
        new Map([
          [day, 100],
          [day - 30, 100],
        ]),
      ),
    ).toBe(17);
  });

  it('are not those that the books name', () => {
    const { note, namedBefore } = open();
    note(0, rows(12, { messages: 3 }), rows(9, { kind: 'missing_in_the_store' }));
    expect(namedBefore(hour)).toBe(0);
  });
});

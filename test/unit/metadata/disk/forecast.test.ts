import { describe, expect, it } from 'vitest';
import {
  bytesPerDay,
  daysLeftMax,
  daysUntilFull,
  type Growing,
} from '../../../../src/metadata/disk/forecast.ts';

const today = 20_000;

/** 10 bytes on each of the last `count` whole days. */
const daily = (count: number, retentionDays?: number): Growing => ({
  retentionDays,
  days: Array.from({ length: count }, (_, index) => ({ day: today - 1 - index, bytes: 10 })),
});

describe('what a day adds', () => {
  it('is the last whole day, regardless of what today has so far', () => {
    const days = [
      { day: today, bytes: 999 },
      { day: today - 1, bytes: 10 },
      { day: today - 2, bytes: 70 },
    ];
    expect(bytesPerDay({ retentionDays: undefined, days }, today)).toBe(10);
  });

  it('is today so far for rows that began today, and nothing for those that ended before yesterday', () => {
    const of = (day: number) => bytesPerDay({ retentionDays: undefined, days: [{ day, bytes: 5 }] }, today);
    expect([of(today), of(today - 1), of(today - 2), of(today + 1)]).toEqual([5, 5, 0, 0]);
  });
});

describe('the forecast', () => {
  it('divides the free bytes by what a day adds, where all is kept for ever', () => {
    expect(daysUntilFull(75, [daily(3)], today)).toBe(7.5);
    expect(daysUntilFull(75, [daily(3), daily(2)], today)).toBe(3.75);
    expect(daysUntilFull(0, [daily(3)], today)).toBe(0);
  });

  it('ends where nothing grows', () => {
    expect(daysUntilFull(1, [], today)).toBe(daysLeftMax);
    expect(
      daysUntilFull(1, [{ retentionDays: undefined, days: [{ day: today - 9, bytes: 5 }] }], today),
    ).toBe(daysLeftMax);
  });

  it('knows that rows which are kept for a time stop growing', () => {
    // Three days are stored, and 8 are kept at last: seven of the retention and the present one.
    expect(daysUntilFull(51, [daily(3, 7)], today)).toBe(daysLeftMax);
    expect(daysUntilFull(45, [daily(3, 7)], today)).toBeCloseTo(4.5);
  });

  it('takes away at once what a shorter retention ended, and a day with each day from then on', () => {
    expect(daysUntilFull(5, [daily(100, 3)], today)).toBe(daysLeftMax);
    expect(daysUntilFull(5, [daily(3, 3)], today)).toBe(0.5);
    expect(daysUntilFull(11, [daily(3, 3)], today)).toBe(daysLeftMax);
    expect(daysUntilFull(11, [daily(100)], today)).toBeCloseTo(1.1);
  });

  it('adds growth for ever to growth that ends', () => {
    // 20 bytes a day; 10 go with each day from the fourth on.
    expect(daysUntilFull(100, [daily(1), daily(1, 4)], today)).toBe(6);
    expect(daysUntilFull(100, [daily(1), daily(1)], today)).toBe(5);
  });
});

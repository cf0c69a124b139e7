import { describe, expect, it } from 'vitest';
import { endOfPeriod } from '../../../src/outcomes/buckets.ts';

describe('the end of a period', () => {
  it.each([
    [119, 120],
    [120, 120],
    [121, 180],
    // It stays within a DateTime, which has the last minute all the same.
    [4_294_967_295, 4_294_967_295],
  ])('%d is before second %d', (until, end) => {
    expect(endOfPeriod(until, 0)).toBe(end);
  });

  it('without a time has the minute that begins now', () => {
    expect(endOfPeriod(undefined, 119)).toBe(120);
    expect(endOfPeriod(undefined, 120)).toBe(180);
  });
});

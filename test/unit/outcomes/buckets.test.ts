import { describe, expect, it } from 'vitest';
import { endOfPeriod, endOfUsage, startOfBucket } from '../../../src/outcomes/buckets.ts';

describe('two adjacent periods of usage', () => {
  it.each([120, 121, 150, 179])(
    'that meet at second %d have no minute in common, and none between them',
    (at) => {
      expect(endOfUsage(at, 0)).toBe(startOfBucket(at, 'minute'));
    },
  );

  it('have the minute that begins now in the one without an end', () => {
    expect(endOfUsage(undefined, 119)).toBe(120);
    expect(endOfUsage(undefined, 120)).toBe(180);
  });
});

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

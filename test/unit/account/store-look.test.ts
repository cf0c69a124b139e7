import { describe, expect, it } from 'vitest';
import type { SeenDay } from '../../../src/account/days-to-compare.ts';
import { isToBeRead } from '../../../src/account/store-look.ts';

const day = (recorded: number, stored: number): SeenDay => ({
  ...{ pipeline: 'metrics', owner: 1, day: 20_000, recorded, stored },
  state: `${stored} ${recorded}`,
});

describe('the rows of a day are read', () => {
  it.each([
    ['not when it is seen for the first time', undefined, day(100, 90), 0, false],
    ['when it is quiet', day(100, 100), day(100, 100), 0, true],
    [
      'not while the store is ahead of the records and they follow',
      day(100, 120),
      day(130, 150),
      599_999,
      false,
    ],
    ['all the same after ten minutes of it', day(100, 120), day(130, 150), 600_000, true],
    ['when the store lacks rows that the records name', day(100, 120), day(130, 129), 45_000, true],
    ['when the records do not name what was there a look ago', day(100, 140), day(130, 150), 45_000, true],
    ['but not twice within 45 seconds', day(100, 120), day(130, 129), 44_999, false],
  ])('%s', (_, before, now, sinceComparedMs, isRead) => {
    expect(isToBeRead(now, before, sinceComparedMs)).toBe(isRead);
  });
});

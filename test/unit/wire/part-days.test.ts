import { describe, expect, it } from 'vitest';
import {
  type DescribedRows,
  isDays,
  partDays,
  partDaysMax,
  relativeSums,
} from '../../../src/wire/part-days.ts';

const day = 86_400_000;
const top = 2n ** 63n - 1n;
const uids = { rows: 3, base: '1000', first: 4, last: 6 };
const points = { ...uids, timeMin: 20_000 * day, timeMax: 20_000 * day + 5 };

describe('the rows of a part by event day', () => {
  const cases: [string, DescribedRows, ReturnType<typeof partDays>][] = [
    ['follow from one request of one day that says so', { ...points, days: [] }, [[20_000, 3, '3015']]],
    ['are those that it names', { ...points, days: [[20_000, 3, '77']] }, [[20_000, 3, '77']]],
    // It may have gathered several requests, and name the uids of the first one only.
    ['are unknown in points of an earlier program', points, undefined],
    [
      'are unknown where times differ in their day',
      { ...points, timeMax: 20_001 * day, days: [] },
      undefined,
    ],
    ['are unknown where ordinals are missing', { ...points, last: 7, days: [] }, undefined],
    // An earlier transfer cuts a refused row out of a part and leaves the days of the whole.
    [
      'of a single row follow from its uid',
      { ...points, ...{ rows: 1, base: '1005', first: 0, last: 0 }, days: [[20_000, 3, '3015']] },
      [[20_000, 1, '1005']],
    ],
    [
      'are unknown where they are of other rows',
      { ...points, rows: 2, days: [[20_000, 3, '3015']] },
      undefined,
    ],
    ['follow from spans without gaps', { ...uids, day: 20_000 }, [[20_000, 3, '3015']]],
    ['are unknown in spans with gaps of an earlier program', { ...uids, last: 9, day: 20_000 }, undefined],
    ['are unknown beyond the days of a record', { ...uids, day: 65_536 }, undefined],
    [
      'have sums modulo 2^64',
      { rows: 3, base: String(top), first: 0, last: 2, day: 1 },
      [[1, 3, String((3n * top + 3n) % 2n ** 64n)]],
    ],
    ['are none without rows', { ...points, rows: 0 }, []],
  ];
  it.each(cases)('%s', (_, part, days) => {
    expect(partDays(part)).toEqual(days);
  });

  it('have a form that is checked when a message is read', () => {
    expect([undefined, [], [[1, 2, '3']]].map(isDays)).toEqual([true, true, true]);
    const long = Array.from({ length: partDaysMax + 1 }, () => [1, 1, '1']);
    const wrong = [{}, [1], [[1, 2]], [[1, 2, 3]], [[-1, 2, '3']], [[65_536, 2, '3']], [[1, 2, '-3']], long];
    expect(wrong.map(isDays)).toEqual(wrong.map(() => false));
  });

  it('have sums relative to the base of their record, modulo 2^64', () => {
    const days = { days: [1, 2], rows: [3, 1], sums: ['3009', '5'] };
    expect(relativeSums(days, '1000')).toEqual(['9', String(2n ** 64n - 995n)]);
  });
});

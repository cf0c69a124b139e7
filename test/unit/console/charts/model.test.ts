import { expect, it } from 'vitest';
import { bucketTimes, linePath, ratesOf, sharesOf, totalsOf } from '../../../../console/src/charts/model.ts';

const series = [
  { key: 'a', label: 'a', mark: 0, values: [3, 0, null] },
  { key: 'b', label: 'b', mark: 1, values: [1, 0, 5] },
];

it('shares of a bucket add up to 1, and are 0 where nothing was counted', () => {
  expect(totalsOf(series, 3)).toEqual([4, 0, 5]);
  expect(sharesOf(series, 3).map(({ values }) => values)).toEqual([
    [0.75, 0, 0],
    [0.25, 0, 1],
  ]);
});

it('a line has a gap where nothing is known, and a dot where a value stands alone', () => {
  const path = (values: (number | null)[]): string =>
    linePath(
      values,
      (index) => index,
      (value) => value,
    );
  expect(path([1, 2, null, 4, null, 5, 6])).toBe('M0.0 1.0L1.0 2.0M3.0 4.0h0.1M5.0 5.0L6.0 6.0');
  expect(path([null, null])).toBe('');
  expect(path([Number.NaN, 1])).toBe('M1.0 1.0h0.1');
});

it('the buckets of a range begin with the one that its start lies in, and end with that of its end', () => {
  expect(bucketTimes(119, 240, 60)).toEqual([60, 120, 180, 240]);
  expect(bucketTimes(120, 120, 60)).toEqual([120]);
});

it('a steady load has one rate, also in the buckets that the period cuts', () => {
  const buckets = [0, 60, 120];
  expect(ratesOf([300, 600, 20], { since: 30, until: 122, buckets, step: 60 })).toEqual([10, 10, 10]);
  expect(ratesOf([50], { since: 61, until: 66, buckets: [60], step: 60 })).toEqual([10]);
});

import { expect, test } from 'vitest';
import { combineRows } from '../../../bench/report.ts';
import {
  changePercent,
  intervalOf,
  median,
  percentile,
  slopeOf,
  spreadOf,
} from '../../../bench/statistics.ts';
import { tableLines } from '../../../bench/table.ts';

test.each([
  ['one value', [3], 3],
  ['an odd number of values, in any order', [9, 1, 5], 5],
  ['an even number of values: the mean of the two in the middle', [8, 2, 4, 6], 5],
  ['values that sort differently as text', [10, 9, 100], 10],
])('the median of %s', (_, values, expected) => {
  expect(median(values)).toBe(expected);
});

test('the spread is least, middle and greatest, and leaves its input as it was', () => {
  const values = [7, 3, 5];
  expect(spreadOf(values)).toEqual({ min: 3, median: 5, max: 7 });
  expect(values).toEqual([7, 3, 5]);
});

test('the 95 % interval of a mean is that of Student for so few values, and unknown for one', () => {
  const { mean, half } = intervalOf([1, 2, 3, 4, 5]);
  expect(mean).toBe(3);
  expect(half).toBeCloseTo(1.963, 3);
  expect(intervalOf([7]).half).toBeNaN();
});

// A p99 that skips the slowest requests would hide the stall that it should show.
test('a percentile is the least value that so large a share of the values does not pass', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(percentile(hundred, 0.5)).toBe(50);
  expect(percentile(hundred, 0.99)).toBe(99);
  expect(percentile(hundred, 1)).toBe(100);
  expect(percentile([4, 1], 0.99)).toBe(4);
  expect(percentile([7], 0.5)).toBe(7);
});

test('nothing measured is not a number, never a good one', () => {
  expect(median([])).toBeNaN();
  expect(percentile([], 0.99)).toBeNaN();
  expect(spreadOf([]).median).toBeNaN();
});

test('the slope of growing memory is its growth for each step', () => {
  expect(
    slopeOf([
      [0, 100],
      [1, 102],
      [2, 104],
    ]),
  ).toBeCloseTo(2);
  expect(
    slopeOf([
      [0, 100],
      [1, 90],
      [2, 100],
    ]),
  ).toBeCloseTo(0);
  expect(slopeOf([[5, 100]])).toBe(0);
});

test('a change is in percent of the value before', () => {
  expect(changePercent(200, 150)).toBe(-25);
});

test('repeats of a row become their medians, with the least and the greatest rate and CPU', () => {
  const row = (rate: number, cpu: number, engine: number) => ({
    stage: 'parse',
    items_per_second: rate,
    cpu_seconds_per_million: cpu,
    cpu_nats: engine,
  });
  expect(combineRows([[row(100, 3, 1)], [row(300, 1, 2)], [row(200, 2, 9)]])).toEqual([
    {
      stage: 'parse',
      items_per_second: 200,
      cpu_seconds_per_million: 2,
      cpu_nats: 2,
      repeats: 3,
      items_per_second_min: 100,
      items_per_second_max: 300,
      cpu_seconds_per_million_min: 1,
      cpu_seconds_per_million_max: 3,
    },
  ]);
});

test('a table has its words to the left, its figures to the right, and is as wide as its widest cell', () => {
  expect(
    tableLines(
      ['', 'rate'],
      [
        ['a', '1'],
        ['long name', '12,000'],
      ],
    ),
  ).toEqual(['             rate', '---------  ------', 'a               1', 'long name  12,000']);
});

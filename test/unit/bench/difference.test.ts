import { expect, test } from 'vitest';
import { differencesOf, readFigures } from '../../../bench/difference.ts';

test('figures are read from the lines for programs, with any text between them', () => {
  const output = [
    'Push to visible',
    '  1000 points a request   5,000 points/s',
    '{"item":"points","stage":"push","items_per_second":5000}',
    '{"latency":"push","visible_p99_ms":12}',
    '{"what":"a time","milliseconds":3}',
  ].join('\n');
  expect(readFigures(output)).toEqual(
    new Map([
      ['push', { items_per_second: 5000 }],
      ['latency, push', { visible_p99_ms: 12 }],
    ]),
  );
});

const run = (rate: number, stage = 'push') => new Map([[stage, { items_per_second: rate }]]);

// Compared across the whole run, a machine that slowed down would be taken for the revision that happened to run later.
test('the change is that of pairs of runs that followed each other', () => {
  expect(differencesOf([run(100), run(50), run(200)], [run(110), run(60), run(180)])).toEqual([
    {
      stage: 'push',
      figure: 'items_per_second',
      base: 100,
      head: 110,
      change_percent: 10,
      change_percent_min: -10,
      change_percent_max: 20,
      change_percent_mean: 6.67,
      change_percent_interval: 37.9,
      pairs: 3,
    },
  ]);
});

test('a figure that one of the revisions did not measure is not compared', () => {
  expect(differencesOf([run(100)], [run(100, 'another')])).toEqual([]);
  expect(differencesOf([run(1), new Map()], [run(1), run(1)])).toEqual([]);
});

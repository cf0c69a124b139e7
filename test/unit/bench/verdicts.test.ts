import { expect, test } from 'vitest';
import { behind, judgeKill, type PeerRow } from '../../../bench/peers/verdict.ts';
import { judge, type Target, targets } from '../../../bench/targets.ts';

const wanted: readonly Target[] = [
  { target: 'rate', figure: 'rate', unit: 'points/s', atLeast: 100 },
  { target: 'cpu', figure: 'cpu', unit: 'CPU s/M', atMost: 3 },
];

test('a target is met at its limit, missed beyond it, and open when it was not measured', () => {
  const met = (figures: Record<string, number>) =>
    judge(figures, wanted).map((each) => [each.target, each.met]);
  expect(met({ rate: 100, cpu: 3 })).toEqual([
    ['rate', true],
    ['cpu', true],
  ]);
  expect(met({ rate: 99, cpu: 3.1 })).toEqual([
    ['rate', false],
    ['cpu', false],
  ]);
  expect(met({ cpu: 1 })).toEqual([['cpu', true]]);
});

// A run that measured nothing must not pass for one that reached everything.
test('a figure that is not a number is a missed target', () => {
  expect(judge({ rate: Number.NaN, cpu: Number.NaN }, wanted).map(({ met }) => met)).toEqual([false, false]);
});

test('no two targets use one figure', () => {
  const figures = targets.map(({ figure }) => figure);
  expect(new Set(figures).size).toBe(figures.length);
});

const row = (change: Partial<PeerRow>): PeerRow => ({
  row: 'peer',
  ours: false,
  contest: 'push',
  item: 'points',
  is_stored: true,
  ok_means: 'in memory',
  items_per_second: 80,
  cpu_per_million: 10,
  cpu_per_million_roles: 10,
  cpu_per_million_database: 1,
  rss_mib: 1,
  missing: 0,
  failed_requests: 0,
  calibration_ms: 30,
  calibration_ms_max: 30,
  unsettled: 0,
  ...change,
});
const ours = row({ row: 'ours', ours: true, items_per_second: 100, cpu_per_million: 5 });

test('ahead is more stored and less CPU than every row that stores', () => {
  expect(behind([ours, row({})])).toEqual([]);
  expect(behind([ours, row({ is_stored: false, items_per_second: 900, cpu_per_million: 1 })])).toEqual([]);
});

test('each figure in which a peer is not beaten is named', () => {
  expect(behind([ours, row({ items_per_second: 125 })])).toEqual([
    'ours against peer: 20 % fewer points stored a second',
  ]);
  expect(behind([ours, row({ cpu_per_million: 4 })])).toEqual(['ours against peer: 25 % more CPU a million']);
  expect(behind([ours, row({ items_per_second: 100, cpu_per_million: 5 })])).toHaveLength(2);
});

test('a peer is compared only with a figure of the same bodies and durability', () => {
  expect(behind([ours, row({ contest: 'push, power' })])).toEqual([
    'peer: no figure of Tidemark was measured beside it',
  ]);
});

test('after a kill, an acknowledged item without a row is lost, and one with two rows was stored twice', () => {
  const stored = new Map([
    [1, { rows: 10, items: 10 }],
    [2, { rows: 14, items: 10 }],
    [3, { rows: 4, items: 4 }],
    [9, { rows: 6, items: 5 }],
  ]);
  expect(judgeKill(new Set([1, 2, 3, 4]), stored, 10)).toEqual({
    acknowledged: 40,
    lost: 16,
    stored_twice: 4,
    stored_unanswered: 5,
  });
});

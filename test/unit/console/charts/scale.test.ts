import { describe, expect, it } from 'vitest';
import { indexAt, linear, niceCeil, stackOf, valueTicks } from '../../../../console/src/charts/scale.ts';

const stretch = Array.from({ length: 200 }, (_, index) => 1.17 ** index / 1000);

describe('the axis of values', () => {
  it('begins at 0, ends at or above the highest value, and has even steps that a reader can add', () => {
    for (const max of stretch) {
      const ticks = valueTicks(max);
      expect(ticks[0]).toBe(0);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9));
      expect(ticks.at(-2)).toBeLessThan(max);
      expect(ticks.length).toBeLessThanOrEqual(6);
      expect(niceCeil(ticks[1] ?? 0)).toBeCloseTo(ticks[1] ?? 0, 10);
    }
  });

  it('counts in whole numbers where the values are counts', () => {
    expect(valueTicks(3, { whole: true })).toEqual([0, 1, 2, 3]);
    expect(valueTicks(9, { whole: true })).toEqual([0, 3, 6, 9]);
    expect(valueTicks(0, { whole: true })).toEqual([0, 1]);
  });

  it('has finite marks, each larger than the last, and a place for every value up to the largest and smallest numbers', () => {
    const most = Number.MAX_VALUE;
    for (const [min, max] of [
      [0, most],
      [-most, most],
      [-1.7e308, 0],
      [-1e308, 1e308],
      [0, 2e-323],
    ] as const) {
      const ticks = valueTicks(max, { min, whole: max > 1 });
      expect(ticks.every(Number.isFinite)).toBe(true);
      expect(ticks.toSorted((left, right) => left - right)).toEqual(ticks);
      expect(new Set(ticks).size).toBe(ticks.length);
      expect(ticks.length).toBeLessThanOrEqual(7);
      const y = linear([ticks[0] ?? 0, ticks.at(-1) ?? 0], [100, 0]);
      const places = [min, min / 2, max / 2, max].map(y);
      for (const place of places) expect(Math.abs(place - 50)).toBeLessThanOrEqual(50 + 1e-9);
      expect(places[0]).toBeGreaterThan(places[3] ?? 0);
    }
  });

  it('has a length without any value', () => {
    expect(valueTicks(0)).toEqual([0, 1]);
    expect(niceCeil(Number.NaN)).toBe(1);
  });
});

describe('a column of stacked bars', () => {
  it('is as high as its sum, with each part as high as its share', () => {
    const parts = [
      { key: 'a', value: 60 },
      { key: 'b', value: 40 },
    ];
    expect(stackOf(parts, 200, 100)).toEqual([
      { key: 'a', from: 0, to: 30 },
      { key: 'b', from: 30, to: 50 },
    ]);
  });

  it('shows one drop among a million stored items, without becoming higher', () => {
    const column = stackOf(
      [
        { key: 'stored', value: 1_000_000 },
        { key: 'dropped', value: 1 },
      ],
      1_000_001,
      200,
    );
    expect(column[1]?.to).toBeCloseTo(200, 2);
    expect((column[1]?.to ?? 0) - (column[1]?.from ?? 0)).toBe(2);
  });

  it('leaves out what is 0', () => {
    expect(stackOf([{ key: 'a', value: 0 }], 10, 100)).toEqual([]);
  });
});

it('a place on the chart is the bucket below it, also at and beyond its ends', () => {
  expect(indexAt(0, 100, 10)).toBe(0);
  expect(indexAt(99.9, 100, 10)).toBe(9);
  expect(indexAt(100, 100, 10)).toBe(9);
  expect(indexAt(-5, 100, 10)).toBe(0);
  expect(linear([0, 10], [100, 0])(2.5)).toBe(75);
  expect(linear([3, 3], [7, 9])(3)).toBe(7);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pointCost } from '../../../../src/rules/points/cutting.ts';
import { always } from '../../../support/properties.ts';

const point = {
  metrics: { cpu: 1.5, memory: 2 },
  target: '10.0.0.1',
  dimension: { module: 'db' },
  timestamp: 1700000000000,
};

describe('the cost of a point', () => {
  // The sums are part of message ids (architecture 5.3): another sum under the same rule version stores retries twice.
  it.each([
    ['an empty object, in a wide table', {}, false, 256],
    ['an empty object, in a narrow table', {}, true, 256],
    ['a wide point', point, false, 256 + 2 * (3 + 8 + 6 + 8 + 8 + 6 + 2 + 8)],
    [
      'a narrow point: each row repeats all but the metrics',
      point,
      true,
      2 * (256 + 2 * (8 + 8 + 8)) + 2 * (3 + 8 + 6 + 8),
    ],
    ['the alias of dimension', { dimensions: { module: 'db' } }, false, 256 + 2 * 8],
    ['a dimension of null beside the alias', { dimension: null, dimensions: { a: 'b' } }, false, 256 + 2 * 2],
    ['a number', 5, false, 256 + 2 * 8],
    ['a string', 'abc', true, 256 + 2 * 3],
    ['null', null, false, 256 + 2 * 8],
    ['true', true, false, 256 + 2 * 8],
    ['fields that are not stored', { ...point, note: 'x'.repeat(1000) }, false, 256 + 2 * 49],
    ['a nested time', { timestamp: { a: ['bc', 1] } }, false, 256 + 2 * (1 + 2 + 8)],
  ])('of %s', (_, value, isNarrow, cost) => {
    expect(pointCost(value, isNarrow)).toBe(cost);
  });

  it('depends on nothing but the point', () => {
    always(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isNarrow) => {
        const copy: unknown = JSON.parse(JSON.stringify(value));
        expect(pointCost(copy, isNarrow)).toBe(pointCost(value, isNarrow));
        expect(pointCost(value, isNarrow)).toBeGreaterThanOrEqual(256);
      }),
    );
  });

  /** Arrays in arrays, this many deep, around a value. */
  const nested = (depth: number, core: unknown): unknown => {
    let value = core;
    for (let level = 0; level < depth; level++) value = [value];
    return value;
  };

  it('is counted without recursing as deep as a sender likes', () => {
    expect(pointCost({ timestamp: nested(100_000, 1) }, false)).toBe(256 + 2 * 8);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pointCost, runBudget, sizesCannotReachBudget } from '../../../../src/rules/points/cutting.ts';
import { always } from '../../../support/properties.ts';

const point = {
  metrics: { cpu: 1.5, memory: 2 },
  target: '10.0.0.1',
  dimension: { module: 'db' },
  timestamp: 1700000000000,
};

describe('the cost of a point', () => {
  // The sums are part of message ids (architecture 5.5): another sum under the same rule version stores retries twice.
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

// Where the bound shows that nothing can be cut, the sizes are not counted at all: if it were wrong, a request would be
// cut differently by length alone, or not at all, and a message could exceed the limit of the bus.
describe('the short way past the cutting rule', () => {
  const key = fc.string({ maxLength: 2 });
  const scalar = fc.oneof(
    fc.constantFrom<unknown>(0, 1, true, null, '', 'x', 1.5),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );
  const container = fc.oneof(
    fc.dictionary(key, scalar, { maxKeys: 8 }),
    fc.array(scalar, { maxLength: 8 }),
    scalar,
  );
  const densePoint = fc.oneof(
    fc.record(
      { metrics: container, target: scalar, dimension: container, timestamp: container },
      { requiredKeys: [] },
    ),
    scalar,
  );

  it('is taken only where the costs of all points stay within one message', () => {
    always(
      fc.property(fc.array(densePoint, { minLength: 1, maxLength: 20 }), (data) => {
        // The tightest body: nothing but the array, as bytes.
        const bodyLength = Buffer.byteLength(JSON.stringify(data));
        let sum = 0;
        for (const each of data) sum += pointCost(each, false);
        // The bound itself, at every budget and not only at the real one.
        expect(sum).toBeLessThanOrEqual(data.length * 256 + 8 * bodyLength);
      }),
      2000,
    );
  });

  it.each([
    ['nothing', 0, 0, true],
    ['a common request', 100, 20_000, true],
    ['as many points as fit with no body at all', runBudget / 256, 0, true],
    ['one more', runBudget / 256 + 1, 0, false],
    ['the longest body of one point', 1, (runBudget - 256) / 8, true],
    ['one byte more', 1, (runBudget - 256) / 8 + 1, false],
  ])('%s: %d points in %d bytes', (_, points, bodyLength, cannot) => {
    expect(sizesCannotReachBudget(points, bodyLength)).toBe(cannot);
  });
});

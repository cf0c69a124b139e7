import { describe, expect, it } from 'vitest';
import { valueOfBucket, withScaled } from '../../../../src/metadata/explore/large-values.ts';
import { aggregates, type PointQuery, scale } from '../../../../src/metadata/explore/point-sql.ts';

const query = (aggregate: PointQuery['aggregate']): PointQuery => ({
  ...{ table: 't', layout: 'wide', metrics: [{ name: 'cpu', column: 'cpu' }], aggregate },
  ...{ filter: [], groupBy: [], period: { since: 0, until: 3_600 } },
});

describe('a query of values whose sum may be larger than a number can be', () => {
  it('asks scaled values only of means and sums, and only where one of the values is large', async () => {
    for (const aggregate of aggregates)
      for (const [rows, isLarge] of [
        [[[1e289, -1e289]], false],
        [[[1, -1e290]], true],
        [[[null, null]], false],
        [[], false],
      ] as const) {
        const asked = await withScaled(query(aggregate), async () => rows.map((row) => [...row]));
        const isSum = aggregate === 'avg' || aggregate === 'sum';
        expect(asked.isScaled ?? false).toBe(isSum && isLarge);
      }
  });

  it('takes the scaled value where QuestDB may have left a part of the sum out, and no other', () => {
    const sum = { aggregate: 'sum' } as const;
    for (const value of [0, 5, -1e289, 5e-324]) expect(valueOfBucket(sum, value, value * scale)).toBe(value);
    expect(valueOfBucket(sum, null, null)).toBeNull();
    expect(valueOfBucket(sum, null, 1e308 * scale)).toBe(1e308);
    expect(valueOfBucket(sum, 5, 1e308 * scale)).toBe(1e308);
    expect(valueOfBucket(sum, -1.5e308, 0)).toBe(0);
    expect(valueOfBucket(sum, 5, 2 ** 961)).toBeUndefined();
    expect(valueOfBucket(sum, null, -(2 ** 970))).toBeUndefined();
  });

  it('has a mean that is no larger than the largest number', () => {
    const rounded = Number.MAX_VALUE * scale * (1 + Number.EPSILON);
    expect(valueOfBucket({ aggregate: 'avg' }, null, rounded)).toBe(Number.MAX_VALUE);
    expect(valueOfBucket({ aggregate: 'avg' }, null, -rounded)).toBe(-Number.MAX_VALUE);
  });
});

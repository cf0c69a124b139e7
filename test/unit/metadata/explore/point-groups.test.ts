import { describe, expect, it } from 'vitest';
import { groupsThatFit } from '../../../../src/metadata/explore/point-groups.ts';
import type { PointQuery } from '../../../../src/metadata/explore/point-sql.ts';

const query: PointQuery = {
  table: 't',
  layout: 'wide',
  metrics: [{ name: 'cpu', column: 'cpu' }],
  aggregate: 'avg',
  filter: [],
  groupBy: [{ column: 'host' }],
  period: { since: 0, until: 3_600 },
};
const groupsOf = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => ({ values: [`${index}${value}`], rows: count - index }));

describe('the groups of a query of points', () => {
  it('are all of them where their values have room', () => {
    const groups = groupsOf(20, 'a'.repeat(951));
    expect(groupsThatFit(query, groups, 60, 600)).toEqual(groups);
  });

  it('are the first ones where a statement has no room for all', () => {
    const groups = groupsOf(20, 'ü'.repeat(951));
    // Six characters of a request each, of 30 KiB.
    expect(groupsThatFit(query, groups, 60, 1)).toEqual(groups.slice(0, 5));
  });

  // Without a group the answer would read like one without points.
  it('are the others where one of them has no room, and refused where none has', () => {
    const [short] = groupsOf(1, 'a');
    const [long] = groupsOf(1, 'ü'.repeat(9_000));
    const some = [long, short].filter((group) => group !== undefined);
    expect(groupsThatFit(query, some, 60, 1)).toEqual([short]);
    expect(() => groupsThatFit(query, groupsOf(2, 'ü'.repeat(9_000)), 60, 1)).toThrow(
      'the values of each group are too long',
    );
  });

  it('are the first ones where the answer would have too many bytes, as each of its rows repeats the values', () => {
    const groups = groupsOf(12, 'a'.repeat(2_048));
    expect(groupsThatFit(query, groups, 60, 60)).toEqual(groups);
    const fit = groupsThatFit({ ...query, layout: 'narrow' }, groups, 60, 1_200);
    expect(fit).toEqual(groups.slice(0, 10));
  });

  it('are the one without a value where the query has no dimensions', () => {
    expect(groupsThatFit({ ...query, groupBy: [] }, [{ values: [] }], 60, 600)).toEqual([{ values: [] }]);
  });
});

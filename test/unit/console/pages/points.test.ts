import { describe, expect, it } from 'vitest';
import {
  filterText,
  isEmpty,
  parseFilter,
  queryOf,
  sentenceOf,
  seriesOf,
  stepOf,
} from '../../../../console/src/pages/points/query.ts';

const range = { since: 1_000, until: 2_000, key: '' };

const answer = {
  ...{ mon_data_id: 1, table_id: 't', questdb: 'main', since: 0, until: 120, step: 60, buckets: [0, 60] },
  ...{
    group_by: ['host'],
    truncated: true,
    series_total: 7,
    raw: null,
    sql: [],
    elapsed_ms: 1,
    rows_read: null,
  },
  series: [
    { metric: 'cpu', group: ['\u202eweb'], rows: 3, values: [1, null], too_large: [] },
    { metric: 'cpu', group: [null], rows: 1, values: [null, 2], too_large: [] },
  ],
};

describe('the query of points', () => {
  it('is read from the address, with any number of values in one condition', () => {
    const query = new URLSearchParams({
      source: '1500001',
      metric: 'cpu',
      agg: 'max',
      by: 'host',
      step: '60',
    });
    query.append('metric', 'mem');
    query.append('where', filterText({ dimension: 'zone', isNot: false, values: ['a', null] }));
    query.append('where', filterText({ dimension: '__proto__', isNot: true, values: ['x', 'y'] }));
    query.append('where', filterText({ dimension: 'host', isNot: true, values: [null] }));
    expect(queryOf(query, range)).toEqual({
      ...{ data_id: 1_500_001, metrics: ['cpu', 'mem'], aggregate: 'max', group_by: ['host'], step: 60 },
      ...{ since: 1_000, until: 2_000, wide: false, raw: false },
      filter: [
        { dimension: 'zone', operator: 'in', values: ['a', null] },
        { dimension: '__proto__', operator: 'not in', values: ['x', 'y'] },
        { dimension: 'host', operator: '!=', values: [null] },
      ],
    });
  });

  it('says what it still needs, and takes a table and no unknown aggregate', () => {
    expect(queryOf(new URLSearchParams(), range)).toBe('Choose a source.');
    expect(queryOf(new URLSearchParams('source=1'), range)).toBe('Choose a metric.');
    expect(queryOf(new URLSearchParams('source=1&metric=a&where=x'), range)).toContain('cannot be read');
    expect(
      queryOf(new URLSearchParams('source=2_mon_1.__default__&metric=a&agg=drop&step=-1'), range),
    ).toMatchObject({
      ...{ table: '2_mon_1.__default__', aggregate: 'avg', step: undefined },
    });
    expect(queryOf(new URLSearchParams('source=1&metric=a'), { ...range, until: 900_000 })).toMatchObject({
      wide: true,
    });
  });

  it('has the step of the address only where its buckets are answered in this time', () => {
    const at = (step: string, since: number, until: number | undefined) =>
      stepOf(new URLSearchParams({ step }), { since, until });
    expect(at('10', 0, 6_000)).toBe(10);
    expect(at('10', 1, 6_001)).toBeUndefined();
    expect(at('10', 5, 6_000)).toBe(10);
    const now = Math.floor(Date.now() / 1_000);
    expect([at('10', now - 3_600, undefined), at('10', now - 21_600, undefined)]).toEqual([10, undefined]);
    for (const step of ['', '0', '-1', '1.5', 'x']) expect(at(step, 0, 600)).toBeUndefined();
  });

  it('reads no filter that it does not write', () => {
    for (const text of ['', '[]', '["a","="]', '["a","<","b"]', '[1,"=","b"]', '["a","=",1]', '{'])
      expect(parseFilter(text)).toBeUndefined();
  });
});

describe('the series of points', () => {
  it('have keys of their own and labels in which nothing is hidden', () => {
    expect(seriesOf(answer).map(({ key, label, mark }) => [key, label, mark])).toEqual([
      ['s0', 'cpu host=[U+202E]web', 0],
      ['s1', 'cpu host=(none)', 1],
    ]);
    expect(sentenceOf(answer, '60')).toBe('2 series of 7, those with most rows; 2 buckets of 60 s.');
  });

  it('say that the step of the address is too small', () => {
    const buckets = '2 series of 7, those with most rows; 2 buckets of 60 s.';
    for (const asked of [null, '', 'x', '1.5']) expect(sentenceOf(answer, asked)).toBe(buckets);
    expect(sentenceOf(answer, '10')).toBe(
      `${buckets} The step 10 s would make more than 600 buckets of this time: it is automatic.`,
    );
  });

  it('are not empty where a sum is larger than a number can be, and say it', () => {
    const none = { metric: 'cpu', group: ['a'], rows: 2, values: [null, null] };
    const [empty, large, both] = [[], [1], [0, 1]].map((places) => ({
      ...answer,
      series: [{ ...none, too_large: places }],
    }));
    expect([empty, large].map((each) => each && isEmpty(each, false))).toEqual([true, false]);
    expect(large && sentenceOf(large, null)).toContain('The sum of a bucket is beyond the largest number');
    expect(both && sentenceOf(both, null)).toContain('The sums of 2 buckets are beyond');
    const zeros = { ...answer, series: [{ ...none, values: [0, 0], too_large: [] }] };
    expect([isEmpty(zeros, true), isEmpty(zeros, false)]).toEqual([true, false]);
  });
});

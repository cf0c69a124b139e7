import { describe, expect, it } from 'vitest';
import {
  filterText,
  parseFilter,
  queryOf,
  sentenceOf,
  seriesOf,
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
    { metric: 'cpu', group: ['\u202eweb'], rows: 3, values: [1, null] },
    { metric: 'cpu', group: [null], rows: 1, values: [null, 2] },
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
    expect(sentenceOf(answer)).toBe('2 series of 7, those with most rows; 2 buckets of 60 s.');
  });
});

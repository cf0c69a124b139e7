import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reportEndpoints } from '../../../../src/metadata/api/report-endpoints.ts';
import { parseInput } from '../../../../src/metadata/problem.ts';
import { askedId, listRecords, pageOf, searchQuery } from '../../../../src/metadata/records/listing.ts';

const items = [7, 8, 10].map((id) => ({ id, value: id }));

describe('the cursor of a list', () => {
  it('leads to the next page where a page answered it', () => {
    const { next_cursor } = pageOf(items, { limit: 2 });
    expect(pageOf(items, { limit: 2, cursor: next_cursor ?? '' })).toEqual({
      items: [10],
      next_cursor: null,
    });
  });

  // Their page would be empty and the last one: a caller takes that for the end of the list.
  it.each([
    ['a text', 'abc'],
    ['a word', 'next'],
    ['one without its last character', 'MT'],
    ['an empty number', 'IA'],
    ['a number with a zero before it', Buffer.from('07').toString('base64url')],
    ['a number beyond those of ids', Buffer.from('9007199254740993').toString('base64url')],
  ])('is refused where it is %s', (_, cursor) => {
    expect(() => pageOf(items, { limit: 2, cursor })).toThrow('cursor: is not a next_cursor of this list');
  });
});

describe('the list of reports', () => {
  const query = reportEndpoints().find(({ method }) => method === 'GET')?.schemas.query;

  it('refuses a state that no report can have, and names those that there are', () => {
    const read = (state: string) => query && parseInput(query, { state });
    expect(() => read('activ')).toThrow('state: must be one of creating, active, deleted, purging, purged');
    expect(read('active')).toMatchObject({ state: 'active' });
  });
});

describe('the search of a list', () => {
  // Every word is looked for in each of the records, while metadata answers nobody else.
  it('has at most 20 words', () => {
    const read = (words: number) => parseInput(z.object(searchQuery), { search: 'a  '.repeat(words) });
    expect(() => read(21)).toThrow('search: must have at most 20 words');
    expect(read(20)).toEqual({ search: 'a  '.repeat(20) });
  });
});

describe('a list that is asked for one id', () => {
  const walks: string[] = [];
  const record = (id: number) => ({ value: { mon_data_id: id, is_enable: true }, revision: 1 });
  const set = {
    known: (id: number) => (id === 7 ? record(7) : undefined),
    list: () => {
      walks.push('records');
      return [{ id: 7, value: record(7).value }];
    },
  };
  const systemIds = (): Set<number> => {
    walks.push('system');
    return new Set([7]);
  };
  const asked = (query: Readonly<Record<string, unknown>>) =>
    listRecords(
      set,
      { limit: 100, ...query },
      { show: (each) => each, systemIds, namedId: askedId(query, 'mon_data_id') },
    ).items;

  // A page of the console asks every five seconds, and there may be 50,000 records.
  it('reads that record alone, and holds it to the other filters', () => {
    expect(asked({ mon_data_id: 7 })).toEqual([{ mon_data_id: 7, is_enable: true }]);
    expect(asked({ mon_data_id: 7, is_enable: false })).toEqual([]);
    expect(asked({ mon_data_id: 8 })).toEqual([]);
    expect(walks).toEqual([]);
    expect(asked({})).toEqual([]);
    expect(walks).toEqual(['system', 'records']);
  });
});

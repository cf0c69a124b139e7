import { describe, expect, it } from 'vitest';
import { withLongLists } from '../../../../src/stores/clickhouse/long-lists.ts';

const numbers = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => 1_790_000_000 + index);

describe('a list of numbers', () => {
  it('is a parameter as long as ClickHouse takes it as one', () => {
    const statement = "SELECT 1 WHERE minute IN {minutes:Array(DateTime('UTC'))}";
    const params = { minutes: numbers(5_000), stream: 'METRICS' };
    const as = withLongLists(statement, params);
    expect(as.statement).toBe(statement);
    expect(as.params).toBe(params);
  });

  it('is in the statement, at each place, where it is longer; the other parameters stay', () => {
    const statement =
      "SELECT 1 WHERE a IN {minutes:Array(DateTime('UTC'))} AND b IN {few:Array(Int64)} AND stream = {stream:String} AND at > arrayMin({minutes:Array(DateTime('UTC'))})";
    const minutes = numbers(20_000);
    const few = { few: [1, 2], stream: '{minutes:Array(Int64)}' };
    const literal = `CAST('[${minutes.join()}]', 'Array(DateTime(\\'UTC\\'))')`;
    expect(withLongLists(statement, { minutes, ...few })).toEqual({
      statement: `SELECT 1 WHERE a IN ${literal} AND b IN {few:Array(Int64)} AND stream = {stream:String} AND at > arrayMin(${literal})`,
      params: few,
    });
  });

  it('of texts stays a parameter', () => {
    const params = { names: numbers(20_000).map(String) };
    const statement = 'SELECT {names:Array(String)}';
    expect(withLongLists(statement, params)).toEqual({ statement, params });
  });
});

import { expect, it } from 'vitest';
import { balancesQuery } from '../../../src/outcomes/balance.ts';

it('a sum without some owners reads none of their records', () => {
  const filter = { sinceMs: 0, except: { dataIds: [1_500_001], appIds: [7] } };
  const { query, params } = balancesQuery(filter, { by: 'day', byOwner: false });
  expect(params).toEqual({ since: 0, exceptDataIds: [1_500_001], exceptAppIds: [7] });
  expect(query.split('data_id NOT IN {exceptDataIds:Array(Int64)}').length).toBeGreaterThan(2);
  expect(query.split('app_id NOT IN {exceptAppIds:Array(Int64)}').length).toBeGreaterThan(2);
});

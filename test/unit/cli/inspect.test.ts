import { expect, it } from 'vitest';
import { limitField } from '../../../src/cli/inspect.ts';

// A producer of one request an hour was said to send one per second.
it('what an owner used of its requests per second is called its busiest second, not a rate', () => {
  const field = { name: 'requests_per_second', used: 1 };
  expect(limitField({ ...field, limit: 50 })).toEqual([
    'busiest second',
    '1 of 50 requests, in the last hour',
  ]);
  expect(limitField({ ...field, limit: null })).toEqual([
    'busiest second',
    '1 of any number of requests, in the last hour',
  ]);
  expect(limitField({ name: 'metric_columns', limit: null, used: 3 })).toEqual([
    'metric columns',
    '3 of any number',
  ]);
  expect(limitField({ name: 'dimension_columns', limit: 64, used: null })).toEqual([
    'dimension columns',
    '– of 64',
  ]);
});

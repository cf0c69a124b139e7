import { expect, it } from 'vitest';
import { readSilentOwners } from '../../../src/outcomes/usage.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';

const now = 1_790_000_040;

/** Answers each query with the next rows, and notes the texts. */
const answering = (...answers: readonly object[][]): { clickhouse: Clickhouse; queries: string[] } => {
  const queries: string[] = [];
  const refuse = () => Promise.reject(new Error('no other call'));
  const clickhouse: Clickhouse = {
    rows: async (schema, query) => {
      queries.push(query);
      return (answers[queries.length - 1] ?? []).map((row) => schema.parse(row));
    },
    ...{ ping: refuse, run: refuse, insert: refuse, close: refuse },
  };
  return { clickhouse, queries };
};

// The alarm asks every two minutes, over two weeks of lines: their texts are most of what ClickHouse would read.
it('the texts of usage lines are read for silent owners alone', async () => {
  const calm = answering([]);
  expect(await readSilentOwners(calm.clickhouse, now)).toEqual([]);
  expect(calm.queries).toHaveLength(1);
  expect(calm.queries[0]).not.toMatch(/sender|sdk/);

  const [one, other] = [
    { data_id: 7, app_id: 0 },
    { data_id: 0, app_id: 8 },
  ];
  const found = answering(
    [
      { ...one, last_ms: 5_000 },
      { ...other, last_ms: 4_000 },
    ],
    [],
    [{ of_data_id: 7, of_app_id: 0, last_sender: '10.0.0.9', last_sdk: 'job' }],
  );
  expect(await readSilentOwners(found.clickhouse, now)).toEqual([
    { dataId: 7, appId: 0, lastAt: 5, sender: '10.0.0.9', sdk: 'job' },
    { dataId: 0, appId: 8, lastAt: 4, sender: '', sdk: '' },
  ]);
  expect(found.queries[1]).not.toMatch(/sender|sdk/);
  expect(found.queries[2]).toContain('sender');
});

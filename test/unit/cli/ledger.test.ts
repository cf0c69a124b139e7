import { expect, it } from 'vitest';
import { accountsAnswer, accountsTable, emptyOf, removedLines, untoldOf } from '../../../src/cli/ledger.ts';

type Balance = Parameters<typeof accountsTable>[0][number];

const account: Balance = {
  pipeline: 'metrics',
  ...{ data_id: 1500001, app_id: 0, minute: null },
  ...{ received: 10, stored: 10, dead_lettered: 0, dropped: {} },
  ...{ repeated: 0, lost: 0, stuck: 0, unrecorded: 0, in_flight: 0, adds_up: true, differences: [] },
  refusals: [{ kind: 'duplicate', reason: 'duplicate_request', requests: 1, items: 3 }],
};

const named = (accounts: readonly Balance[]) => {
  const [head = [], ...rows] = accountsTable(accounts, undefined);
  return rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column]])));
};

it('an account that adds up has every term of its sum in its row, and refused duplicates under another name', () => {
  const again = { ...account, data_id: 1500002, received: 22, repeated: 10, lost: 2 };
  expect(named([account, again])).toMatchObject([
    { RECEIVED: 10, STORED: 10, REPEATED: 0, LOST: 0, 'IN FLIGHT': 0, DUPLICATES: '1 request, 3 items' },
    { RECEIVED: 22, STORED: 10, REPEATED: 10, LOST: 2, 'IN FLIGHT': 0, DUPLICATES: '1 request, 3 items' },
  ]);
});

it('terms that no owner has take no room', () => {
  const [head] = accountsTable([account], undefined);
  expect(head).toEqual([
    ...['WHOSE', 'PIPELINE', 'RECEIVED', 'STORED', 'DROPPED', 'DEAD-LETTERED'],
    ...['IN FLIGHT', 'ADDS UP', 'REFUSED', 'DUPLICATES', 'VALUES DROPPED'],
  ]);
});

// After a purge of thousands they hid the table.
it('owners whose rows are gone have at most twenty lines, and one that counts the others', () => {
  const purged = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ pipeline: 'metrics' as const, data_id: 1500001 + index, app_id: 0 },
      ...{ purged: true, expired_before: null },
    }));
  expect(removedLines(purged(20))).toHaveLength(20);
  expect(removedLines(purged(1_000)).slice(19)).toEqual([
    'data id 1500020, metrics: stored: purged since',
    expect.stringMatching(/^rows of 980 more /),
  ]);
});

// An upgrade begins with the command or with metadata.
it('an earlier metadata, which names no reason, says of an owner without items, too, since when its account is not known', () => {
  const earlier = { since: 100, until: 200, items: [], buckets: [], in_flight: [] };
  const empty = (more: object) => emptyOf({ dataId: 1500001 }, accountsAnswer.parse({ ...earlier, ...more }));
  expect(empty({ not_known_since: 150 })).toMatchObject({
    adds_up: null,
    differences: [{ kind: 'not_known', owners: [1500001], from: 150, until: 200, is_open: true }],
  });
  expect(empty({ not_known_since: null })).toMatchObject({ adds_up: true, differences: [] });
});

it('a list of accounts names once what is not known and no account says', () => {
  const of = (stream: string) => ({
    ...{ kind: 'not_known', items: 0, messages: 0, stream, owners: [], from: 100, until: 200 },
    ...{ is_open: true, reason: '' },
  });
  const [books, z] = [of(''), of('METRICS-z')];
  const named = { ...account, adds_up: null, differences: [{ ...books, owners: [1500001] }] };
  expect(untoldOf({ items: [named], not_known: [books, z] })).toEqual([z]);
  expect(untoldOf({ items: [], not_known: [books, z] })).toEqual([books, z]);
});

import { expect, it } from 'vitest';
import { keptAccounts } from '../../../../src/metadata/api/shown-outcomes.ts';

const account = (id: number, ...open: boolean[]) => ({
  ...{ id, addsUp: true },
  differences: open.map((isOpen) => ({ isOpen })),
});
const idsOf = (accounts: readonly { id: number }[]): number[] => accounts.map(({ id }) => id);

it('a list that is truncated keeps the accounts with an open difference, and the order', () => {
  const accounts = [account(1), account(2), account(3, false), account(4, true), account(5, false, true)];
  expect(idsOf(keptAccounts(accounts, 5))).toEqual([1, 2, 3, 4, 5]);
  expect(idsOf(keptAccounts(accounts, 3))).toEqual([1, 4, 5]);
  expect(idsOf(keptAccounts(accounts, 2))).toEqual([4, 5]);
  expect(idsOf(keptAccounts(accounts, 1))).toEqual([4]);
});

it('a list that is truncated keeps the accounts that are false before those that are not known', () => {
  const unread = [1, 2, 3].map((id) => ({ ...account(id, true), addsUp: null }));
  const accounts = [...unread, account(4), { ...account(5, true), addsUp: false }];
  expect(idsOf(keptAccounts(accounts, 2))).toEqual([1, 5]);
  expect(idsOf(keptAccounts(accounts, 1))).toEqual([5]);
});

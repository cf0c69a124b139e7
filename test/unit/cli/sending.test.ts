import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { accountStage } from '../../../src/cli/sending.ts';

afterEach(() => void vi.useRealTimers());

/** The account of an owner: items by the second at which their minute begins. */
const accounting = (minutes: Map<number, number>): AdminClient => ({
  ask: async (schema, _method, path) => {
    const since = Number(new URL(path, 'http://localhost').searchParams.get('since'));
    // As the API does: a minute belongs to a period that begins within it.
    const first = Math.floor(since / 60) * 60;
    const items = [...minutes].flatMap(([at, stored]) => (at < first ? [] : [{ stored }]));
    return { value: schema.parse({ items }), json: { items } };
  },
  follow: async () => undefined,
});

const hour = 3_600;
const begun = 1_800_000_000;

describe('the account of an item that was sent', () => {
  it('counts it also where a minute passes meanwhile, whose items of an hour ago then are too old', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: (begun + 59) * 1_000 });
    const minutes = new Map([[begun - hour, 5]]);
    const [, pass] = await accountStage(accounting(minutes), { data_id: 1_500_001 }, 0);
    vi.setSystemTime((begun + 61) * 1_000);
    minutes.set(begun + 60, 1);
    expect(await pass(true)).toBe('stored; see tidemark ledger --data-id 1500001');
  });

  it('is not in time without a further item', async () => {
    const [, pass] = await accountStage(accounting(new Map([[begun, 5]])), { app_id: 3 }, 0);
    await expect(pass(true)).rejects.toMatchObject({ code: 'not_in_time' });
  });

  // Another producer of the owner may have sent what it counts, while the own item was dropped.
  it('does not call it stored where its row was not looked at', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: begun * 1_000 });
    const minutes = new Map([[begun - 60, 5]]);
    const [, pass] = await accountStage(accounting(minutes), { app_id: 3 }, 0);
    minutes.set(begun, 1);
    expect(await pass(false)).toBe(
      'the account has counted an item of this owner; see tidemark ledger --app-id 3',
    );
  });
});

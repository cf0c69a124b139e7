import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { isStored } from '../../../src/cli/push.ts';
import { accountStage, receiverUrls, waitForStore } from '../../../src/cli/sending.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { Fault } from '../../../src/model/fault.ts';

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
    await expect(pass(false)).rejects.toMatchObject({ code: 'not_in_time' });
  });

  // Its row was seen: the wait was too short for the account, and no reason to send it again.
  it('is called stored where its row was seen and only the outcome is not recorded yet', async () => {
    const [, pass] = await accountStage(accounting(new Map([[begun, 5]])), { app_id: 3 }, 0);
    await expect(pass(true)).rejects.toMatchObject({
      code: 'outcome_not_yet',
      message: 'stored; its outcome is not recorded yet (timeout: its outcome is recorded, not within 0 s)',
    });
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

const away = new Fault('transient', 'store_unavailable', 'QuestDB does not answer');

describe('an item that was sent while its store is away', () => {
  it('is waited for: the store may be back within the time', async () => {
    let asked = 0;
    await waitForStore('the row is visible', 60_000, async () => {
      if (++asked < 3) throw away;
      return true;
    });
    expect(asked).toBe(3);
  });

  it('is not in time at the end, and the error has the last answer of the store', async () => {
    await expect(waitForStore('the row is visible', 0, () => Promise.reject(away))).rejects.toMatchObject({
      code: 'not_in_time',
      message: 'timeout: the row is visible, not within 0 s; the last answer: QuestDB does not answer',
    });
  });

  it('ends the wait where the store refuses the question', async () => {
    const refused = new Fault('permanent', 'unauthorized', 'no');
    await expect(waitForStore('the row', 60_000, () => Promise.reject(refused))).rejects.toBe(refused);
  });

  it('counts once the account answers again', async () => {
    const minutes = new Map([[begun, 5]]);
    const client = accounting(minutes);
    let failures = 0;
    const flaky: AdminClient = {
      ...client,
      ask: async (...given) => {
        if (failures-- > 0) throw away;
        return client.ask(...given);
      },
    };
    const [, pass] = await accountStage(flaky, { data_id: 1_500_001 }, 60_000);
    minutes.set(begun + 60, 1);
    failures = 2;
    expect(await pass(true)).toMatch(/^stored/);
  });
});

describe('a point that was sent', () => {
  const clientWith = (times: readonly string[]): AdminClient => ({
    ask: async (schema) => {
      const json = {
        raw: { columns: ['timestamp', 'target', 'cpu'], rows: times.map((at) => [at, 'a', 1]) },
      };
      return { value: schema.parse(json), json };
    },
    follow: async () => undefined,
  });
  const point = { metric: 'cpu', target: 'a', timestamp: Date.parse('2026-01-02T03:04:05.678Z') };

  it('is stored once a row has its time to the millisecond', async () => {
    const others = ['2026-01-02T03:04:05.677000Z', '2026-01-02T03:04:05.000000Z'];
    expect(await isStored(clientWith(others), 1_500_001, point)).toBe(false);
    expect(await isStored(clientWith([...others, '2026-01-02T03:04:05.678000Z']), 1_500_001, point)).toBe(
      true,
    );
  });
});

describe('the address of a receiver', () => {
  const pushUrlOf = (pushUrl: string): string =>
    receiverUrls(loadSettings({ TIDEMARK_DATA: '/nonexistent' }), { pushUrl }).pushUrl;

  it.each(['', '/', '/v2/push', '/v2/push/'])('may end with %j, as the banner shows it', (end) => {
    expect(pushUrlOf(`http://127.0.0.1:10205${end}`)).toBe('http://127.0.0.1:10205');
    expect(pushUrlOf(`https://proxy/tidemark${end}`)).toBe('https://proxy/tidemark');
  });

  it.each(['127.0.0.1:10205', 'localhost', 'ftp://host', 'http://'])(
    '%j is refused with the remedy',
    (url) => {
      expect(() => pushUrlOf(url)).toThrow(`"${url}" of a receiver must be like http://host:port`);
    },
  );
});

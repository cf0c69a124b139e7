import { expect, it, vi } from 'vitest';
import type { UnreadStream } from '../../../../src/account/accounts.ts';
import { createHourAccount } from '../../../../src/metadata/pulse/hour-account.ts';
import type { Clickhouse } from '../../../../src/stores/clickhouse/client.ts';

const startMs = 1_800_000_000_000;

/** A reader at a time that the test sets; `answer` is what ClickHouse does for each query. */
const readerAt = (
  clock: { ms: number },
  answer: () => Promise<[]>,
  known = { isBehind: false, isCompared: true },
  unread: UnreadStream[] = [],
) => {
  const rows = vi.fn(answer);
  const clickhouse = { rows } as unknown as Clickhouse;
  const state = () => ({ notKnownSince: known.isCompared ? undefined : startMs, why: undefined });
  const reader = createHourAccount({
    clickhouse,
    state,
    isLedgerBehind: () => known.isBehind,
    unreadStreams: { all: () => unread, of: () => undefined },
    systemOwners: () => ({ dataIds: new Set(), appIds: new Set() }),
    now: () => startMs + clock.ms,
    elapsed: () => clock.ms,
  });
  return { reader, rows };
};

it.each([17, 40, 600])(
  'the first reader after %i s gets a new reading and not that of the last reader',
  async (seconds) => {
    const clock = { ms: 0 };
    const { reader } = readerAt(clock, async () => []);
    expect((await reader.read()).account?.until).toBe(startMs / 1000);
    clock.ms = seconds * 1_000;
    expect((await reader.read()).account?.until).toBe(startMs / 1000 + seconds);
  },
);

it('a reader who asks within seconds gets the last reading, and ClickHouse is asked every fifteen seconds', async () => {
  const clock = { ms: 0 };
  const { reader, rows } = readerAt(clock, async () => []);
  await reader.read();
  const ofOne = rows.mock.calls.length;
  clock.ms = 14_000;
  expect((await reader.read()).account?.until).toBe(startMs / 1000);
  expect(rows).toHaveBeenCalledTimes(ofOne);
  clock.ms = 15_000;
  expect((await reader.read()).account?.until).toBe(startMs / 1000);
  await vi.waitFor(() => expect(rows).toHaveBeenCalledTimes(2 * ofOne));
});

it('a slow ClickHouse delays only the first reader', async () => {
  const clock = { ms: 0 };
  const { reader } = readerAt(clock, () => new Promise(() => undefined));
  const first = reader.read();
  expect(await reader.read()).toEqual({ account: undefined, why: undefined });
  expect(await first).toEqual({ account: undefined, why: undefined });
});

// `tidemark top --once` shows the line once: "not read yet" is all that it would say after a start.
it('the first reader can await a reading that takes longer than a line may wait, and nobody waits where none is under way', async () => {
  const slow = Promise.withResolvers<[]>();
  const { reader } = readerAt({ ms: 0 }, () => slow.promise);
  expect(await reader.ended()).toBe(false);
  expect(await reader.read()).toEqual({ account: undefined, why: undefined });
  const ended = reader.ended();
  slow.resolve([]);
  expect(await ended).toBe(true);
  expect((await reader.read()).account).toMatchObject({ addsUp: true });
  expect(await reader.ended()).toBe(false);
});

it('a reading from while lines of both books waited in LEDGER never becomes one that adds up', async () => {
  const clock = { ms: 0 };
  const known = { isBehind: true, isCompared: true };
  const { reader } = readerAt(clock, async () => [], known);
  expect((await reader.read()).account?.addsUp).toBe(null);
  known.isBehind = false;
  clock.ms = 1_000;
  expect((await reader.read()).account).toMatchObject({ until: startMs / 1000, addsUp: null });
  await vi.waitFor(async () =>
    expect((await reader.read()).account).toMatchObject({ until: startMs / 1000 + 1, addsUp: true }),
  );
});

it('a stream that cannot be read is named, and nothing adds up, although none of its data ids has items', async () => {
  const known = { isBehind: false, isCompared: true };
  const stream = 'METRICS-z';
  const { reader } = readerAt({ ms: 0 }, async () => [], known, [{ stream, since: startMs / 1000 - 7_200 }]);
  const { account } = await reader.read();
  expect(account).toMatchObject({ addsUp: null, wrongOwners: 0, unreadOwners: 0, unreadStreams: [stream] });
  expect(account?.differences).toMatchObject([{ kind: 'not_known', stream, dataId: 0, isOpen: true }]);
});

it('a reading that LEDGER falls behind in does not add up', async () => {
  const known = { isBehind: false, isCompared: true };
  const { reader } = readerAt(
    { ms: 0 },
    async () => {
      known.isBehind = true;
      return [];
    },
    known,
  );
  expect((await reader.read()).account?.addsUp).toBe(null);
});

it('a reading of before the books were compared is repeated at once when they are, and only once until the next is due', async () => {
  const clock = { ms: 0 };
  const known = { isBehind: false, isCompared: false };
  let isLost = false;
  const answer = async (): Promise<[]> => {
    if (isLost) known.isCompared = false;
    return [];
  };
  const { reader, rows } = readerAt(clock, answer, known);
  expect((await reader.read()).account?.addsUp).toBe(null);
  const ofOne = rows.mock.calls.length;
  clock.ms = 1_000;
  await reader.read();
  expect(rows).toHaveBeenCalledTimes(ofOne);
  known.isCompared = true;
  isLost = true;
  await reader.read();
  await vi.waitFor(() => expect(known.isCompared).toBe(false));
  await new Promise(setImmediate);
  expect(rows).toHaveBeenCalledTimes(2 * ofOne);
  isLost = false;
  known.isCompared = true;
  clock.ms = 2_000;
  await reader.read();
  expect(rows).toHaveBeenCalledTimes(2 * ofOne);
  clock.ms = 16_000;
  await reader.read();
  await vi.waitFor(async () => expect((await reader.read()).account?.addsUp).toBe(true));
  expect(rows).toHaveBeenCalledTimes(3 * ofOne);
});

it.each([
  ['shown while the next one is on its way', 16_000, true],
  ['not shown after a long pause', 600_000, undefined],
])('an account is %s', async (_, ms, addsUp) => {
  const clock = { ms: 0 };
  let answer = async (): Promise<[]> => [];
  const { reader } = readerAt(clock, () => answer());
  expect((await reader.read()).account?.addsUp).toBe(true);
  answer = () => new Promise(() => undefined);
  clock.ms = ms;
  expect((await reader.read()).account?.addsUp).toBe(addsUp);
});

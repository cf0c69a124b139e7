import { expect, it, vi } from 'vitest';
import { createHourAccount } from '../../../../src/metadata/pulse/hour-account.ts';
import type { Clickhouse } from '../../../../src/stores/clickhouse/client.ts';

const startMs = 1_800_000_000_000;

/** A reader at a time that the test sets; `answer` is what ClickHouse does for each query. */
const readerAt = (clock: { ms: number }, answer: () => Promise<[]>) => {
  const rows = vi.fn(answer);
  const clickhouse = { rows } as unknown as Clickhouse;
  const state = () => ({ notKnownSince: undefined, why: undefined });
  const reader = createHourAccount({
    clickhouse,
    state,
    systemOwners: () => ({ dataIds: new Set(), appIds: new Set() }),
    now: () => startMs + clock.ms,
    elapsed: () => clock.ms,
  });
  return { reader, rows };
};

it('the first reader after a while gets a new reading and not that of the last reader', async () => {
  const clock = { ms: 0 };
  const { reader } = readerAt(clock, async () => []);
  expect((await reader.read()).account?.until).toBe(startMs / 1000);
  clock.ms = 600_000;
  expect((await reader.read()).account?.until).toBe(startMs / 1000 + 600);
});

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

import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { createServerClock, startServerClock } from '../../../src/bus/server-clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('the clock of a server goes on by elapsed time, is read again after five seconds, and follows no clock of the host', async () => {
  let server = 1_795_000_000_000;
  let elapsed = 0;
  let reads = 0;
  const now = createServerClock(
    async () => {
      reads++;
      return server;
    },
    () => elapsed,
  );
  expect(await now()).toBe(server);
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  elapsed += 4_999.5;
  expect(await now()).toBe(server + 4_999);
  expect(reads).toBe(1);
  elapsed += 1;
  server += 60_000;
  expect(await now()).toBe(server);
  expect(reads).toBe(2);
});

it('the clock of a server that did not answer is read by the next call', async () => {
  const answers = [() => Promise.reject(new Error('away')), async () => 7];
  const now = createServerClock(
    () => (answers.shift() ?? (async () => 0))(),
    () => 0,
  );
  await expect(now()).rejects.toThrow('away');
  expect(await now()).toBe(7);
});

const runningClock = async (answers: (() => Promise<number>)[], steady: { ms: number }) => {
  const clock = await startServerClock(
    () => (answers.shift() ?? (() => Promise.reject(new Error('away'))))(),
    () => steady.ms,
    1,
  );
  onTestFinished(() => clock.stop());
  return clock;
};

it('a running clock of a server goes on while the server is away, and counts half of the way of an answer', async () => {
  const steady = { ms: 0 };
  const clock = await runningClock(
    [
      async () => {
        steady.ms += 100;
        return 1_000_000;
      },
    ],
    steady,
  );
  expect(clock.now()).toBe(1_000_050);
  steady.ms += 3_600_000;
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  expect(clock.now()).toBe(4_600_050);
});

it('a running clock of a server leaves out a reading that took long, and follows the next one', async () => {
  const steady = { ms: 0 };
  const shown: number[] = [];
  const clock = await runningClock(
    [
      async () => 1_000,
      async () => {
        steady.ms += 300;
        return 900_000;
      },
      async () => {
        shown.push(clock.now());
        return 2_000;
      },
    ],
    steady,
  );
  await expect.poll(() => clock.now()).toBe(2_000);
  expect(shown).toEqual([1_300]);
});

// Where every answer is slow, a step of the clock of the server is seen all the same.
it('a running clock of a server takes a reading that took long once the last one is old', async () => {
  const steady = { ms: 0 };
  const slow = (ms: number, server: number) => async () => {
    steady.ms += ms;
    return server;
  };
  const clock = await runningClock(
    [slow(290, 1_000_000), slow(300, 2_000_000), slow(60_000, 3_000_000)],
    steady,
  );
  await expect.poll(() => clock.now()).toBe(3_030_000);
});

import { afterEach, expect, it, vi } from 'vitest';
import { createServerClock } from '../../../src/bus/server-clock.ts';

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

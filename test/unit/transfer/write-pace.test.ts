import { describe, expect, it, vi } from 'vitest';
import { createWritePace } from '../../../src/transfer/write-pace.ts';

const [leastMs, mostMs] = [100, 600];

/** A pace whose writes are always whole, so that none waits, on a clock of the test. */
const open = (intervalMsMax = mostMs) => {
  let now = 0;
  const pace = createWritePace({
    ...{ intervalMs: leastMs, intervalMsMax, elapsed: () => now, isEnough: () => true },
  });
  /** Writes that begin this far apart and take this long; returns the interval after each. */
  const write = async (count: number, everyMs: number, tookMs: number): Promise<number[]> => {
    const intervals: number[] = [];
    for (let index = 0; index < count; index++) {
      const begunAt = now;
      await pace.untilDue();
      now += tookMs;
      pace.done();
      intervals.push(pace.intervalMs);
      now = begunAt + Math.max(everyMs, tookMs);
    }
    return intervals;
  };
  return { pace, write };
};

// A row of a large write costs the store a fraction of one of a small write.
it('writes that take most of the time are made further apart, up to the bound', async () => {
  const { write } = open();
  expect(await write(6, 100, 90)).toEqual([100, 200, 400, 600, 600, 600]);
});

it('writes come as often as before once they take little of the time', async () => {
  const { write } = open();
  await write(5, 100, 90);
  expect(await write(5, 600, 60)).toEqual([600, 300, 150, 100, 100]);
});

it('the interval stays while neither is so', async () => {
  const { write } = open();
  await write(2, 100, 90);
  expect(await write(5, 200, 80)).toEqual([400, 400, 400, 400, 400]);
});

it('a lone write after a pause does not make the next one wait longer, however long it took', async () => {
  const { write } = open();
  expect(await write(4, 5_000, 3_000)).toEqual([100, 100, 100, 100]);
});

it('without a greater bound the interval stays', async () => {
  const { write } = open(0);
  expect(await write(4, 100, 100)).toEqual([100, 100, 100, 100]);
});

describe('an unhurried pace', () => {
  /** The time between the beginnings of writes, each of which finds work this long after the one before. */
  const gaps = async (workAfterMs: readonly number[]): Promise<number[]> => {
    vi.useFakeTimers();
    try {
      const elapsed = (): number => performance.now();
      const limits = { intervalMs: leastMs, intervalMsMax: mostMs };
      const pace = createWritePace({ ...limits, isUnhurried: true, elapsed, isEnough: () => false });
      await pace.untilDue();
      pace.done();
      const found: number[] = [];
      for (const afterMs of workAfterMs) {
        const lastAt = elapsed();
        await vi.advanceTimersByTimeAsync(afterMs);
        const due = pace.untilDue();
        await vi.runAllTimersAsync();
        await due;
        found.push(Math.round(elapsed() - lastAt));
        pace.done();
      }
      return found;
    } finally {
      vi.useRealTimers();
    }
  };

  // Each insert has its price, and nobody waits for the rows.
  it('writes as seldom as it may while work comes without a pause', async () => {
    expect(await gaps(Array(8).fill(10))).toEqual([100, 100, 100, 100, 100, 600, 600, 600]);
  });

  it('writes at once after a pause, and as often as at first after it', async () => {
    expect(await gaps([...Array(7).fill(10), 150, 10, 10])).toEqual([
      ...[100, 100, 100, 100, 100, 600, 600],
      ...[150, 100, 100],
    ]);
  });
});

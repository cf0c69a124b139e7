import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWritePace } from '../../../src/transfer/write-pace.ts';

const [leastMs, mostMs, tookMs] = [100, 600, 90];

/** A pace whose writes are always whole, so that none waits, on a clock of the test. */
const open = (intervalMsMax = mostMs) => {
  let now = 0;
  const pace = createWritePace({
    ...{ intervalMs: leastMs, intervalMsMax, elapsed: () => now, isEnough: () => true, arrived: () => 0 },
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
      // Messages arrive all the time.
      let count = 0;
      const arrived = (): number => count++;
      const pace = createWritePace({ ...limits, isUnhurried: true, elapsed, isEnough: () => false, arrived });
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

describe('a grown interval', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A pace with an interval of 600 ms, right after a write; returns how long the next one waits while a message arrives every so often. */
  const waited = async (messageEveryMs: number): Promise<number> => {
    let arrived = 0;
    let isEnough = true;
    const elapsed = (): number => Date.now();
    const pace = createWritePace({
      ...{
        intervalMs: leastMs,
        intervalMsMax: mostMs,
        elapsed,
        isEnough: () => isEnough,
        arrived: () => arrived,
      },
    });
    for (let write = 0; write < 6; write++) {
      await pace.untilDue();
      await vi.advanceTimersByTimeAsync(tookMs);
      pace.done();
    }
    expect(pace.intervalMs).toBe(mostMs);
    isEnough = false;
    const messages = setInterval(() => arrived++, messageEveryMs);
    const startedAt = elapsed();
    let waitedMs: number | undefined;
    void pace.untilDue().then(() => {
      waitedMs = elapsed() - startedAt;
    });
    await vi.advanceTimersByTimeAsync(2 * mostMs);
    clearInterval(messages);
    return waitedMs ?? Number.NaN;
  };

  it('is waited for while messages arrive', async () => {
    expect(await waited(20)).toBe(mostMs - tookMs);
  });

  it('ends once none has arrived for the least interval: nothing more would be written with it', async () => {
    expect(await waited(10 * mostMs)).toBe(leastMs);
  });
});

import { expect, it } from 'vitest';
import { createWritePace } from '../../../src/transfer/write-pace.ts';

const [leastMs, mostMs] = [100, 600];

/** A pace whose writes are always whole, so that none waits, on a clock of the test. */
const open = (intervalMsMax = mostMs) => {
  let now = 0;
  const pace = createWritePace({
    ...{ intervalMs: leastMs, intervalMsMax, elapsed: () => now, isEnough: () => true },
  });
  /** Writes that begin this far apart (none: the interval) and take this long; returns the interval after each. */
  const write = async (count: number, everyMs: number | undefined, tookMs: number): Promise<number[]> => {
    const intervals: number[] = [];
    for (let index = 0; index < count; index++) {
      const begunAt = now;
      await pace.untilDue();
      now += tookMs;
      pace.done();
      intervals.push(pace.intervalMs);
      now = begunAt + Math.max(everyMs ?? pace.intervalMs, tookMs);
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

/** A store at a steady load: a write takes 20 ms and this share of the time that its rows came in. */
const underLoad = async (share: number, seconds: number): Promise<number[]> => {
  const { write } = open();
  await write(5, 100, 90);
  const intervals: number[] = [];
  let turnMs = mostMs;
  for (let spentMs = 0; spentMs < seconds * 1_000; spentMs += turnMs) {
    const tookMs = Math.round(20 + share * turnMs);
    const [intervalMs = 0] = await write(1, undefined, tookMs);
    turnMs = Math.max(intervalMs, tookMs);
    intervals.push(intervalMs);
  }
  return intervals;
};

// Full load left the interval long, and points of half the load were visible 100 ms later for it, for ever.
it('after a full load, the interval comes down to the shortest that keeps writes below most of the time', async () => {
  expect((await underLoad(0.35, 8)).at(-1)).toBe(leastMs);
  expect((await underLoad(0.45, 8)).at(-1)).toBe(200);
});

it('a load that needs the long interval has it but for trials, fewer and fewer of them', async () => {
  const intervals = await underLoad(0.56, 300);
  expect(intervals.at(-1)).toBe(mostMs);
  const short = intervals.filter((interval) => interval < mostMs).length;
  expect(short).toBeGreaterThan(3);
  expect(short / intervals.length).toBeLessThan(0.05);
});

it('the interval stays for seconds while neither is so', async () => {
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

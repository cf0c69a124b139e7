import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startRounds } from '../../../src/runtime/rounds.ts';

it('rounds go on with the rests that they ask for, and their stop ends the rest and waits for the round under way', async () => {
  const rests = [0, 0, 3_600_000];
  let begun = 0;
  const resting = startRounds(async () => rests[begun++] ?? 0);
  await expect.poll(() => begun).toBe(3);
  await resting.stop();
  expect(begun).toBe(3);
  await startRounds(async () => begun++, 3_600_000).stop();
  expect(begun).toBe(3);

  const { promise, resolve } = Promise.withResolvers<void>();
  let isEnded = false;
  let rounds = 0;
  const working = startRounds(async () => {
    rounds++;
    await promise;
    isEnded = true;
    return 0;
  });
  expect(rounds).toBe(1);
  const stopped = working.stop();
  expect(await Promise.race([stopped.then(() => 'stopped'), delay(20, 'waits')])).toBe('waits');
  resolve();
  await stopped;
  expect([isEnded, rounds]).toEqual([true, 1]);
});

it('a wake ends the rest, not the round; one that comes during a round ends the one rest that follows', async () => {
  let begun = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const rounds = startRounds(async () => {
    begun++;
    if (begun === 2) await promise;
    return 3_600_000;
  });
  await expect
    .poll(() => {
      if (begun === 1) rounds.wake();
      return begun;
    })
    .toBe(2);
  rounds.wake();
  rounds.wake();
  expect(begun, 'the round goes on').toBe(2);
  resolve();
  await expect.poll(() => begun).toBe(3);
  await rounds.stop();
  expect(begun).toBe(3);
});

it('a stop during a round ends the rest that follows, and no round begins', async () => {
  let begun = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const rounds = startRounds(async () => {
    begun++;
    await promise;
    return 3_600_000;
  });
  rounds.wake();
  const stopped = rounds.stop();
  resolve();
  await stopped;
  expect(begun).toBe(1);
});

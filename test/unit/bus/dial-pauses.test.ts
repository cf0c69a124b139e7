import { expect, it } from 'vitest';
import { createDialPauses } from '../../../src/bus/dial-pauses.ts';

const spreadMs = 50;
const atOnce = Number.NEGATIVE_INFINITY;

// The client keeps memory for each refused try until the return: at five tries a second it was 0.9 GB a day.
it('a refused user is tried later and later, and a lost connection every 200 ms', () => {
  let steady = 0;
  const pauses = createDialPauses(() => steady);
  const expectPause = (ms: number): void => {
    pauses.dialled(1);
    // The client asks several times for one wait.
    for (let asked = 0; asked < 3; asked++) {
      const pause = pauses.next();
      expect(pause).toBeGreaterThanOrEqual(ms);
      expect(pause).toBeLessThanOrEqual(ms + spreadMs);
    }
    steady += ms + spreadMs;
    expect(pauses.next()).toBe(atOnce);
  };
  for (let loss = 0; loss < 2; loss++) {
    expectPause(200);
    for (const ms of [5_000, 10_000, 20_000, 30_000, 30_000]) {
      pauses.refused();
      expectPause(ms);
    }
    for (let more = 0; more < 100_000; more++) pauses.refused();
    expectPause(30_000);
    pauses.returned();
  }
});

// The client takes another server for each try: one that is due must not pass its turn to the server before it.
it('after a pause each of several servers is tried once', () => {
  let steady = 0;
  const pauses = createDialPauses(() => steady);
  for (let round = 0; round < 2; round++) {
    for (let server = 0; server < 3; server++) {
      expect(pauses.next()).toBe(atOnce);
      pauses.dialled(3);
    }
    expect(pauses.next()).toBeGreaterThanOrEqual(200);
    steady += 250;
  }
});

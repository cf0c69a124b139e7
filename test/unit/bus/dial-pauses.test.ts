import { expect, it } from 'vitest';
import { createDialPauses } from '../../../src/bus/dial-pauses.ts';

const spreadMs = 50;

// The client keeps memory for each refused try until the return: at five tries a second it was 0.9 GB a day.
it('a refused user is tried later and later, and a lost connection every 200 ms', () => {
  const pauses = createDialPauses();
  const expectPause = (ms: number): void => {
    // The client asks several times for one wait.
    for (let asked = 0; asked < 3; asked++) {
      const pause = pauses.next();
      expect(pause).toBeGreaterThanOrEqual(ms);
      expect(pause).toBeLessThanOrEqual(ms + spreadMs);
    }
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

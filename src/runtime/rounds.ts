import { setTimeout as delay } from 'node:timers/promises';

/** Rounds of work that go on until they are stopped. */
export type Rounds = {
  /** Ends the rest, and waits for the round that is under way. */
  stop(): Promise<void>;
};

/** Begins the rounds: each resolves to the rest before the next one, ms, and handles its own failures. `signal` fires at the stop. */
export const startRounds = (round: (signal: AbortSignal) => Promise<number>): Rounds => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const goOn = async (): Promise<void> => {
    while (!signal.aborted) {
      const restMs = await round(signal);
      await delay(restMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const going = goOn();
  return {
    stop: async () => {
      stopping.abort();
      await going;
    },
  };
};

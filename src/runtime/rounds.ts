import { setTimeout as delay } from 'node:timers/promises';

/** Rounds of work that go on until they are stopped. */
export type Rounds = {
  /** Ends the rest before the next round; a round that is under way goes on, and no rest follows it. */
  wake(): void;
  /** Ends the rest, and waits for the round that is under way. */
  stop(): Promise<void>;
};

/**
 * Begins the rounds, the first one after `firstMs`: each resolves to the rest before the next one, ms, and handles its own failures.
 * `signal` fires at the stop. A rest keeps no process alive.
 */
export const startRounds = (round: (signal: AbortSignal) => Promise<number>, firstMs = 0): Rounds => {
  const stopping = new AbortController();
  const { signal } = stopping;
  let resting = new AbortController();
  const rest = async (ms: number): Promise<void> => {
    await delay(ms, undefined, { signal: resting.signal, ref: false }).catch(() => undefined);
  };
  const goOn = async (): Promise<void> => {
    if (firstMs > 0) await rest(firstMs);
    while (!signal.aborted) {
      // Before the round: a wake that comes while it hangs ends the rest that follows.
      resting = new AbortController();
      await rest(await round(signal));
    }
  };
  const going = goOn();
  return {
    wake: () => resting.abort(),
    stop: async () => {
      stopping.abort();
      resting.abort();
      await going;
    },
  };
};

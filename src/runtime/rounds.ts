import { setTimeout as delay } from 'node:timers/promises';

/** Rounds of work that go on until they are stopped. */
export type Rounds = {
  /** Ends the rest before the next round; a round that is under way goes on. */
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
    resting = new AbortController();
    if (signal.aborted) return;
    await delay(ms, undefined, { signal: resting.signal, ref: false }).catch(() => undefined);
  };
  const goOn = async (): Promise<void> => {
    if (firstMs > 0) await rest(firstMs);
    while (!signal.aborted) await rest(await round(signal));
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

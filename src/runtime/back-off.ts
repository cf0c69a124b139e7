import { setTimeout as delay } from 'node:timers/promises';

/** How long a retry waits: `firstMs` after the first failure, doubled after each further one, up to `mostMs`. */
export type BackOff = { readonly firstMs: number; readonly mostMs: number };

/** The wait after this many failures in a row, ms: 0 after none. */
export const backOffMs = ({ firstMs, mostMs }: BackOff, failures: number): number =>
  failures === 0 ? 0 : Math.min(mostMs, firstMs * 2 ** (failures - 1));

export type RetryOptions = BackOff & {
  /** Called after each failure; throws to give up, with the error that the caller of `retry` gets. */
  readonly onFailure: (error: unknown) => void;
  /** Ends the retries, also in the middle of a wait: `retry` throws the reason of the signal. */
  readonly signal?: AbortSignal;
};

/** Repeats `work` until it succeeds, and returns its result. */
export const retry = async <T>(
  work: () => Promise<T>,
  { onFailure, signal, ...backOff }: RetryOptions,
): Promise<T> => {
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      onFailure(error);
    }
    // The abort itself is not the error: the next turn throws the reason of the signal.
    await delay(backOffMs(backOff, failures), undefined, signal && { signal }).catch(() => undefined);
  }
};

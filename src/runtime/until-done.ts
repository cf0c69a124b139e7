import { retry } from './back-off.ts';

const pauseMs = 500;

/** Tries `work` every 500 ms until it succeeds or `signal` fires (then it throws the signal's reason). */
export const untilDone = <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<T> => retry(work, { firstMs: pauseMs, mostMs: pauseMs, signal, onFailure });

import { Fault } from '../../model/fault.ts';

/** SIGHUP is a closed terminal, or a lost connection of ssh. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` with a signal that these give: paused consumers, a checkpoint and a BACKUP must not outlive a backup. */
export const untilStopped = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of stopSignals) process.on(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
  }
};

/** Transient Fault `copy_failed` once the backup is stopped. */
export const checkStopped = (signal: AbortSignal | undefined, what: string): void => {
  if (signal?.aborted)
    throw new Fault('transient', 'copy_failed', `${what} was not copied (the backup was stopped)`);
};

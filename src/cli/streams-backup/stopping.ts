import { Fault } from '../../model/fault.ts';

/** Runs `work` with a signal that SIGINT and SIGTERM give: paused consumers, a checkpoint and a BACKUP must not outlive a backup. */
export const untilStopped = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await work(stopping.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
};

/** Transient Fault `copy_failed` once the backup is stopped. */
export const checkStopped = (signal: AbortSignal | undefined, what: string): void => {
  if (signal?.aborted)
    throw new Fault('transient', 'copy_failed', `${what} was not copied (the backup was stopped)`);
};

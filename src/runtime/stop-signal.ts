import cluster from 'node:cluster';

/** An AbortSignal that fires at the first SIGTERM or SIGINT; a second one ends the process at once. */
export const stopSignal = (): AbortSignal => {
  const controller = new AbortController();
  let asked = false;
  const ask = (): void => {
    if (asked) process.exit(130);
    asked = true;
    controller.abort();
  };
  process.on('SIGTERM', ask);
  // The primary process stops its workers. Ctrl-C in a terminal reaches both, and would count twice.
  process.on('SIGINT', cluster.isWorker ? () => {} : ask);
  return controller.signal;
};

/** Resolves when the signal fires. */
export const whenStopped = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });

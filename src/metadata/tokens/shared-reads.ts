/**
 * Reads that all callers share, at most one in `everyMs`: a read serves only the calls that were made before it began,
 * so that each call sees everything written before it. Fails as that read fails. `now` in ms, of a clock that never goes
 * back.
 */
export const createSharedReads = (
  read: () => Promise<void>,
  everyMs: number,
  now: () => number,
): (() => Promise<void>) => {
  let beganAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  const begin = async (before: Promise<void>): Promise<void> => {
    await before.catch(() => {});
    const wait = beganAt + everyMs - now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    beganAt = now();
    next = undefined;
    await read();
  };

  return () => {
    if (next === undefined) {
      next = begin(running);
      running = next;
    }
    return next;
  };
};

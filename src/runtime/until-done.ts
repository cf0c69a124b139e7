/** Tries `work` every 500 ms until it succeeds or `signal` fires (then it throws the signal's reason). */
export const untilDone = async <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<T> => {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      onFailure(error);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
};

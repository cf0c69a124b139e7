/** When the next write of a worker begins. */
export type WritePace = {
  /** Resolves when the next write is due: `intervalMs` after the last one began, or once `hurry` is called. */
  untilDue(): Promise<void>;
  hurry(): void;
};

/** `isEnough`: whether a longer wait before a write would have no use. */
export const createWritePace = (
  intervalMs: number,
  elapsed: () => number,
  isEnough: () => boolean,
): WritePace => {
  let lastAt = Number.NEGATIVE_INFINITY;
  let hurry: (() => void) | undefined;
  return {
    untilDue: async () => {
      const waitMs = lastAt + intervalMs - elapsed();
      if (waitMs > 0 && !isEnough()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          hurry = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        hurry = undefined;
      }
      lastAt = elapsed();
    },
    hurry: () => hurry?.(),
  };
};

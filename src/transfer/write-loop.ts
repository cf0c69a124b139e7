export type WriteLoopDependencies = {
  readonly hasWork: () => boolean;
  /** One round; the next one begins when it is done. */
  readonly round: () => Promise<void>;
  readonly onError: (error: unknown) => void;
};

/** Rounds of work, one after the other, as long as there is work. */
export type WriteLoop = {
  /** Starts the rounds, unless they run. */
  start(): void;
  readonly isRunning: boolean;
  /** Resolves when no round runs. */
  idle(): Promise<void>;
};

export const createWriteLoop = ({ hasWork, round, onError }: WriteLoopDependencies): WriteLoop => {
  let isRunning = false;
  let onIdle: (() => void) | undefined;

  const run = async (): Promise<void> => {
    // One turn of the event loop lets what has arrived together be written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (hasWork()) await round();
    isRunning = false;
    onIdle?.();
  };

  const start = (): void => {
    if (isRunning) return;
    isRunning = true;
    run().catch((error: unknown) => {
      isRunning = false;
      onError(error);
      if (hasWork()) start();
    });
  };

  return {
    start,
    get isRunning() {
      return isRunning;
    },
    idle: () =>
      new Promise((resolve) => {
        if (isRunning) onIdle = resolve;
        else resolve();
      }),
  };
};

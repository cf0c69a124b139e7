/** When the next write of a worker begins. */
export type WritePace = {
  /** Resolves when the next write is due: the interval after the last one began, or once `hurry` is called. */
  untilDue(): Promise<void>;
  hurry(): void;
  /** Call it when a write that was due is done: the next interval follows from the share of time that writes take. */
  done(): void;
  /** The interval until the next write, ms. */
  readonly intervalMs: number;
};

export type WritePaceOptions = {
  /** Writes begin at least this far apart. */
  readonly intervalMs: number;
  /** The most that the interval grows to under load. Not above `intervalMs`: it stays. */
  readonly intervalMsMax: number;
  /** The clock of `createElapsed`, ms. */
  readonly elapsed: () => number;
  /** Whether a longer wait before a write would have no use. */
  readonly isEnough: () => boolean;
};

/**
 * Shares of time that a writer writes. Above the first the interval doubles: the store is loaded, and a row of a large write costs it
 * a fraction of one of a small write. Below the second it halves. A doubled interval at most halves the share, so between the two lies
 * more than a factor of two, or the interval would swing.
 */
const busyShare = { grow: 0.6, shrink: 0.25 };

/**
 * Between the two shares nothing says whether the long interval still helps: the load that made it may be over. So it is halved on
 * trial, `afterMs` after the last change. A trial that brings the writer above the first share again within `writes` writes has failed,
 * and doubles the time until the next one.
 */
const trial = { afterMs: 2_000, afterMsMax: 64_000, writes: 8 };

type Trials = {
  /** Whether a shorter interval is due to be tried. */
  isDue(now: number): boolean;
  begin(now: number): void;
  /** Call it for each write, and say whether it made the interval grow. */
  wrote(now: number, hasGrown: boolean): void;
};

const createTrials = (): Trials => {
  let { afterMs } = trial;
  let changedAt = 0;
  /** Writes until the trial is a success; 0 while there is none. */
  let writesLeft = 0;
  return {
    isDue: (now) => now - changedAt >= afterMs,
    begin: (now) => {
      changedAt = now;
      writesLeft = trial.writes;
    },
    wrote: (now, hasGrown) => {
      if (hasGrown) {
        if (writesLeft > 0) afterMs = Math.min(trial.afterMsMax, 2 * afterMs);
        writesLeft = 0;
        changedAt = now;
      } else if (writesLeft > 0 && --writesLeft === 0) afterMs = trial.afterMs;
    },
  };
};

export const createWritePace = ({
  intervalMs: least,
  intervalMsMax,
  elapsed,
  isEnough,
}: WritePaceOptions): WritePace => {
  const most = Math.max(least, intervalMsMax);
  let intervalMs = least;
  let lastAt = Number.NEGATIVE_INFINITY;
  /** Time from the beginning of the write before to that of the last one, ms. */
  let turnMs = Number.POSITIVE_INFINITY;
  let hurry: (() => void) | undefined;
  const trials = createTrials();
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
      const now = elapsed();
      turnMs = now - lastAt;
      lastAt = now;
    },
    hurry: () => hurry?.(),
    done: () => {
      const now = elapsed();
      const tookMs = now - lastAt;
      const share = tookMs / Math.max(turnMs, tookMs);
      const hasGrown = share > busyShare.grow && turnMs < 2 * intervalMs && intervalMs < most;
      if (hasGrown) intervalMs = Math.min(most, 2 * intervalMs);
      else if (share < busyShare.shrink) intervalMs = Math.max(least, intervalMs / 2);
      else if (share <= busyShare.grow && intervalMs > least && trials.isDue(now)) {
        intervalMs = Math.max(least, intervalMs / 2);
        trials.begin(now);
      }
      trials.wrote(now, hasGrown);
    },
    get intervalMs() {
      return intervalMs;
    },
  };
};

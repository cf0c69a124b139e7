/** When the next write of a worker begins. */
export type WritePace = {
  /**
   * Resolves when the next write is due: the interval after the last one began, or once `hurry` is called, or once no message
   * has arrived for the least interval.
   */
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
  /** Nobody waits for the rows: while they come without a pause, the interval is `intervalMsMax`. */
  readonly isUnhurried?: boolean;
  readonly shares?: BusyShares;
  /** The clock of `createElapsed`, ms. */
  readonly elapsed: () => number;
  /** Whether a longer wait before a write would have no use. */
  readonly isEnough: () => boolean;
  /** How many messages have arrived since the start. */
  readonly arrived: () => number;
};

/**
 * Shares of time that a writer writes. Above `grow` the interval doubles: the store is loaded, and a row of a large write costs it
 * a fraction of one of a small write. Below `shrink` it halves: the store has time, and items are visible sooner.
 */
export type BusyShares = { readonly grow: number; readonly shrink: number };

/** A doubled interval about halves the share, so between the two lies more than a factor of two, or the interval would swing. */
export const busyShares: BusyShares = { grow: 0.6, shrink: 0.25 };

/** Work comes without a pause when this number of writes in a row had to wait for the interval. */
const steadyWrites = 6;

/** Messages that come further apart than this, and than the least interval, come no more for now. */
const quietMsMin = 50;

export const createWritePace = ({
  intervalMs: least,
  intervalMsMax,
  isUnhurried = false,
  shares = busyShares,
  elapsed,
  isEnough,
  arrived,
}: WritePaceOptions): WritePace => {
  const most = Math.max(least, intervalMsMax);
  /** Writes in a row that had to wait. */
  let waited = 0;
  const leastNow = (): number => (isUnhurried && waited >= steadyWrites ? most : least);
  const quietMs = Math.max(least, quietMsMin);
  let intervalMs = least;
  let lastAt = Number.NEGATIVE_INFINITY;
  /** Time from the beginning of the write before to that of the last one, ms. */
  let turnMs = Number.POSITIVE_INFINITY;
  let hurry: (() => void) | undefined;

  /** False where it was ended by `hurry`. */
  const pause = async (ms: number): Promise<boolean> => {
    const isWhole = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(true), ms);
      hurry = () => {
        clearTimeout(timer);
        resolve(false);
      };
    });
    hurry = undefined;
    return isWhole;
  };

  /** Waits for the interval, and not longer than messages arrive: once they stop, the rest of a grown interval gathers nothing. */
  const wait = async (): Promise<void> => {
    for (;;) {
      const waitMs = lastAt + intervalMs - elapsed();
      if (waitMs <= 0 || isEnough()) return;
      const arrivedBefore = arrived();
      if (!(await pause(Math.min(waitMs, quietMs)))) return;
      if (arrived() === arrivedBefore) return;
    }
  };

  return {
    untilDue: async () => {
      waited = elapsed() - lastAt < least ? waited + 1 : 0;
      // After a pause the next write is due at once, also where the interval was longer than the pause.
      if (isUnhurried) intervalMs = waited === 0 ? least : Math.max(intervalMs, leastNow());
      await wait();
      const now = elapsed();
      turnMs = now - lastAt;
      lastAt = now;
    },
    hurry: () => hurry?.(),
    done: () => {
      const tookMs = elapsed() - lastAt;
      const share = tookMs / Math.max(turnMs, tookMs);
      if (share > shares.grow && turnMs < 2 * intervalMs) intervalMs = Math.min(most, 2 * intervalMs);
      else if (share < shares.shrink) intervalMs = Math.max(leastNow(), intervalMs / 2);
    },
    get intervalMs() {
      return intervalMs;
    },
  };
};

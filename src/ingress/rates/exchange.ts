import { createRateLimiter, type RateLimiter } from './limiter.ts';
import { createRateShares, type DemandReport, readReport } from './shares.ts';

/** Where the processes leave their reports for one another. */
export type ReportChannel = {
  /** The unique name of this process. */
  readonly process: string;
  /** Whether a write could arrive now. */
  readonly connected: boolean;
  /** Replaces the last report of this process. Errors are ignored: the next report follows in a second. */
  write(report: DemandReport): void;
  /**
   * Calls back for every present and future report, also of this process, in the order of writing; with undefined after a process
   * removed its report.
   */
  watch(onReport: (process: string, report: unknown) => void): void;
  /** Removes this process's report and stops reporting. */
  leave(): Promise<void>;
};

const tickMs = 1000;
/** Least time between two reports: a surge is known soon, without a storm of reports. */
const reportGapMs = 200;

/**
 * A limiter whose rates hold over all processes on this channel together. Each process reports the demand of its limited keys every
 * second, and sooner when a key's demand surges. Without any demand it still reports its presence, because the first requests for a
 * key are admitted against an equal part of its rate. Without the channel the last shares hold. Date.now is the clock of `admit`.
 */
export const startRateExchange = (
  channel: ReportChannel,
): { readonly limiter: RateLimiter; stop(): Promise<void> } => {
  const shares = createRateShares(channel.process);
  let tick = 0;
  let reportedAt = 0;
  let early: NodeJS.Timeout | undefined;

  const report = (closesWindow: boolean): void => {
    const now = Date.now();
    const demand = limiter.takeDemand(now, closesWindow);
    if (!channel.connected) return;
    reportedAt = now;
    channel.write({ tick, ...demand });
  };
  const reportEarly = (): void => {
    early = undefined;
    report(false);
  };
  const limiter = createRateLimiter(shares, () => {
    if (early !== undefined || shares.processes < 2 || !channel.connected) return;
    const waitMs = reportedAt + reportGapMs - Date.now();
    early = setTimeout(reportEarly, Math.min(reportGapMs, Math.max(0, waitMs))).unref();
  });

  channel.watch((from, value) => {
    if (value === undefined) shares.remove(from);
    else shares.apply(from, readReport(value));
  });
  report(true);
  const timer = setInterval(() => {
    tick++;
    report(true);
  }, tickMs).unref();
  return {
    limiter,
    stop: async () => {
      clearInterval(timer);
      clearTimeout(early);
      await channel.leave();
    },
  };
};

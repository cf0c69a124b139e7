import type { TimeTable } from '../../config/cron.ts';

/** The longest a timer sleeps: a clock that was set is noticed within this time. */
const sleepMsMax = 60_000;

/**
 * Calls `onTick` at each time of the table with that time (ms since the epoch): once for each, and only for the latest where
 * the process slept over several. `now` is the machine's clock, ms since the epoch; times that it is set back over come again.
 */
export const startSchedule = (
  table: TimeTable,
  onTick: (tickMs: number) => void,
  now: () => number,
): { stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  let seen = now();
  let due = table.next(seen);
  const plan = (): void => {
    if (due === undefined) return;
    timer = setTimeout(wake, Math.max(0, Math.min(due - now(), sleepMsMax))).unref();
  };
  const wake = (): void => {
    // The time that was due may now be years away.
    if (now() < seen) due = table.next(now());
    seen = now();
    if (due !== undefined && now() >= due) {
      const tick = due;
      // A timer that fires early must not find the same time again.
      due = table.next(Math.max(now(), tick));
      onTick(tick);
    }
    plan();
  };
  plan();
  return { stop: () => clearTimeout(timer) };
};

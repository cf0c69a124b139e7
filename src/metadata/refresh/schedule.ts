import { Cron } from 'croner';
import { settingFault } from '../../config/settings.ts';
import { errorText } from '../../model/fault.ts';

/** The longest a timer sleeps: a clock that was set is noticed within this time. */
const sleepMsMax = 60_000;

/** The times of a cron expression in UTC, so that all processes agree on them. */
export type TimeTable = {
  /** The first time after `afterMs`, both ms since the epoch; undefined when there is none. */
  next(afterMs: number): number | undefined;
  /** The longest time between two of the next times: what a healthy job takes at most from one run to the next. */
  intervalMs(): number;
};

/** Of a time table with nights or weekends, the gaps differ: this many times show a week of hourly ones. */
const timesLooked = 200;

/** The longest gap between neighbours; 0 for a single time. */
const longestGap = (times: readonly number[]): number =>
  times.reduce((longest, time, index) => Math.max(longest, time - (times[index - 1] ?? time)), 0);

/** Throws a permanent Fault `config_invalid` for a malformed cron expression, or one without any time. */
export const parseCron = (expression: string): TimeTable => {
  const fault = (why: string): Error =>
    settingFault(
      'environment variable TIDEMARK_REFRESH_CRON',
      `the value ${JSON.stringify(expression)} ${why}`,
      'Write a cron expression like */5 * * * *',
    );
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone: 'UTC' });
  } catch (error) {
    throw fault(`is not a cron expression (${errorText(error)})`);
  }
  const next = (afterMs: number): number | undefined => cron.nextRun(new Date(afterMs))?.getTime();
  if (next(Date.now()) === undefined) throw fault('never matches a date');
  return { next, intervalMs: () => longestGap(cron.nextRuns(timesLooked).map((time) => time.getTime())) };
};

/**
 * Calls `onTick` at each time of the table with that time (ms since the epoch): once for each, and only for the latest where
 * the process slept over several. `now` is the machine's clock, ms since the epoch.
 */
export const startSchedule = (
  table: TimeTable,
  onTick: (tickMs: number) => void,
  now: () => number,
): { stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  let due = table.next(now());
  const plan = (): void => {
    if (due === undefined) return;
    timer = setTimeout(wake, Math.max(0, Math.min(due - now(), sleepMsMax)));
    timer.unref();
  };
  const wake = (): void => {
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

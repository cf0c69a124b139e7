import { Cron } from 'croner';
import { errorText } from '../model/fault.ts';
import { settingFault } from './settings.ts';

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

import { Cron } from 'croner';
import { errorText } from '../model/fault.ts';
import { settingFault } from './settings.ts';

/** The times of a cron expression in UTC, so that all processes agree on them. */
export type TimeTable = {
  /** The first time after `afterMs`, both ms since the epoch; undefined when there is none. */
  next(afterMs: number): number | undefined;
  /** The last time before `beforeMs` (1), the one before that (2), and so on; undefined when there is none. */
  previous(count: number, beforeMs: number): number | undefined;
  /** The longest time between two of the next 200 times. */
  intervalMs(): number;
};

/** The gaps differ where a table has nights or weekends: this many times show a week of hourly ones. */
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
  // A date is no expression, and croner takes one: once it is past, nothing would run any more.
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6 && !/^@[a-z]+$/i.test(expression.trim()))
    throw fault(`has ${fields} fields, and a cron expression has 5, or 6 with seconds`);
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone: 'UTC' });
  } catch (error) {
    throw fault(`is not a cron expression (${errorText(error)})`);
  }
  const next = (afterMs: number): number | undefined => cron.nextRun(new Date(afterMs))?.getTime();
  if (next(Date.now()) === undefined) throw fault('never matches a date');
  const previous = (count: number, beforeMs: number): number | undefined =>
    cron.previousRuns(count, new Date(beforeMs))[count - 1]?.getTime();
  return {
    next,
    previous,
    intervalMs: () => longestGap(cron.nextRuns(timesLooked).map((time) => time.getTime())),
  };
};

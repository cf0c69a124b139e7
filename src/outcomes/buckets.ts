import { secondsMax } from './times.ts';

/** Steps of time that accounts are read by, in seconds. Hours and days are those of UTC. */
export const bucketSeconds = { minute: 60, hour: 3_600, day: 86_400 } as const;

export type Bucket = keyof typeof bucketSeconds;

/** The start of the step that this time lies in; both Unix seconds. */
export const startOfBucket = (seconds: number, by: Bucket): number => seconds - (seconds % bucketSeconds[by]);

/** The same of the column `minute` in SQL of ClickHouse. */
export const bucketOf = (by: Bucket): string => {
  const step = bucketSeconds[by];
  return by === 'minute' ? 'toUnixTimestamp(minute)' : `intDiv(toUnixTimestamp(minute), ${step}) * ${step}`;
};

/**
 * Before which second the minutes of a period begin, all in Unix seconds: a minute that `until` cuts counts whole, and one that begins
 * there is of the next period. Without `until` the period ends with the second `now`.
 */
export const endOfPeriod = (until: number | undefined, now: number): number =>
  Math.min(secondsMax, bucketSeconds.minute * Math.ceil((until ?? now + 1) / bucketSeconds.minute));

/** The same of usage, whose periods are added up: a minute that `until` cuts is of the period that begins there. */
export const endOfUsage = (until: number | undefined, now: number): number =>
  until === undefined ? endOfPeriod(until, now) : startOfBucket(until, 'minute');

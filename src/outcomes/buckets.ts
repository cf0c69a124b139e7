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

/** The second before which the minutes of a period begin that ends with this one; both Unix seconds. */
export const endOfPeriod = (until: number): number => Math.min(secondsMax, until + 1);

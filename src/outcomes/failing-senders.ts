import { z } from 'zod';
import { authorisationReasons } from '../model/authorisation.ts';
import { type Pipeline, pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { ledgerTables } from './rows.ts';

/** A sender whose requests failed authorisation in several hours. */
export type FailingSender = {
  readonly pipeline: Pipeline;
  /** As samples show it. */
  readonly sender: string;
  readonly sdk: string;
  readonly reason: string;
  /** The data id that it names, or is known to have; 0 without one. */
  readonly dataId: number;
  /** The application, where its credential is one of a disabled application; else 0. */
  readonly appId: number;
  /** Different hours with a failure. */
  readonly hours: number;
  /** Samples of it that are kept: it failed at least this often. */
  readonly samples: number;
  /** Unix seconds to the millisecond. */
  readonly firstAt: number;
  readonly lastAt: number;
};

export type FailingFilter = {
  /** Unix seconds. */
  readonly since: number;
  readonly until: number;
  /** At least this many different hours with a failure. */
  readonly hoursMin: number;
  /** Only senders that failed at or after this time, too. */
  readonly lastSince?: number;
};

const failingRow = z.object({
  pipeline: z.enum(pipelines),
  sender: z.string(),
  last_sdk: z.string(),
  reason: z.string(),
  named: z.coerce.number(),
  app_id: z.coerce.number(),
  hours: z.coerce.number(),
  samples: z.coerce.number(),
  first_ms: z.coerce.number(),
  last_ms: z.coerce.number(),
});

/** Enough to work through; the rest shows once these are repaired. */
const sendersMax = 1_000;
const reasonList = [...authorisationReasons].map((reason) => `'${reason}'`).join(', ');

/**
 * Senders that failed authorisation in several hours of a period, those with most hours first, a thousand at most: receivers keep a sample
 * of each failing sender every ten minutes. Throws the Faults of the ClickHouse client.
 */
export const readFailingSenders = async (
  clickhouse: Clickhouse,
  { since, until, hoursMin, lastSince = since }: FailingFilter,
): Promise<FailingSender[]> => {
  const rows = await clickhouse.rows(
    failingRow,
    `SELECT pipeline, sender, reason, app_id,
       if(data_id != 0, data_id, toInt64OrZero(extract(detail, '(?:^|; )data id ([0-9]{1,15})$'))) AS named,
       argMax(sdk, at) AS last_sdk, uniqExact(toStartOfHour(at)) AS hours, uniqExact(boot, seq) AS samples,
       toUnixTimestamp64Milli(min(at)) AS first_ms, toUnixTimestamp64Milli(max(at)) AS last_ms
     FROM ${database}.${ledgerTables.samples}
     WHERE at >= toDateTime64({since:UInt32}, 3, 'UTC') AND at <= toDateTime64({until:UInt32}, 3, 'UTC') AND reason IN (${reasonList})
     GROUP BY pipeline, sender, reason, app_id, named
     HAVING hours >= {hoursMin:UInt32} AND last_ms >= 1000 * {lastSince:UInt32}
     ORDER BY hours DESC, last_ms DESC, sender LIMIT ${sendersMax}`,
    { params: { since, until, hoursMin, lastSince } },
  );
  return rows.map(({ named, app_id, last_sdk, first_ms, last_ms, ...row }) => ({
    ...row,
    sdk: last_sdk,
    dataId: named,
    appId: app_id,
    firstAt: first_ms / 1000,
    lastAt: last_ms / 1000,
  }));
};

/** A sender that failed in this many hours of a week, the last time within a day and an hour, fails constantly, be it once a day. */
const constantHours = 6;
const weekSeconds = 7 * 86_400;
const stillSeconds = 25 * 3_600;

/** Senders that fail constantly. `now` in Unix seconds. */
export const readConstantlyFailing = (clickhouse: Clickhouse, now: number): Promise<FailingSender[]> =>
  readFailingSenders(clickhouse, {
    since: Math.max(0, now - weekSeconds),
    until: now,
    hoursMin: constantHours,
    lastSince: Math.max(0, now - stillSeconds),
  });

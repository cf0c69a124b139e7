import type { Pipelines } from '../../config/pipelines.ts';
import type { StreamTrend } from './stream-trends.ts';

/** For the look at the stream, and the acks of an insert. */
const slackMs = 5_000;

/** How long a line waits in LEDGER at most while all works, s: its writes rest, and then a whole insert takes its time. */
export const ledgerSecondsMax = ({
  writeIntervalMsMax,
  storeTimeoutMs,
}: Pick<Pipelines['ledger'], 'writeIntervalMsMax' | 'storeTimeoutMs'>): number =>
  (writeIntervalMsMax + storeTimeoutMs + slackMs) / 1_000;

/** Nothing is known of a LEDGER that is missing, or was not read for longer than its figures count. */
const readSecondsMax = 60;

/** Since when lines of both books wait in LEDGER unread, ms since the epoch; undefined where they are read. */
export const ledgerBehindSince = (
  trend: StreamTrend | undefined,
  secondsMax: number,
  nowMs: number,
): number | undefined => {
  if (trend === undefined) return nowMs;
  const waited = trend.messages > 0 ? trend.oldestAgeSeconds : 0;
  if (trend.readSecondsAgo <= readSecondsMax && waited <= secondsMax) return undefined;
  return nowMs - 1_000 * (trend.readSecondsAgo + waited);
};

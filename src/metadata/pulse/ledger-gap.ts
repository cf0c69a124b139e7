import type { Pipelines } from '../../config/pipelines.ts';
import type { StreamTrends } from './stream-trends.ts';

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

/** Why newer lines of both books are not read: since when, ms since the epoch, and whether LEDGER itself cannot be read. */
export type LedgerGap = { readonly since: number; readonly isUnread: boolean };

/** Undefined where the lines are read. */
export const ledgerGap = (
  trends: Pick<StreamTrends, 'of' | 'absentMs'>,
  secondsMax: number,
  nowMs: number,
): LedgerGap | undefined => {
  const trend = trends.of('LEDGER');
  if (trend === undefined) return { since: nowMs - trends.absentMs('LEDGER'), isUnread: true };
  const waited = trend.messages > 0 ? trend.oldestAgeSeconds : 0;
  const isUnread = trend.readSecondsAgo > readSecondsMax;
  if (!isUnread && waited <= secondsMax) return undefined;
  return { since: nowMs - 1_000 * (trend.readSecondsAgo + waited), isUnread };
};

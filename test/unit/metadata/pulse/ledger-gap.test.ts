import { expect, it } from 'vitest';
import { loadPipelines } from '../../../../src/config/pipelines.ts';
import { ownPipelinesFolder } from '../../../../src/config/settings.ts';
import { ledgerGap, ledgerSecondsMax } from '../../../../src/metadata/pulse/ledger-gap.ts';
import { createStreamTrends, type StreamTrend } from '../../../../src/metadata/pulse/stream-trends.ts';
import { trendOf } from '../../../support/trends.ts';

const startMs = 1_000_000;

const gapOf = (fields: Partial<StreamTrend>) =>
  ledgerGap({ of: () => trendOf('LEDGER', fields), absentMs: () => 0 }, 45, startMs);

it('LEDGER is behind since its oldest line of both books came, which was read some seconds ago', () => {
  expect(gapOf({})).toBe(undefined);
  expect(gapOf({ messages: 9, oldestAgeSeconds: 45 })).toBe(undefined);
  const behind = { since: startMs - 55_000, isUnread: false };
  expect(gapOf({ messages: 9, oldestAgeSeconds: 50, readSecondsAgo: 5 })).toEqual(behind);
});

// Accounts, of periods long past too, were known and not known in turn while an insert took more than ten seconds.
it('lines that wait as long as a rest of the writes and a whole insert last are not behind', () => {
  const { ledger } = loadPipelines(ownPipelinesFolder);
  const slowestMs = ledger.writeIntervalMsMax + ledger.storeTimeoutMs;
  expect(ledgerSecondsMax(ledger)).toBeGreaterThan(slowestMs / 1_000);
  // Far below the minutes after which the account counts as not known for the alarm.
  expect(ledgerSecondsMax(ledger)).toBeLessThan(60);
});

// Its time moved along with each look, and it was called behind.
it('a LEDGER that cannot be read is called so, since the first moment of it, at each look', () => {
  const clock = { ms: 0 };
  const trends = createStreamTrends(() => clock.ms);
  const gapAt = (ms: number) => {
    clock.ms = ms;
    return ledgerGap(trends, 45, startMs + ms);
  };
  const unread = (sinceMs: number) => ({ since: startMs + sinceMs, isUnread: true });
  // Never read, and missing at the first look.
  expect(gapAt(4_000)).toEqual(unread(0));
  trends.saw('LEDGER', undefined);
  expect(gapAt(9_000)).toEqual(unread(0));
  trends.saw('LEDGER', trendOf('LEDGER'));
  expect(gapAt(15_000)).toBe(undefined);
  for (const ms of [20_000, 25_000, 30_000]) {
    clock.ms = ms;
    trends.saw('LEDGER', undefined);
    expect(gapAt(ms + 4_000)).toEqual(unread(20_000));
  }
  // NATS does not answer any more.
  clock.ms = 40_000;
  trends.saw('LEDGER', trendOf('LEDGER'));
  expect(gapAt(99_000)).toBe(undefined);
  for (const ms of [101_000, 106_000]) expect(gapAt(ms)).toEqual(unread(40_000));
});

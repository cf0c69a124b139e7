import { expect, it } from 'vitest';
import { loadPipelines } from '../../../../src/config/pipelines.ts';
import { ownPipelinesFolder } from '../../../../src/config/settings.ts';
import { ledgerBehindSince, ledgerSecondsMax } from '../../../../src/metadata/pulse/ledger-gap.ts';
import type { StreamTrend } from '../../../../src/metadata/pulse/stream-trends.ts';
import { trendOf } from '../../../support/trends.ts';

const since = (fields: Partial<StreamTrend>) => ledgerBehindSince(trendOf('LEDGER', fields), 45, 1_000_000);

it('LEDGER is behind since its oldest line of both books came, which was read some seconds ago', () => {
  expect(since({})).toBe(undefined);
  expect(since({ messages: 9, oldestAgeSeconds: 45 })).toBe(undefined);
  expect(since({ messages: 9, oldestAgeSeconds: 50, readSecondsAgo: 5 })).toBe(945_000);
});

// Accounts, of periods long past too, were known and not known by turns while an insert took more than ten seconds.
it('lines that wait as long as a rest of the writes and a whole insert last are not behind', () => {
  const { ledger } = loadPipelines(ownPipelinesFolder);
  const slowestMs = ledger.writeIntervalMsMax + ledger.storeTimeoutMs;
  expect(ledgerSecondsMax(ledger)).toBeGreaterThan(slowestMs / 1_000);
  // Far below the minutes after which the account counts as not known for the alarm.
  expect(ledgerSecondsMax(ledger)).toBeLessThan(60);
});

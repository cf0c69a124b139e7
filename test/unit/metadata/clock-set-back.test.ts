import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseCron } from '../../../src/config/cron.ts';
import { createAttempts } from '../../../src/metadata/console/attempts.ts';
import { startSchedule } from '../../../src/metadata/refresh/schedule.ts';
import { startKeeper } from '../../../src/metadata/reports/keeper.ts';
import { openAdminTokens } from '../../../src/metadata/tokens/admin-tokens.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../support/metadata/memory-records.ts';
import { noTables } from '../../support/metadata/no-tables.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');
const log = createLog('clock-test', 'silent');

beforeEach(() => {
  vi.useFakeTimers({ now: noon });
});
afterEach(() => {
  vi.useRealTimers();
});

const setBackAnHour = (): void => {
  vi.setSystemTime(Date.now() - 3_600_000);
};

it('a clock that is set back does not hold up the answer to an unknown admin token', async () => {
  const bus = { connected: true, onDisconnect: () => {} };
  const tokens = await openAdminTokens(bus, createMemoryBucket(), await tempFolder(), log);
  expect(await tokens.authorize('unknown')).toBeUndefined();
  setBackAnHour();
  let isAnswered = false;
  const asked = tokens.authorize('another').finally(() => {
    isAnswered = true;
  });
  await vi.advanceTimersByTimeAsync(100);
  expect(isAnswered).toBe(true);
  expect(await asked).toBeUndefined();
  tokens.stop();
});

it('a clock that is set back does not hold up the repair of tables', async () => {
  let repairs = 0;
  const keeper = startKeeper({
    records: createMemoryRecords().records,
    tables: noTables,
    repair: {
      round: async () => {
        repairs++;
      },
    },
    isAway: () => false,
    purgeWaitMs: 0,
    now: Date.now,
    log,
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(repairs).toBe(1);
  setBackAnHour();
  vi.advanceTimersByTime(5_000);
  await keeper.round();
  expect(repairs).toBe(2);
  await keeper.stop();
});

it('a clock that is set back does not hold up a purge', async () => {
  const { records } = createMemoryRecords();
  await records.purges.create(1, {
    ...{ mon_data_id: 1, table_id: '2_mon_time_series_1.__default__', state: 'purging' },
    ...{ requested_at: Date.now(), requested_by: 'ann' },
  });
  setBackAnHour();
  const dropped: string[] = [];
  const keeper = startKeeper({
    records,
    tables: { ...noTables, drop: async (table) => void dropped.push(table) },
    repair: { round: async () => {} },
    isAway: () => false,
    purgeWaitMs: 40_000,
    now: Date.now,
    log,
  });
  await keeper.round();
  vi.advanceTimersByTime(39_000);
  await keeper.round();
  expect(dropped).toEqual([]);
  vi.advanceTimersByTime(1_000);
  await keeper.round();
  expect(dropped).toEqual(['2_mon_time_series_1.__default__']);
  expect(records.purges.known(1)?.value.state).toBe('purged');
  await keeper.stop();
});

it('a clock that is set back does not keep an address from logging in for longer', () => {
  const attempts = createAttempts();
  while (attempts.begin('10.0.0.1') !== undefined);
  setBackAnHour();
  vi.advanceTimersByTime(60_000);
  expect(attempts.begin('10.0.0.1')).toBeDefined();
});

it('a clock that is set back does not stop the schedule', async () => {
  const ticks: number[] = [];
  const schedule = startSchedule(parseCron('*/5 * * * *'), (tick) => ticks.push(tick), Date.now);
  await vi.advanceTimersByTimeAsync(6 * 60_000);
  setBackAnHour();
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(ticks).toEqual([noon + 5 * 60_000, noon - 50 * 60_000]);
  schedule.stop();
});

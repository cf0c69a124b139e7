import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseCron } from '../../../../src/config/cron.ts';
import { startSchedule } from '../../../../src/metadata/refresh/schedule.ts';

const at = (time: string): number => Date.parse(`2026-03-01T${time}Z`);

describe('a cron expression', () => {
  it('gives times in UTC, the same in every process', () => {
    const table = parseCron('*/5 * * * *');
    expect(table.next(at('10:00:00.000'))).toBe(at('10:05:00'));
    expect(table.next(at('10:04:59.999'))).toBe(at('10:05:00'));
    expect(parseCron('30 2 * * *').next(at('03:00:00'))).toBe(Date.parse('2026-03-02T02:30:00Z'));
  });

  it.each(['', 'soon', '61 * * * *', '* * *', '0 0 31 2 *', '2099-01-01T00:00:00', '0 0 0 1 1 * 2099'])(
    'is refused at the start: %j',
    (expression) => {
      expect(() => parseCron(expression)).toThrow(/TIDEMARK_REFRESH_CRON/);
    },
  );
});

describe('the time that a success must be later than', () => {
  it('is that of the third last run, which a night or a weekend without runs does not move', () => {
    const table = parseCron('*/5 8-18 * * 1-4');
    const thursday = Date.parse('2026-02-26T18:45:00Z');
    expect(table.previous(3, Date.parse('2026-02-26T18:58:00Z'))).toBe(thursday);
    expect(table.previous(3, at('23:00:00'))).toBe(thursday);
    expect(table.previous(3, Date.parse('2026-03-02T08:12:00Z'))).toBe(Date.parse('2026-03-02T08:00:00Z'));
  });
});

describe('the schedule', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: at('10:03:00') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('comes once at each time', async () => {
    const ticks: number[] = [];
    const schedule = startSchedule(parseCron('*/5 * * * *'), (tick) => ticks.push(tick), Date.now);
    await vi.advanceTimersByTimeAsync(13 * 60_000);
    expect(ticks).toEqual([at('10:05:00'), at('10:10:00'), at('10:15:00')]);
    schedule.stop();
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(ticks).toHaveLength(3);
  });

  // A timer may fire a millisecond before its time by the other clock.
  it('comes once where timers fire early', async () => {
    const ticks: number[] = [];
    let skewMs = 0;
    const schedule = startSchedule(
      parseCron('*/5 * * * *'),
      (tick) => ticks.push(tick),
      () => Date.now() - skewMs,
    );
    skewMs = 1;
    await vi.advanceTimersByTimeAsync(4 * 60_000);
    expect(ticks).toEqual([at('10:05:00')]);
    schedule.stop();
  });

  it('comes once for all the times that the process slept over', async () => {
    const ticks: number[] = [];
    const schedule = startSchedule(parseCron('*/5 * * * *'), (tick) => ticks.push(tick), Date.now);
    vi.setSystemTime(at('11:32:00'));
    await vi.advanceTimersByTimeAsync(4 * 60_000);
    expect(ticks).toEqual([at('10:05:00'), at('11:35:00')]);
    schedule.stop();
  });
});

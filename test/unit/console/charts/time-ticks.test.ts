import { describe, expect, it } from 'vitest';
import { momentText, timeTicks, wallClock } from '../../../../console/src/charts/time-ticks.ts';

const at = (text: string): number => Date.parse(text) / 1000;
const labels = (since: string, until: string, zone: string, countMax = 8): string[] =>
  timeTicks(at(since), at(until), { zone, countMax }).map(({ label }) => label);

describe('the axis of time', () => {
  it('has round times of the zone, and the date where a day begins', () => {
    expect(labels('2026-06-01T21:10:00Z', '2026-06-02T01:10:00Z', 'UTC', 5)).toEqual([
      '22:00',
      '23:00',
      '2 Jun',
      '01:00',
    ]);
    expect(labels('2026-06-01T21:10:00Z', '2026-06-02T01:10:00Z', 'Europe/Berlin', 5)).toEqual([
      '2 Jun',
      '01:00',
      '02:00',
      '03:00',
    ]);
  });

  it('skips the hour that a spring night does not have', () => {
    expect(labels('2026-03-28T23:30:00Z', '2026-03-29T04:30:00Z', 'Europe/Berlin', 6)).toEqual([
      '01:00',
      '03:00',
      '04:00',
      '05:00',
      '06:00',
    ]);
  });

  it('names the distance to UTC of the second of two equal hours of an autumn night', () => {
    expect(labels('2026-10-24T22:30:00Z', '2026-10-25T03:30:00Z', 'Europe/Berlin', 6)).toEqual([
      '01:00',
      '02:00',
      '02:00 UTC+1',
      '03:00',
      '04:00',
    ]);
  });

  it('has each day once, at its first moment, over both changes of the clocks', () => {
    for (const [since, until] of [
      ['2026-03-25T12:00:00Z', '2026-04-02T12:00:00Z'],
      ['2026-10-21T12:00:00Z', '2026-10-29T12:00:00Z'],
    ] as const)
      for (const zone of [
        'Europe/Berlin',
        'America/Santiago',
        'Africa/Cairo',
        'Australia/Lord_Howe',
        'UTC',
      ]) {
        const ticks = timeTicks(at(since), at(until), { zone });
        expect(ticks.length, zone).toBe(8);
        expect(new Set(ticks.map(({ label }) => label)).size, zone).toBe(8);
        for (const tick of ticks) expect(wallClock(tick.at, zone) % 86_400, zone).toBe(0);
      }
  });

  it('begins a day after midnight where the clocks go forward at midnight', () => {
    const ticks = timeTicks(at('2026-09-03T12:00:00Z'), at('2026-09-09T12:00:00Z'), {
      zone: 'America/Santiago',
    });
    expect(ticks.map(({ label }) => label)).toEqual(
      ['4 Sept', '5 Sept', '6 Sept', '7 Sept', '8 Sept', '9 Sept'].map((text) => text.replace('Sept', 'Sep')),
    );
    expect(wallClock(ticks[2]?.at ?? 0, 'America/Santiago') % 86_400).toBe(3_600);
  });

  it('has round times in zones that are quarters of an hour away from UTC', () => {
    expect(labels('2026-06-01T00:00:00Z', '2026-06-01T04:00:00Z', 'Asia/Kathmandu', 5)).toEqual([
      '06:00',
      '07:00',
      '08:00',
      '09:00',
    ]);
    expect(labels('2026-06-01T06:00:00Z', '2026-06-04T06:00:00Z', 'Asia/Kolkata', 4)).toEqual([
      '2 Jun',
      '3 Jun',
      '4 Jun',
    ]);
  });

  it('has a mark at every multiple of the step that the clock shows, in every zone and at every step', () => {
    const since = at('2026-02-01T00:07:31Z');
    const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400];
    for (const zone of ['Asia/Kathmandu', 'Australia/Eucla', 'Asia/Kolkata', 'America/St_Johns', 'UTC'])
      for (const step of minutes.map((each) => each * 60)) {
        const found = timeTicks(since, since + 8 * step, { zone, countMax: 8 });
        const walls = found.map((tick) => wallClock(tick.at, zone));
        expect(walls.length, `${zone} ${step}`).toBe(8);
        if (step < 86_400)
          expect(new Set(walls.map((wall) => wall % step)), `${zone} ${step}`).toEqual(new Set([0]));
      }
  });

  it('has no more marks than there is room for, from minutes to years', () => {
    for (const seconds of [60, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000, 315_360_000])
      for (const countMax of [2, 4, 8, 12]) {
        const since = at('2026-02-03T04:05:06Z');
        const ticks = timeTicks(since, since + seconds, { zone: 'Europe/Berlin', countMax });
        expect(ticks.length, `${seconds} ${countMax}`).toBeLessThanOrEqual(countMax + 1);
        for (const tick of ticks) {
          expect(tick.at).toBeGreaterThanOrEqual(since);
          expect(tick.at).toBeLessThanOrEqual(since + seconds);
        }
      }
  });
});

it('a moment names its distance to UTC', () => {
  expect(momentText(at('2026-10-25T01:30:00Z'), 'Europe/Berlin')).toBe('25 Oct 02:30 UTC+1');
  expect(momentText(at('2026-10-25T00:30:00Z'), 'Europe/Berlin')).toBe('25 Oct 02:30 UTC+2');
  expect(momentText(at('2026-06-01T00:00:00Z'), 'America/St_Johns')).toBe('31 May 21:30 UTC-02:30');
  expect(momentText(at('2026-06-01T00:00:00Z'), 'UTC')).toBe('1 Jun 00:00 UTC');
});

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { root } from '../../support/docs-code.ts';

type Format = typeof import('../../../console/src/parts/format.tsx');
let format: Format;

beforeAll(async () => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });
  format = await import('../../../console/src/parts/format.tsx');
});

describe('figures of the console', () => {
  it.each([
    [0, '0'],
    [1_234_567, '1,234,567'],
    [1234.5, '1,235'],
    [0.12345, '0.123'],
    [-5, '-5'],
  ])('%d is %s', (value, text) => {
    expect(format.numberText(value)).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [1023, '1,020 B'],
    [1024, '1 KiB'],
    [1.5 * 2 ** 20, '1.5 MiB'],
    [2 ** 62, '4,100 PiB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(format.bytesText(bytes)).toBe(text);
  });

  it.each([
    [0, '0 s'],
    [0.0004, '400 ns'],
    [0.25, '250 µs'],
    [340, '340 ms'],
    [1200, '1.2 s'],
    [90_000, '1 min 30 s'],
    [7_500_000, '2 h 5 min'],
    [86_400_000, '1 d'],
    [-90_000, '-1 min 30 s'],
  ])('%d ms are %s', (ms, text) => {
    expect(format.durationText(ms)).toBe(text);
  });

  it('times are of the zone of the reader or of UTC, over a change of summer time too', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(new Date(Date.UTC(2026, 6, 1)).getHours()).toBe(2);
    const winter = Date.UTC(2026, 0, 5, 12, 30, 15, 7);
    expect(format.timeText(winter, { utc: true })).toBe('2026-01-05 12:30:15');
    expect(format.timeText(winter, { utc: true, ms: true })).toBe('2026-01-05 12:30:15.007');
    for (const at of [winter, Date.UTC(2026, 2, 29, 0, 59), Date.UTC(2026, 2, 29, 1, 1)]) {
      const local = new Date(at);
      const hours = String(local.getHours()).padStart(2, '0');
      const minutes = String(local.getMinutes()).padStart(2, '0');
      expect(format.timeText(at, { utc: false })).toContain(` ${hours}:${minutes}:`);
    }
    expect(format.timeText(Number.NaN)).toBe('–');
    expect(format.timeText(8.64e15 + 1)).toBe('–');
  });

  it.each([
    ['Europe/Berlin', '2026-10-24T23:59:59Z', '2026-10-25 01:59:59'],
    ['Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25 02:30:00 +02:00'],
    ['Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25 02:30:00 +01:00'],
    ['Europe/Berlin', '2026-10-25T02:00:00Z', '2026-10-25 03:00:00'],
    ['Europe/Berlin', '2026-03-29T00:59:59Z', '2026-03-29 01:59:59'],
    ['Europe/Berlin', '2026-03-29T01:00:00Z', '2026-03-29 03:00:00'],
    ['America/St_Johns', '2026-11-01T04:15:00Z', '2026-11-01 01:45:00 -02:30'],
    ['Australia/Lord_Howe', '2026-04-04T14:45:00Z', '2026-04-05 01:45:00 +11:00'],
    ['Australia/Lord_Howe', '2026-04-04T15:15:00Z', '2026-04-05 01:45:00 +10:30'],
    ['UTC', '2026-10-25T00:30:00Z', '2026-10-25 00:30:00'],
  ])('in %s %s is %s: a time that comes twice has its offset', (zone, at, text) => {
    vi.stubEnv('TZ', zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(format.timeText(Date.parse(at), { utc: false })).toBe(text);
    expect(format.timeText(Date.parse(at), { utc: true })).toBe(at.slice(0, 19).replace('T', ' '));
  });

  // A text alone stays in the former zone when the switch is pressed, and has no word for UTC.
  it('every time of a page is a Time, which follows the switch to UTC', () => {
    const folder = join(root, 'console/src');
    const pages = globSync('{pages,shell,charts}/**/*.{ts,tsx}', { cwd: folder });
    expect(pages.length).toBeGreaterThan(50);
    expect(pages.filter((page) => readFileSync(join(folder, page), 'utf8').includes('timeText('))).toEqual(
      [],
    );
  });

  it('how long ago is one unit', () => {
    expect(format.agoText(0, 7_500_000)).toBe('2 h ago');
    expect(format.agoText(7_500_000, 0)).toBe('in 2 h');
    expect(format.agoText(0, 500)).toBe('now');
  });
});

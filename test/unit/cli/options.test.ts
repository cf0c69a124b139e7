import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  durationArgument,
  idArgument,
  momentArgument,
  queryText,
  subjectOf,
  subjectPath,
} from '../../../src/cli/options.ts';
import { createProgram } from '../../../src/cli/program.ts';

describe('durations', () => {
  it('that help shows as a default may be typed', async () => {
    const commands = await Promise.all(['push', 'trace', 'doctor'].map((name) => createProgram(name)));
    const timeouts = commands.flatMap(({ commands }) =>
      commands.flatMap(({ options }) => options.filter(({ long }) => long === '--timeout')),
    );
    expect(timeouts.length).toBeGreaterThan(2);
    for (const { defaultValue, defaultValueDescription } of timeouts)
      expect(durationArgument(defaultValueDescription ?? String(defaultValue))).toBe(defaultValue);
  });

  it.each([
    ['0', 0],
    ['0s', 0],
    ['30s', 30],
    ['15m', 900],
    ['1h', 3_600],
    ['7d', 604_800],
  ])('%s is %d seconds', (text, seconds) => {
    expect(durationArgument(text)).toBe(seconds);
  });

  // A bare number could be meant in any unit.
  it.each(['', '5', '-1h', '1.5h', '1w', '1 h', 'h', '1H', '1h30m', '1e3s'])('%j is refused', (text) => {
    expect(() => durationArgument(text)).toThrow('It must be a duration: 30s, 15m, 1h, 7d, or 0.');
  });
});

describe('moments', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.each([
    ['0', 0],
    ['30s', 30],
    ['2h', 7_200],
    ['7d', 604_800],
  ])('%s is %d seconds ago', (text, seconds) => {
    const ago = Date.now() / 1000 - momentArgument(text);
    expect(ago).toBeGreaterThanOrEqual(seconds);
    expect(ago).toBeLessThan(seconds + 5);
  });

  it.each([
    ['2026-11-20', 1_795_132_800],
    ['2026-11-20T13:30:00Z', 1_795_181_400],
    ['2026-11-20T13:30:00.900Z', 1_795_181_400],
    ['2026-11-20T13:30:00+02:00', 1_795_174_200],
    ['2026-11-20 13:30:00Z', 1_795_181_400],
    ['2026-11-20 15:30:00 +0200', 1_795_181_400],
    ['2026-11-20T13:30:00.9', 1_795_181_400],
    ['2026-11-20 13:30', 1_795_181_400],
    ['2026-07-20T13:30:00', 1_784_554_200],
  ])('%s is second %d, in any zone of the terminal', (text, seconds) => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    expect(new Date(0).getHours()).toBe(1);
    expect(momentArgument(text)).toBe(seconds);
  });

  it.each([
    '',
    '5',
    '-1h',
    '1w',
    'yesterday',
    '2026-02-30',
    '2026-02-30T10:00:00Z',
    '2026-11-20x',
    '2026-11-20T25:00',
    '2026-11-20T13:30+99:00',
    '2026-11-20 1:30 PM',
    '1960-01-01',
  ])('%j is refused', (text) => {
    expect(() => momentArgument(text)).toThrow(
      'It must be an age (30m, 2h, 7d) or a time (2026-11-20T13:30:00Z).',
    );
  });
});

describe('ids', () => {
  it.each([
    [1_500_001, {}, 'data_id', '/api/v1/data-sources/1500001'],
    [2_097_151, {}, 'data_id', '/api/v1/data-sources/2097151'],
    [1_500_000, {}, 'application', '/api/v1/applications/1500000'],
    [1, {}, 'application', '/api/v1/applications/1'],
    [1_500_001, { app: true }, 'application', '/api/v1/applications/1500001'],
    [7, { dataId: true }, 'data_id', '/api/v1/data-sources/7'],
  ] as const)('%d with %j is of kind %s', (id, options, kind, path) => {
    const subject = subjectOf(id, options);
    expect(subject.kind).toBe(kind);
    expect(subjectPath(subject)).toBe(path);
  });

  it.each(['', '-1', '1x', '1.0', '0x10', '1234567890123456'])('%j is none', (text) => {
    expect(() => idArgument(text)).toThrow('It must be an id: digits only.');
  });
});

it('writes only the given parameters, escaped', () => {
  expect(queryText({ a: undefined })).toBe('');
  expect(queryText({ a: 'x&y', b: undefined, c: 0 })).toBe('?a=x%26y&c=0');
});

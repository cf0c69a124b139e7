import { describe, expect, it } from 'vitest';
import { durationArgument, idArgument, queryText, subjectOf, subjectPath } from '../../../src/cli/options.ts';

describe('durations', () => {
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

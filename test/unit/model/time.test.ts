import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TimeReason } from '../../../src/model/reasons.ts';
import { type TimePolicy, validatePointTime } from '../../../src/model/time.ts';
import { always } from '../../support/properties.ts';
import { defaultTimePolicy } from '../../support/time-policy.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const unbounded: TimePolicy = { aheadMsMax: undefined, ageMsMax: undefined };
const windows: TimePolicy = { aheadMsMax: hourMs, ageMsMax: 7 * dayMs };

type Case = [what: string, raw: unknown, policy: TimePolicy, verdict: TimeReason | undefined];

// Architecture 6.2, first hit wins. A wrong result either loses a good point or stores one where no query finds it.
const cases: Case[] = [
  ['a number in a string', '1780315200000', unbounded, 'timestamp_not_numeric'],
  ['a literal N', 'N', unbounded, 'timestamp_not_numeric'],
  ['an empty string', '', unbounded, 'timestamp_not_numeric'],
  ['a fraction', arrivedAt + 0.5, unbounded, 'timestamp_not_numeric'],
  ['true', true, unbounded, 'timestamp_not_numeric'],
  ['null', null, unbounded, 'timestamp_not_numeric'],
  ['nothing', undefined, unbounded, 'timestamp_not_numeric'],
  ['an object', { ms: arrivedAt }, unbounded, 'timestamp_not_numeric'],
  ['an array of one number', [arrivedAt], unbounded, 'timestamp_not_numeric'],
  ['NaN', Number.NaN, unbounded, 'timestamp_not_numeric'],
  ['infinity', Number.POSITIVE_INFINITY, unbounded, 'timestamp_not_numeric'],

  ['1', 1, unbounded, 'timestamp_unit_seconds'],
  ['now in seconds', Math.floor(arrivedAt / 1000), unbounded, 'timestamp_unit_seconds'],
  ['the last below 10^12', 999_999_999_999, unbounded, 'timestamp_unit_seconds'],
  ['10^12', 1e12, unbounded, undefined],

  ['the last below 10^15', 999_999_999_999_999, unbounded, 'timestamp_out_of_range'],
  ['10^15', 1e15, unbounded, 'timestamp_unit_micros'],
  ['now in microseconds', arrivedAt * 1e3, unbounded, 'timestamp_unit_micros'],
  ['the last double below 10^18', 1e18 - 128, unbounded, 'timestamp_unit_micros'],
  ['10^18', 1e18, unbounded, 'timestamp_unit_nanos'],
  ['now in nanoseconds', arrivedAt * 1e6, unbounded, 'timestamp_unit_nanos'],
  ['the end of 9999 in nanoseconds', Date.UTC(9999, 11, 31) * 1e6, unbounded, 'timestamp_unit_nanos'],
  ['10^21, after 9999 in any unit', 1e21, unbounded, 'timestamp_out_of_range'],
  ['10^30', 1e30, windows, 'timestamp_out_of_range'],
  ['the largest double', Number.MAX_VALUE, unbounded, 'timestamp_out_of_range'],

  ['zero', 0, unbounded, 'timestamp_out_of_range'],
  ['negative zero', -0, unbounded, 'timestamp_out_of_range'],
  ['-1', -1, unbounded, 'timestamp_out_of_range'],
  ['a negative that looks like nanoseconds', -1e18, unbounded, 'timestamp_out_of_range'],
  ['the last millisecond of 9999', Date.UTC(9999, 11, 31, 23, 59, 59, 999), unbounded, undefined],
  ['the first of 10000', Date.UTC(9999, 11, 31, 23, 59, 59, 999) + 1, unbounded, 'timestamp_out_of_range'],

  ['the end of the window ahead', arrivedAt + hourMs, windows, undefined],
  ['one past it', arrivedAt + hourMs + 1, windows, 'timestamp_too_far_ahead'],
  ['the end of 9999 with a window', Date.UTC(9999, 11, 31), windows, 'timestamp_too_far_ahead'],
  ['microseconds with a window: the unit is named', arrivedAt * 1e3, windows, 'timestamp_unit_micros'],
  ['the start of the window behind', arrivedAt - 7 * dayMs, windows, undefined],
  ['one before it', arrivedAt - 7 * dayMs - 1, windows, 'timestamp_too_old'],
  ['seconds with a window: the unit is named', 1_780_315_200, windows, 'timestamp_unit_seconds'],
  ['the arrival itself', arrivedAt, { aheadMsMax: 0, ageMsMax: 0 }, undefined],
  ['one after it', arrivedAt + 1, { aheadMsMax: 0, ageMsMax: 0 }, 'timestamp_too_far_ahead'],
  ['one before it', arrivedAt - 1, { aheadMsMax: 0, ageMsMax: 0 }, 'timestamp_too_old'],
];

describe('the time of a point', () => {
  it.each(cases)('judges %s (%j)', (_, raw, policy, verdict) => {
    expect(validatePointTime(raw, arrivedAt, policy)).toBe(verdict);
  });

  it('may by default be an hour ahead and of any age', () => {
    expect(defaultTimePolicy).toEqual({ aheadMsMax: hourMs, ageMsMax: undefined });
    expect(validatePointTime(1e12, arrivedAt, defaultTimePolicy)).toBeUndefined();
  });

  // Time is never repaired: every valid time is stored as sent, so it must be an integer that QuestDB holds.
  it('passes only as an integer of milliseconds inside the windows', () => {
    const raws = fc.oneof(
      fc.integer({ min: -8 * dayMs, max: 2 * hourMs }).map((offset) => arrivedAt + offset),
      fc.double(),
      fc.bigInt({ min: -(10n ** 19n), max: 10n ** 19n }).map(Number),
      fc.anything(),
    );
    always(
      fc.property(raws, (raw) => {
        const isInside =
          typeof raw === 'number' &&
          Number.isInteger(raw) &&
          raw >= arrivedAt - 7 * dayMs &&
          raw <= arrivedAt + hourMs;
        expect(validatePointTime(raw, arrivedAt, windows) === undefined).toBe(isInside);
      }),
      2000,
    );
  });
});

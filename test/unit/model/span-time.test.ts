import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TimeReason } from '../../../src/model/reasons.ts';
import { type RawSpanTime, type SpanTimePolicy, validateSpanTime } from '../../../src/model/span-time.ts';
import { always } from '../../support/properties.ts';
import { defaultTimePolicy } from '../../support/time-policy.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const unbounded: SpanTimePolicy = { aheadMsMax: undefined, ageMsMax: undefined };
const windows: SpanTimePolicy = { aheadMsMax: hourMs, ageMsMax: 7 * dayMs };
const nanos = (ms: number, rest = 0): bigint => BigInt(ms) * 1_000_000n + BigInt(rest);
const endOfTime = (2n ** 32n - 1n) * 1_000_000_000n;

type Case = [what: string, raw: RawSpanTime, policy: SpanTimePolicy, verdict: TimeReason | undefined];

// Architecture 6.2, first hit wins. Each is validated as decimal text and, where it has one, as protobuf's fixed64.
const cases: Case[] = [
  ['a literal N', 'N', unbounded, 'timestamp_not_numeric'],
  ['seconds and a literal N', '1780315200N', unbounded, 'timestamp_not_numeric'],
  ['an empty string', '', unbounded, 'timestamp_not_numeric'],
  ['a fraction', '1780315200000000000.5', unbounded, 'timestamp_not_numeric'],
  ['a fraction of zero', '1780315200000000000.0', unbounded, 'timestamp_not_numeric'],
  ['a minus sign', '-1780315200000000000', unbounded, 'timestamp_not_numeric'],
  ['a plus sign', '+1780315200000000000', unbounded, 'timestamp_not_numeric'],
  ['an exponent', '1.78e18', unbounded, 'timestamp_not_numeric'],
  ['a blank before', ' 1780315200000000000', unbounded, 'timestamp_not_numeric'],
  ['a line end after', '1780315200000000000\n', unbounded, 'timestamp_not_numeric'],
  ['other digits', '１７８０３１５２０００００００００００', unbounded, 'timestamp_not_numeric'],
  ['hexadecimal', '0x18b5aeab60000000', unbounded, 'timestamp_not_numeric'],
  ['forty-one digits', '1'.repeat(41), unbounded, 'timestamp_not_numeric'],

  ['nothing', undefined, unbounded, 'timestamp_zero_or_missing'],
  ['zero', '0', unbounded, 'timestamp_zero_or_missing'],
  ['zeros', '0000000000000000000', unbounded, 'timestamp_zero_or_missing'],

  ['1', '1', unbounded, 'timestamp_unit_seconds'],
  ['now in seconds', '1780315200', unbounded, 'timestamp_unit_seconds'],
  ['the last below 10^12', '999999999999', unbounded, 'timestamp_unit_seconds'],
  ['10^12', '1000000000000', unbounded, 'timestamp_unit_millis'],
  ['now in milliseconds', String(arrivedAt), unbounded, 'timestamp_unit_millis'],
  ['the last below 10^15', '999999999999999', unbounded, 'timestamp_unit_millis'],
  ['10^15', '1000000000000000', unbounded, 'timestamp_unit_micros'],
  ['now in microseconds', `${arrivedAt}000`, unbounded, 'timestamp_unit_micros'],
  ['the last below 10^18', '999999999999999999', unbounded, 'timestamp_unit_micros'],
  ['10^18', '1000000000000000000', unbounded, undefined],
  ['10^18 with zeros in front', '0001000000000000000000', unbounded, undefined],
  ['seconds and nine zeros', '1780315200000000000', windows, undefined],

  ['the last second of DateTime', String(endOfTime), unbounded, undefined],
  ['its last nanosecond', String(endOfTime + 999_999_999n), unbounded, undefined],
  ['one past it', String(endOfTime + 1_000_000_000n), unbounded, 'timestamp_out_of_range'],
  ['the largest of 64 bits', String(2n ** 64n - 1n), unbounded, 'timestamp_out_of_range'],
  ['more than 64 bits', '9'.repeat(30), unbounded, 'timestamp_out_of_range'],
  [
    'the last second a TTL leaves',
    String(endOfTime - 86_400n * 10n ** 9n),
    { ...unbounded, ttlSeconds: 86_400 },
    undefined,
  ],
  [
    'one second later',
    String(endOfTime - 86_399n * 10n ** 9n),
    { ...unbounded, ttlSeconds: 86_400 },
    'timestamp_out_of_range',
  ],
  ['the end of time with a window', String(endOfTime + 1_000_000_000n), windows, 'timestamp_out_of_range'],

  ['the end of the window ahead', String(nanos(arrivedAt + hourMs)), windows, undefined],
  ['a nanosecond past it', String(nanos(arrivedAt + hourMs, 1)), windows, 'timestamp_too_far_ahead'],
  ['the start of the window behind', String(nanos(arrivedAt - 7 * dayMs)), windows, undefined],
  ['a nanosecond before it', String(nanos(arrivedAt - 7 * dayMs - 1, 999_999)), windows, 'timestamp_too_old'],
  ['milliseconds with a window: the unit is named', String(arrivedAt), windows, 'timestamp_unit_millis'],
];

const isFixed64 = (raw: RawSpanTime): raw is string =>
  typeof raw === 'string' && /^\d{1,20}$/.test(raw) && BigInt(raw) < 2n ** 64n;

describe('the time of a span', () => {
  const good = String(nanos(arrivedAt));

  it.each(cases)('validates %s (%s)', (_, raw, policy, verdict) => {
    expect(validateSpanTime(raw, raw, arrivedAt, policy)).toBe(verdict);
    if (verdict !== undefined) expect(validateSpanTime(raw, good, arrivedAt, policy)).toBe(verdict);
  });

  it.each(cases.filter(([, raw]) => isFixed64(raw)))(
    'judges %s alike as fixed64 (%s)',
    (_, raw, policy, verdict) => {
      const word = isFixed64(raw) ? BigInt(raw) : 0n;
      expect(validateSpanTime(word, word, arrivedAt, policy)).toBe(verdict);
    },
  );

  it('is judged start before end, and each by all rules', () => {
    expect(validateSpanTime('N', '0', arrivedAt, windows)).toBe('timestamp_not_numeric');
    expect(validateSpanTime('0', 'N', arrivedAt, windows)).toBe('timestamp_zero_or_missing');
    expect(validateSpanTime(good, 'N', arrivedAt, windows)).toBe('timestamp_not_numeric');
    expect(validateSpanTime(good, undefined, arrivedAt, windows)).toBe('timestamp_zero_or_missing');
    expect(validateSpanTime(good, String(arrivedAt), arrivedAt, windows)).toBe('timestamp_unit_millis');
    expect(validateSpanTime(good, String(nanos(arrivedAt + hourMs, 1)), arrivedAt, windows)).toBe(
      'timestamp_too_far_ahead',
    );
  });

  it('must not end before it starts, to the nanosecond', () => {
    const start = nanos(arrivedAt, 500);
    expect(validateSpanTime(start, start, arrivedAt, windows)).toBeUndefined();
    expect(validateSpanTime(start, start + 1n, arrivedAt, windows)).toBeUndefined();
    expect(validateSpanTime(start, start - 1n, arrivedAt, windows)).toBe('end_before_start');
    expect(validateSpanTime(start, nanos(arrivedAt - 1, 999_999), arrivedAt, windows)).toBe(
      'end_before_start',
    );
  });

  it('is by default at most an hour ahead and of any age', () => {
    expect(validateSpanTime(10n ** 18n, 10n ** 18n, arrivedAt, defaultTimePolicy)).toBeUndefined();
    const ahead = nanos(arrivedAt + hourMs, 1);
    expect(validateSpanTime(ahead, ahead, arrivedAt, defaultTimePolicy)).toBe('timestamp_too_far_ahead');
  });

  // Doubles hold milliseconds and the rest apart: a bound that is off by a rounding loses or keeps spans wrongly.
  it('is bounded exactly, for any 64 bits', () => {
    const near = (center: bigint): fc.Arbitrary<bigint> =>
      fc.bigInt({ min: -2_000_000n, max: 2_000_000n }).map((offset) => center + offset);
    const words = fc.oneof(
      near(nanos(arrivedAt + hourMs)),
      near(nanos(arrivedAt - 7 * dayMs)),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    );
    always(
      fc.property(words, words, (start, end) => {
        const isInside = (time: bigint): boolean =>
          time >= nanos(arrivedAt - 7 * dayMs) && time <= nanos(arrivedAt + hourMs);
        const verdict = validateSpanTime(start, end, arrivedAt, windows);
        expect(verdict === undefined).toBe(isInside(start) && isInside(end) && start <= end);
        expect(validateSpanTime(String(start), String(end), arrivedAt, windows)).toBe(verdict);
      }),
      3000,
    );
  });
});

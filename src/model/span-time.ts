import type { TimeReason } from './reasons.ts';
import type { TimePolicy } from './time.ts';

/** Windows of an application's spans; `ttlSeconds` is the retention of the table, which moves the end of time forward. */
export type SpanTimePolicy = TimePolicy & { readonly ttlSeconds?: number | undefined };

/** A span's time as sent: decimal text (the digits of a JSON number alike), protobuf's fixed64, or undefined when absent. */
export type RawSpanTime = string | bigint | undefined;

/** No time has more characters; a longer text counts as not numeric, so that no message carries it. */
export const spanTimeLengthMax = 40;

const digits = /^[0-9]{1,40}$/;

/** DateTime is 32 bits of seconds: rows after 2106-02-07T06:28:15Z are accepted and cannot be found again. */
const clickhouseSecondLast = 2 ** 32 - 1;

/** Whole milliseconds of decimal nanoseconds, or NaN when the text is none. Exact for every time that can pass the rules. */
export const millisOfText = (text: string): number =>
  text.length <= spanTimeLengthMax && digits.test(text) ? Number(text.slice(0, -6)) : Number.NaN;

/** The nanoseconds beyond the whole milliseconds of `text`, which is all digits. */
export const restOfText = (text: string): number => Number(text.slice(-6));

/**
 * Validates one time, split into whole milliseconds and the nanoseconds beyond, so that doubles hold it exactly and no
 * time costs a BigInt. Undefined when it can be stored, else the first reason that applies (architecture 6.2). NaN is
 * not numeric.
 */
export const validateSpanInstant = (
  millis: number,
  rest: number,
  arrivedAtMs: number,
  policy: SpanTimePolicy,
): TimeReason | undefined => {
  if (!(millis >= 1e12)) {
    if (Number.isNaN(millis)) return 'timestamp_not_numeric';
    if (millis === 0 && rest === 0) return 'timestamp_zero_or_missing';
    if (millis < 1e6) return 'timestamp_unit_seconds';
    if (millis < 1e9) return 'timestamp_unit_millis';
    return 'timestamp_unit_micros';
  }
  if (millis >= (clickhouseSecondLast - (policy.ttlSeconds ?? 0) + 1) * 1000) return 'timestamp_out_of_range';
  const ahead = millis - arrivedAtMs;
  if (
    policy.aheadMsMax !== undefined &&
    (ahead > policy.aheadMsMax || (ahead === policy.aheadMsMax && rest > 0))
  )
    return 'timestamp_too_far_ahead';
  if (policy.ageMsMax !== undefined && -ahead > policy.ageMsMax) return 'timestamp_too_old';
  return undefined;
};

const splitBigint = (value: bigint): { millis: number; rest: number } => ({
  millis: value < 0n ? Number.NaN : Number(value / 1_000_000n),
  rest: Number(value % 1_000_000n),
});

/** Whole milliseconds of a time as sent (NaN: not numeric) and the nanoseconds beyond; 0 when it is absent. */
export const splitTime = (raw: RawSpanTime): { millis: number; rest: number } => {
  if (raw === undefined) return { millis: 0, rest: 0 };
  if (typeof raw === 'bigint') return splitBigint(raw);
  return { millis: millisOfText(raw), rest: restOfText(raw) };
};

/**
 * Validates the times of a span as sent: undefined when both can be stored, else the first reason that applies, start
 * before end, and last `end_before_start` (architecture 6.2). Converts, clamps and repairs nothing; a redelivery with
 * the same arrival and policy gets the same result.
 */
export const validateSpanTime = (
  rawStart: RawSpanTime,
  rawEnd: RawSpanTime,
  arrivedAtMs: number,
  policy: SpanTimePolicy,
): TimeReason | undefined => {
  const start = splitTime(rawStart);
  const end = splitTime(rawEnd);
  return (
    validateSpanInstant(start.millis, start.rest, arrivedAtMs, policy) ??
    validateSpanInstant(end.millis, end.rest, arrivedAtMs, policy) ??
    (endsBeforeStart(start.millis, start.rest, end.millis, end.rest) ? 'end_before_start' : undefined)
  );
};

/** Whether the second time is before the first. */
export const endsBeforeStart = (
  startMillis: number,
  startRest: number,
  endMillis: number,
  endRest: number,
): boolean => endMillis < startMillis || (endMillis === startMillis && endRest < startRest);

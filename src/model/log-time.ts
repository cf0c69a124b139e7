import type { TimeReason } from './reasons.ts';
import { type RawSpanTime, type SpanTimePolicy, splitTime, validateSpanInstant } from './span-time.ts';

/**
 * Validates the time of a log record as sent: its own time or, where that is missing or 0, the time at which it was observed (OTLP
 * logs data model, "Field: Timestamp"). Undefined when it can be stored, else the first reason that applies (architecture 6.2).
 */
export const validateLogTime = (
  rawTime: RawSpanTime,
  rawObserved: RawSpanTime,
  arrivedAtMs: number,
  policy: SpanTimePolicy,
): TimeReason | undefined => {
  const own = splitTime(rawTime);
  const { millis, rest } = own.millis === 0 && own.rest === 0 ? splitTime(rawObserved) : own;
  return validateSpanInstant(millis, rest, arrivedAtMs, policy);
};

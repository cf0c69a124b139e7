import type { TimeReason } from './reasons.ts';

/**
 * Windows around the arrival in milliseconds; undefined = no limit. They travel with a message, so that a redelivery
 * gets the same result.
 */
export type TimePolicy = { readonly aheadMsMax: number | undefined; readonly ageMsMax: number | undefined };

/** The last millisecond QuestDB holds: 9999-12-31T23:59:59.999Z; for a later one it answers 500 and stores nothing. */
const questdbMsLast = 253_402_300_799_999;
/** No nanoseconds of a time that QuestDB holds are beyond: a larger number is of no unit. */
const nanosLast = questdbMsLast * 1e6;

/**
 * Validates the timestamp of a push point: undefined when it is an integer of milliseconds inside the windows, else the
 * first reason that applies (architecture 6.2). `raw` is the JSON value as sent; nothing is converted, clamped or
 * repaired.
 */
export const validatePointTime = (
  raw: unknown,
  arrivedAtMs: number,
  policy: TimePolicy,
): TimeReason | undefined => {
  if (typeof raw !== 'number' || !Number.isInteger(raw)) return 'timestamp_not_numeric';
  if (raw > 0 && raw <= nanosLast) {
    if (raw < 1e12) return 'timestamp_unit_seconds';
    if (raw >= 1e18) return 'timestamp_unit_nanos';
    if (raw >= 1e15) return 'timestamp_unit_micros';
  }
  if (raw <= 0 || raw > questdbMsLast) return 'timestamp_out_of_range';
  if (policy.aheadMsMax !== undefined && raw - arrivedAtMs > policy.aheadMsMax)
    return 'timestamp_too_far_ahead';
  if (policy.ageMsMax !== undefined && arrivedAtMs - raw > policy.ageMsMax) return 'timestamp_too_old';
  return undefined;
};

export const daySeconds = 86_400;
export const dayMs = 86_400_000;

/** A day since 1970 as `2026-08-02`. */
export const dayText = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** The first event day (days since 1970) whose rows are certainly kept: a day expires when all of it is older than the retention. */
export const firstKeptDay = (nowMs: number, retentionDays: number | undefined): number =>
  retentionDays === undefined ? 0 : Math.floor(nowMs / dayMs - retentionDays) + 1;

/** Integer Unix seconds. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

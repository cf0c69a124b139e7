import { z } from 'zod';
import { firstKeptDay } from '../model/time.ts';

const seconds = z.int('must be an integer').min(0, 'must not be negative').max(3_155_760_000);
const count = (max: number) =>
  z.int('must be an integer').min(1, 'must be at least 1').max(max, `must be at most ${max}`);

/** Windows of time, seconds; null = no bound. */
const windows = {
  ahead_seconds_max: seconds.nullable().optional(),
  age_seconds_max: seconds.nullable().optional(),
};

/**
 * `retention_days`: rows are kept for this many days, null = for ever. `retention_days_initial`: the default of the deployment when the
 * owner was created; it holds where `retention_days` is absent, and unlike that it narrows no window of time. `removed_before_day`: rows
 * of event days before this one (days since 1970) may have been removed by a shorter retention, which the owner had before. An earlier
 * program removes the field where it writes the policy.
 */
const retention = {
  retention_days: count(36_500).nullable().optional(),
  retention_days_initial: count(36_500).optional(),
  removed_before_day: z.int().positive().optional(),
};

/**
 * The differences of one data id from the pipeline file, as stored in KV; an absent field means the value of the file.
 * `points_max` is the limit of points in one request.
 */
export const sourcePolicySchema = z.object({
  ...windows,
  points_max: count(1_000_000).optional(),
  metric_columns_max: count(4_000).optional(),
  dimension_columns_max: count(1_000).optional(),
  ...retention,
});

/**
 * The same for an application, for all of its signals: `spans_max` counts the spans of one request, `records_max` its log records and
 * `data_points_max` its data points; `series_max` counts the series of its data points within an hour, null = no bound. The other limits
 * are of one item.
 */
export const applicationPolicySchema = z.object({
  ...windows,
  spans_max: count(1_000_000).optional(),
  records_max: count(1_000_000).optional(),
  data_points_max: count(1_000_000).optional(),
  series_max: count(1_000_000).nullable().optional(),
  attributes_max: count(10_000).optional(),
  events_max: count(10_000).optional(),
  links_max: count(10_000).optional(),
  value_bytes_max: count(1_048_576).optional(),
  deduplicate: z.boolean('must be true or false').optional(),
  fill_dimensions: z.boolean('must be true or false').optional(),
  ...retention,
});

export type SourcePolicy = z.infer<typeof sourcePolicySchema>;
export type ApplicationPolicy = z.infer<typeof applicationPolicySchema>;

/** The fields that no operator sets. */
const unsettable = ['retention_days_initial', 'removed_before_day'] as const;

/** A field of a policy that operators set. */
export type PolicyField<P> = Exclude<keyof P, (typeof unsettable)[number]>;

export const isSettable = (field: string): boolean => !unsettable.some((each) => each === field);

/** The days that the rows of an owner with this policy are kept; undefined: for ever. */
export const retentionDaysOf = (policy: SourcePolicy | ApplicationPolicy | undefined): number | undefined =>
  (policy?.retention_days === undefined ? policy?.retention_days_initial : policy.retention_days) ??
  undefined;

/** The first event day whose rows neither the retention of this policy nor one before it can have removed. */
export const keptFromDay = (policy: SourcePolicy | ApplicationPolicy | undefined, nowMs: number): number =>
  Math.max(firstKeptDay(nowMs, retentionDaysOf(policy)), policy?.removed_before_day ?? 0);

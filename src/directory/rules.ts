import type { Pipelines } from '../config/pipelines.ts';
import type { SpanTimePolicy } from '../model/span-time.ts';
import type { TimePolicy } from '../model/time.ts';
import type { ColumnCaps } from '../wire/column-naming.ts';
import type { ItemLimits } from '../wire/otlp/types.ts';
import type { ApplicationPolicy, SourcePolicy } from './policies.ts';

/**
 * The rules for the points of one data id: the limits of its table, the points of one request, and the windows of time.
 */
export type SourceRules = ColumnCaps & { readonly time: TimePolicy; readonly pointsMax: number };

/** The rules for the spans of one application. */
export type ApplicationRules = { readonly time: SpanTimePolicy; readonly limits: ItemLimits };

/** The values of the pipeline files; they apply where a policy has no value. */
export type RuleDefaults = { readonly source: SourceRules; readonly application: ApplicationRules };

const dayMs = 86_400_000;

/** The rules of the pipeline files. */
export const ruleDefaults = ({ metrics, traces }: Pick<Pipelines, 'metrics' | 'traces'>): RuleDefaults => {
  const { pointsMax, metricsMax, dimensionsMax } = metrics.limits;
  const { itemsMax, attributesMax, eventsMax, linksMax, valueBytesMax } = traces.limits;
  const { retentionDays: days } = traces;
  return {
    source: { time: metrics.time, pointsMax, metricsMax, dimensionsMax },
    application: {
      time: { ...traces.time, ttlSeconds: days === undefined ? undefined : (days * dayMs) / 1000 },
      limits: { itemsMax, attributesMax, eventsMax, linksMax, valueBytesMax },
    },
  };
};

/** Milliseconds of a policy's window: null is no limit, and an absent one is the pipeline file's. */
const windowMs = (own: number | null | undefined, inherited: number | undefined): number | undefined => {
  if (own === undefined) return inherited;
  return own === null ? undefined : own * 1000;
};

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** Of the retention that was asked for: the default of a deployment (`retention_days_initial`) narrows no window. */
const retentionMs = (policy: SourcePolicy | ApplicationPolicy | undefined): number | undefined =>
  typeof policy?.retention_days === 'number' ? policy.retention_days * dayMs : undefined;

/**
 * The rules of a data id: its policy, else `inherited`. A point older than the retention would expire at once, so it is
 * too old.
 */
export const sourceRules = (policy: SourcePolicy | undefined, inherited: SourceRules): SourceRules => {
  if (policy === undefined) return inherited;
  const ageMsMax = windowMs(policy.age_seconds_max, inherited.time.ageMsMax);
  return {
    time: {
      aheadMsMax: windowMs(policy.ahead_seconds_max, inherited.time.aheadMsMax),
      ageMsMax: smaller(ageMsMax, retentionMs(policy)),
    },
    pointsMax: policy.points_max ?? inherited.pointsMax,
    metricsMax: policy.metric_columns_max ?? inherited.metricsMax,
    dimensionsMax: policy.dimension_columns_max ?? inherited.dimensionsMax,
  };
};

/**
 * The rules of an application: its policy, else the inherited ones. No policy makes a span outlive the retention of the tables
 * (`ttlSeconds`); a span older than either retention is too old.
 */
export const applicationRules = (
  policy: ApplicationPolicy | undefined,
  { time, limits }: ApplicationRules,
): ApplicationRules => {
  const { ttlSeconds } = time;
  const keptMs = smaller(retentionMs(policy), ttlSeconds === undefined ? undefined : ttlSeconds * 1000);
  return {
    time: {
      aheadMsMax: windowMs(policy?.ahead_seconds_max, time.aheadMsMax),
      ageMsMax: smaller(windowMs(policy?.age_seconds_max, time.ageMsMax), keptMs),
      ttlSeconds,
    },
    limits: {
      itemsMax: policy?.spans_max ?? limits.itemsMax,
      attributesMax: policy?.attributes_max ?? limits.attributesMax,
      eventsMax: policy?.events_max ?? limits.eventsMax,
      linksMax: policy?.links_max ?? limits.linksMax,
      valueBytesMax: policy?.value_bytes_max ?? limits.valueBytesMax,
    },
  };
};

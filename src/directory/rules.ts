import type { Pipelines } from '../config/pipelines.ts';
import type { ApplicationPipeline, Pipeline } from '../model/signals.ts';
import type { SpanTimePolicy } from '../model/span-time.ts';
import { dayMs, type TimePolicy } from '../model/time.ts';
import type { ColumnCaps } from '../wire/column-naming.ts';
import type { ItemLimits } from '../wire/otlp/types.ts';
import type { ApplicationPolicy, SourcePolicy } from './policies.ts';

/**
 * The rules for the points of one data id: the limits of its table, the points of one request, and the windows of time.
 */
export type SourceRules = ColumnCaps & {
  readonly time: TimePolicy;
  readonly pointsMax: number;
  /** The default retention that narrows no window: an older point is stored, and then removed. */
  readonly initialDays?: number | undefined;
};

/** The rules for the items of one signal. */
export type SignalRules = {
  readonly time: SpanTimePolicy;
  readonly limits: ItemLimits;
  /** Different series within an hour, of a signal that has series; undefined: no bound. */
  readonly seriesMax: number | undefined;
};

/** The rules of one application, for each of its signals. */
export type ApplicationRules = Readonly<Record<ApplicationPipeline, SignalRules>>;

/** The values of the pipeline files; they apply where a policy has no value. */
export type RuleDefaults = { readonly source: SourceRules; readonly application: ApplicationRules };

/** Limits that one signal has. */
type LimitOfOne = 'eventsMax' | 'linksMax' | 'bucketsMax' | 'exemplarsMax';

type ItemsPipeline = Pick<Pipelines[ApplicationPipeline], 'time' | 'retentionDays'> & {
  readonly limits: Omit<ItemLimits, LimitOfOne> &
    Partial<Pick<ItemLimits, LimitOfOne>> & { readonly seriesMax?: number | undefined };
};

/** The rules of the file of one signal. */
const signalDefaults = ({ time, retentionDays: days, limits }: ItemsPipeline): SignalRules => {
  const { itemsMax, attributesMax, valueBytesMax } = limits;
  const { eventsMax = 0, linksMax = 0, bucketsMax = 0, exemplarsMax = 0 } = limits;
  return {
    time: { ...time, ttlSeconds: days === undefined ? undefined : (days * dayMs) / 1000 },
    limits: { itemsMax, attributesMax, eventsMax, linksMax, valueBytesMax, bucketsMax, exemplarsMax },
    seriesMax: limits.seriesMax,
  };
};

/** The rules of the pipeline files. */
export const ruleDefaults = ({
  metrics,
  traces,
  logs,
  otel_metrics,
}: Pick<Pipelines, Pipeline>): RuleDefaults => {
  const { pointsMax, metricsMax, dimensionsMax } = metrics.limits;
  return {
    source: { time: metrics.time, pointsMax, metricsMax, dimensionsMax },
    application: {
      traces: signalDefaults(traces),
      logs: signalDefaults(logs),
      otel_metrics: signalDefaults(otel_metrics),
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
    initialDays: policy.retention_days === undefined ? policy.retention_days_initial : undefined,
  };
};

/**
 * The rules for the items of one signal: the policy of their application, else the inherited ones. No policy makes an item outlive the
 * retention of its tables (`ttlSeconds`); one older than either retention is too old.
 */
const signalRules = (
  policy: ApplicationPolicy | undefined,
  itemsMax: number | undefined,
  { time, limits, seriesMax }: SignalRules,
): SignalRules => {
  const { ttlSeconds } = time;
  const keptMs = smaller(retentionMs(policy), ttlSeconds === undefined ? undefined : ttlSeconds * 1000);
  return {
    time: {
      aheadMsMax: windowMs(policy?.ahead_seconds_max, time.aheadMsMax),
      ageMsMax: smaller(windowMs(policy?.age_seconds_max, time.ageMsMax), keptMs),
      ttlSeconds,
    },
    limits: {
      ...limits,
      itemsMax: itemsMax ?? limits.itemsMax,
      attributesMax: policy?.attributes_max ?? limits.attributesMax,
      eventsMax: policy?.events_max ?? limits.eventsMax,
      linksMax: policy?.links_max ?? limits.linksMax,
      valueBytesMax: policy?.value_bytes_max ?? limits.valueBytesMax,
    },
    seriesMax,
  };
};

/** The rules of an application: its policy, which holds for all of its signals, else the inherited ones. */
export const applicationRules = (
  policy: ApplicationPolicy | undefined,
  { traces, logs, otel_metrics }: ApplicationRules,
): ApplicationRules => ({
  traces: signalRules(policy, policy?.spans_max, traces),
  logs: signalRules(policy, policy?.records_max, logs),
  otel_metrics: {
    ...signalRules(policy, policy?.data_points_max, otel_metrics),
    seriesMax: policy?.series_max === undefined ? otel_metrics.seriesMax : (policy.series_max ?? undefined),
  },
});

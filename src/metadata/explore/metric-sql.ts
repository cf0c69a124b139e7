import { dateTimesOf, type Period } from './period.ts';
import {
  type Applications,
  type AttributeMatch,
  appParts,
  attributeParts,
  type Part,
  pairs,
  type Statement,
  statement,
} from './statement.ts';

/** The kinds of metrics, as the views name them. */
export const metricKinds = ['gauge', 'sum', 'histogram', 'exponential_histogram', 'summary'] as const;
export type MetricKind = (typeof metricKinds)[number];

/** Whether the data points of a kind are many values each, and not one. */
export const isDistribution = (kind: MetricKind): boolean => kind !== 'gauge' && kind !== 'sum';

/** Conditions that a metric fulfils together. */
export type MetricConditions = {
  readonly applications: Applications;
  readonly service?: string | undefined;
  readonly name?: string | undefined;
  readonly kind?: MetricKind | undefined;
};

/** An attribute that a data point, or its resource, has with exactly this value. */
export type MetricAttributeCondition = AttributeMatch & { readonly scope: 'data_point' | 'resource' };

const columnOfScope = { data_point: 'Attributes', resource: 'ResourceAttributes' } as const;

const conditionParts = ({ applications, service, name, kind }: MetricConditions): Part[] => {
  const parts = appParts(applications);
  if (service !== undefined) parts.push(['ServiceName = {service:String}', { service }]);
  if (name !== undefined) parts.push(['MetricName = {name:String}', { name }]);
  if (kind !== undefined) parts.push(['Kind = {kind:String}', { kind }]);
  return parts;
};

const attributesMax = 10;

/** Metrics with the number of their series, those with most first, and the attributes with most distinct values. */
export const metricsSql = (conditions: MetricConditions, period: Period, limit: number): Statement =>
  statement(
    'SELECT AppId AS app_id, ServiceName AS service, MetricName AS name, Kind AS kind, MetricUnit AS unit, ' +
      'AggregationTemporality AS temporality, IsMonotonic AS is_monotonic, SeriesCount AS series, ' +
      `arraySlice(arrayReverseSort(each -> (each.2, each.1), AttributeValues::Array(Tuple(String, UInt64))), 1, ${attributesMax}) AS top, ` +
      'arrayMap(each -> each.1, top) AS attribute_keys, arrayMap(each -> each.2, top) AS attribute_values, ' +
      'toUnixTimestamp64Nano(LastTime) AS last_time ' +
      'FROM otel.otel_metrics_series(since = {since:DateTime}, until = {until:DateTime})',
    conditionParts(conditions),
    ` ORDER BY series DESC, app_id, service, name, kind, temporality LIMIT ${limit}`,
    dateTimesOf(period),
  );

const lastSql =
  (columns: string, view: string) =>
  (
    conditions: MetricConditions & { readonly name: string },
    attributes: readonly MetricAttributeCondition[],
    period: Period,
    limit: number,
  ): Statement =>
    statement(
      'SELECT AppId AS app_id, ServiceName AS service, Kind AS kind, MetricUnit AS unit, AggregationTemporality AS temporality, ' +
        `toUnixTimestamp64Nano(LastTime) AS at, ${columns}, ` +
        `${pairs('Attributes', 'attribute')}, ScopeName AS scope_name, ${pairs('ScopeAttributes', 'scope')}, ` +
        `${pairs('ResourceAttributes', 'resource')} FROM otel.${view}(since = {since:DateTime}, until = {until:DateTime}, metric = {name:String})`,
      [...conditionParts(conditions), ...attributeParts(attributes, ({ scope }) => columnOfScope[scope])],
      ` ORDER BY at DESC, app_id, service, Series LIMIT ${limit}`,
      dateTimesOf(period),
    );

/** The last value of each series of a gauge or a sum, the latest first. */
export const lastValuesSql = lastSql(
  'toString(LastValue) AS value, LastValueInt AS value_int',
  'otel_metrics_last',
);

/** The last data point of each series of a histogram, an exponential histogram or a summary, the latest first. */
export const lastDistributionsSql = lastSql(
  'toString(Count) AS count, toString(Sum) AS sum, toString(Min) AS min, toString(Max) AS max, ' +
    // A level that is no finite number names no quantile, and JSON has no number for it; stored summaries may have such ones.
    'arrayFilter(level -> isFinite(level), QuantileLevels) AS levels, ' +
    'arrayMap(value -> toString(value), arrayFilter((value, level) -> isFinite(level), QuantileValues, QuantileLevels)) AS quantiles',
  'otel_metrics_last_distributions',
);

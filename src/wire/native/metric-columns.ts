/** A column of a table of data points: its name and its type in ClickHouse. */
export type MetricColumn = { readonly name: string; readonly type: string };

const lowString = 'LowCardinality(String)';
const attributes = 'Map(LowCardinality(String), String)';

const head = [
  { name: 'ResourceAttributes', type: attributes },
  { name: 'ResourceSchemaUrl', type: lowString },
  { name: 'ScopeName', type: 'String' },
  { name: 'ScopeVersion', type: lowString },
  { name: 'ScopeAttributes', type: attributes },
  { name: 'ScopeDroppedAttrCount', type: 'UInt32' },
  { name: 'ScopeSchemaUrl', type: lowString },
  { name: 'ServiceName', type: lowString },
  { name: 'MetricName', type: lowString },
  { name: 'MetricDescription', type: lowString },
  { name: 'MetricUnit', type: lowString },
  { name: 'Attributes', type: attributes },
  { name: 'StartTimeUnix', type: 'DateTime64(9)' },
  { name: 'TimeUnix', type: 'DateTime64(9)' },
] as const satisfies readonly MetricColumn[];

const exemplars = [
  { name: 'Exemplars.FilteredAttributes', type: `Array(${attributes})` },
  { name: 'Exemplars.TimeUnix', type: 'Array(DateTime64(9))' },
  { name: 'Exemplars.Value', type: 'Array(Float64)' },
  { name: 'Exemplars.SpanId', type: 'Array(String)' },
  { name: 'Exemplars.TraceId', type: 'Array(String)' },
] as const satisfies readonly MetricColumn[];

/** A 64-bit integer as it was sent; null for a double. */
const exemplarIntegers = { name: 'Exemplars.ValueInt', type: 'Array(Nullable(Int64))' } as const;

const temporality = { name: 'AggregationTemporality', type: 'Int32' } as const;

const number = [
  { name: 'Value', type: 'Float64' },
  { name: 'Flags', type: 'UInt32' },
  ...exemplars,
] as const satisfies readonly MetricColumn[];

/** What the exporter's columns of a number lack. */
const numberExtra = [
  { name: 'ValueInt', type: 'Nullable(Int64)' },
  { name: 'HasValue', type: 'Bool' },
  exemplarIntegers,
] as const satisfies readonly MetricColumn[];

/** The end of the exporter's columns of both histograms. */
const histogramEnd = [
  ...exemplars,
  { name: 'Flags', type: 'UInt32' },
  { name: 'Min', type: 'Float64' },
  { name: 'Max', type: 'Float64' },
  temporality,
] as const satisfies readonly MetricColumn[];

/** Whether the point has what is optional; the column is 0 where it has not. */
const histogramExtra = [
  { name: 'HasSum', type: 'Bool' },
  { name: 'HasMin', type: 'Bool' },
  { name: 'HasMax', type: 'Bool' },
  exemplarIntegers,
] as const satisfies readonly MetricColumn[];

const ours = [
  { name: 'MetricMetadata', type: attributes },
  { name: 'uid', type: 'UInt64' },
  { name: 'AppId', type: 'Int64' },
  { name: 'BizId', type: 'Int64' },
  { name: 'ArrivedAt', type: 'DateTime64(3)' },
] as const satisfies readonly MetricColumn[];

/**
 * The columns of `otel.otel_metrics_gauge` in order: those of the OpenTelemetry ClickHouse exporter, then those of Tidemark
 * (architecture 9); so are the lists below. The table follows the list and the blocks carry it; a block may have a column in
 * another type that ClickHouse casts.
 */
export const gaugeColumns = [...head, ...number, ...numberExtra, ...ours] as const;

/** Those of `otel.otel_metrics_sum`. */
export const sumColumns = [
  ...head,
  ...number,
  temporality,
  { name: 'IsMonotonic', type: 'Bool' },
  ...numberExtra,
  ...ours,
] as const;

/** Those of `otel.otel_metrics_histogram`. */
export const histogramColumns = [
  ...head,
  { name: 'Count', type: 'UInt64' },
  { name: 'Sum', type: 'Float64' },
  { name: 'BucketCounts', type: 'Array(UInt64)' },
  { name: 'ExplicitBounds', type: 'Array(Float64)' },
  ...histogramEnd,
  ...histogramExtra,
  ...ours,
] as const;

/** Those of `otel.otel_metrics_exponential_histogram`. */
export const exponentialHistogramColumns = [
  ...head,
  { name: 'Count', type: 'UInt64' },
  { name: 'Sum', type: 'Float64' },
  { name: 'Scale', type: 'Int32' },
  { name: 'ZeroCount', type: 'UInt64' },
  { name: 'PositiveOffset', type: 'Int32' },
  { name: 'PositiveBucketCounts', type: 'Array(UInt64)' },
  { name: 'NegativeOffset', type: 'Int32' },
  { name: 'NegativeBucketCounts', type: 'Array(UInt64)' },
  ...histogramEnd,
  { name: 'ZeroThreshold', type: 'Float64' },
  ...histogramExtra,
  ...ours,
] as const;

/** Those of `otel.otel_metrics_summary`. */
export const summaryColumns = [
  ...head,
  { name: 'Count', type: 'UInt64' },
  { name: 'Sum', type: 'Float64' },
  { name: 'ValueAtQuantiles.Quantile', type: 'Array(Float64)' },
  { name: 'ValueAtQuantiles.Value', type: 'Array(Float64)' },
  { name: 'Flags', type: 'UInt32' },
  ...ours,
] as const;

/** The name of a column of any of these tables. */
export type MetricColumnName = (
  | typeof gaugeColumns
  | typeof sumColumns
  | typeof histogramColumns
  | typeof exponentialHistogramColumns
  | typeof summaryColumns
)[number]['name'];

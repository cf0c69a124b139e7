import type { ItemsContext, ItemsOwner } from '../../../../src/wire/otlp/types.ts';
import type { DataPointRow } from '../metric-source.ts';
import {
  hasTemporality,
  type PlainExemplar,
  type PlainKind,
  type PlainMetric,
  type PlainMetricResource,
  type PlainMetricScope,
  type PlainNumber,
  type PlainPoint,
} from './metric-model.ts';
import type { PlainAttribute, PlainTime } from './model.ts';
import { heldAttributes, hexOf, isKey, Texts } from './rows.ts';
import { textOf, timeText, withoutSecrets } from './values.ts';

/** A data point with all that its row is made of. */
export type PointItem = {
  readonly ordinal: number;
  readonly point: PlainPoint;
  readonly metric: PlainMetric;
  readonly scope: PlainMetricScope;
  readonly resource: PlainMetricResource;
  readonly owner: ItemsOwner;
};

const tables: Record<PlainKind, string> = {
  gauge: 'otel_metrics_gauge',
  sum: 'otel_metrics_sum',
  histogram: 'otel_metrics_histogram',
  exponentialHistogram: 'otel_metrics_exponential_histogram',
  summary: 'otel_metrics_summary',
};

/** Of a time that the table cannot hold: 0. */
const heldTime = (time: PlainTime): bigint => {
  if (typeof time === 'string' && !/^\d{1,40}$/.test(time)) return 0n;
  const nanos = BigInt(time ?? 0);
  return nanos / 1_000_000n < 9_223_372_036_854n ? nanos : 0n;
};

const doubleOf = (number: PlainNumber): number => (number.kind === 'none' ? 0 : Number(number.value));
const integerOf = (number: PlainNumber): bigint | null => (number.kind === 'int' ? number.value : null);

/** A point that says that it has no value has none. */
const numberOf = ({ flags, value }: PlainPoint): PlainNumber => (flags % 2 === 1 ? { kind: 'none' } : value);

const exemplarColumns = (exemplars: readonly PlainExemplar[], texts: Texts): DataPointRow => ({
  'Exemplars.FilteredAttributes': exemplars.map(({ attributes }) => texts.map(attributes)),
  'Exemplars.TimeUnix': exemplars.map(({ time }) => heldTime(time)),
  'Exemplars.Value': exemplars.map(({ value }) => doubleOf(value)),
  'Exemplars.SpanId': exemplars.map(({ spanId }) => hexOf(spanId)),
  'Exemplars.TraceId': exemplars.map(({ traceId }) => hexOf(traceId)),
  'Exemplars.ValueInt': exemplars.map(({ value }) => integerOf(value)),
});

const temporalityColumn = (metric: PlainMetric): DataPointRow => ({
  AggregationTemporality: BigInt(metric.temporality),
});

const numberColumns = (metric: PlainMetric, point: PlainPoint): DataPointRow => {
  const value = numberOf(point);
  return {
    Value: doubleOf(value),
    ValueInt: integerOf(value),
    HasValue: value.kind !== 'none',
    ...(metric.kind === 'sum' ? { ...temporalityColumn(metric), IsMonotonic: metric.isMonotonic } : {}),
  };
};

const distributionColumns = (metric: PlainMetric, point: PlainPoint): DataPointRow => ({
  ...{ Count: point.count, Sum: point.sum ?? 0, Min: point.min ?? 0, Max: point.max ?? 0 },
  HasSum: point.sum !== undefined,
  HasMin: point.min !== undefined,
  HasMax: point.max !== undefined,
  ...temporalityColumn(metric),
  ...(metric.kind === 'histogram'
    ? { BucketCounts: point.counts, ExplicitBounds: point.bounds }
    : {
        ...{ Scale: BigInt(point.scale), ZeroCount: point.zeroCount, ZeroThreshold: point.zeroThreshold },
        ...{ PositiveOffset: BigInt(point.positiveOffset), PositiveBucketCounts: point.counts },
        ...{ NegativeOffset: BigInt(point.negativeOffset), NegativeBucketCounts: point.negative },
      }),
});

const ownColumns = (metric: PlainMetric, point: PlainPoint, texts: Texts): DataPointRow => {
  if (metric.kind === 'summary')
    return {
      ...{ Count: point.count, Sum: point.sum ?? 0 },
      'ValueAtQuantiles.Quantile': point.quantiles.map(({ quantile }) => quantile),
      'ValueAtQuantiles.Value': point.quantiles.map(({ value }) => value),
    };
  const isNumber = metric.kind === 'gauge' || metric.kind === 'sum';
  return {
    ...(isNumber ? numberColumns(metric, point) : distributionColumns(metric, point)),
    ...exemplarColumns(point.exemplars, texts),
  };
};

/** The row of a data point. */
export const rowOf = (item: PointItem, context: ItemsContext, texts: Texts): DataPointRow => {
  const { ordinal, point, metric, scope, resource, owner } = item;
  const service = resource.attributes.findLast((attribute) => isKey(attribute, 'service.name'));
  return {
    table: tables[metric.kind],
    ResourceAttributes: texts.map(heldAttributes(resource, owner, context)),
    ResourceSchemaUrl: texts.text(resource.schema),
    ScopeName: texts.text(scope.name),
    ScopeVersion: texts.text(scope.version),
    ScopeAttributes: texts.map(scope.attributes),
    ScopeDroppedAttrCount: BigInt(scope.dropped),
    ScopeSchemaUrl: texts.text(scope.schema),
    ServiceName: service === undefined ? '' : texts.text(textOf(service.value)),
    MetricName: texts.text(metric.name),
    MetricDescription: texts.text(metric.description),
    MetricUnit: texts.text(metric.unit),
    Attributes: texts.map(point.attributes),
    StartTimeUnix: heldTime(point.start),
    TimeUnix: BigInt(point.time ?? 0),
    Flags: BigInt(point.flags),
    MetricMetadata: texts.map(metric.metadata),
    uid: BigInt(context.base.text) + BigInt(ordinal),
    AppId: BigInt(owner.appId),
    BizId: BigInt(owner.bizId),
    ArrivedAt: BigInt(context.arrivedAt),
    ...ownColumns(metric, point, texts),
  };
};

const shownDouble = (value: number | undefined): unknown => {
  if (value === undefined) return undefined;
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? value : String(value);
};

const shownNumber = (number: PlainNumber): object => {
  if (number.kind === 'none') return {};
  return number.kind === 'int' ? { asInt: String(number.value) } : { asDouble: shownDouble(number.value) };
};

const shownOwn = (metric: PlainMetric, point: PlainPoint): object => {
  if (metric.kind === 'gauge' || metric.kind === 'sum') return shownNumber(numberOf(point));
  const distribution = {
    count: String(point.count),
    sum: shownDouble(point.sum),
    min: shownDouble(point.min),
    max: shownDouble(point.max),
  };
  if (metric.kind === 'summary')
    return {
      ...distribution,
      quantileValues: point.quantiles.map(({ quantile, value }) => ({
        quantile: shownDouble(quantile),
        value: shownDouble(value),
      })),
    };
  if (metric.kind === 'histogram')
    return {
      ...distribution,
      bucketCounts: point.counts.map(String),
      explicitBounds: point.bounds.map(shownDouble),
    };
  return {
    ...{ ...distribution, scale: point.scale, zeroCount: String(point.zeroCount) },
    positive: { offset: point.positiveOffset, bucketCounts: point.counts.map(String) },
    negative: { offset: point.negativeOffset, bucketCounts: point.negative.map(String) },
    zeroThreshold: shownDouble(point.zeroThreshold),
  };
};

/** The object that a deferred data point travels as. */
export const deferredObject = (item: PointItem, context: ItemsContext): unknown => {
  const { point, metric, scope, resource, owner } = item;
  const texts = new Texts(context.limits.valueBytesMax);
  const attributes = (list: readonly PlainAttribute[]): unknown =>
    withoutSecrets(list).map(({ key, value }) => ({
      key: texts.text(key),
      value: { stringValue: texts.text(textOf(value)) },
    }));
  return {
    resource: { attributes: attributes(heldAttributes(resource, owner, context)) },
    resourceSchemaUrl: texts.text(resource.schema) || undefined,
    scope: {
      name: texts.text(scope.name),
      version: texts.text(scope.version),
      attributes: attributes(scope.attributes),
      droppedAttributesCount: scope.dropped,
    },
    scopeSchemaUrl: texts.text(scope.schema) || undefined,
    metric: {
      name: texts.text(metric.name),
      description: texts.text(metric.description),
      unit: texts.text(metric.unit),
      metadata: attributes(metric.metadata),
      [metric.kind]: {
        aggregationTemporality: hasTemporality(metric.kind) ? metric.temporality : undefined,
        isMonotonic: metric.kind === 'sum' ? metric.isMonotonic : undefined,
      },
    },
    dataPoint: {
      attributes: attributes(point.attributes),
      startTimeUnixNano: timeText(point.start),
      timeUnixNano: timeText(point.time),
      ...shownOwn(metric, point),
      exemplars:
        point.exemplars.length === 0
          ? undefined
          : point.exemplars.map((exemplar) => ({
              filteredAttributes: attributes(exemplar.attributes),
              timeUnixNano: timeText(exemplar.time),
              ...shownNumber(exemplar.value),
              traceId: hexOf(exemplar.traceId) || undefined,
              spanId: hexOf(exemplar.spanId) || undefined,
            })),
      flags: point.flags,
    },
  };
};

import type { OtlpExemplar, OtlpMetric } from '../support/otlp/metrics.ts';
import { spanOf } from '../support/otlp/span-producer.ts';

/** What the data point of a number follows from: the seed, and the second of its time. */
export type Origin = { readonly seed: number; readonly startSeconds: number };

const minute = 60_000_000_000n;

const common = (id: number, { seed, startSeconds }: Origin) => {
  const span = spanOf(id, seed, startSeconds);
  return {
    span,
    point: {
      attributes: span.attributes,
      startTimeUnixNano: String(BigInt(span.startTimeUnixNano) - minute),
      timeUnixNano: span.startTimeUnixNano,
      flags: 2 * (id % 2),
    },
    exemplars: [
      {
        timeUnixNano: span.startTimeUnixNano,
        ...(id % 2 === 0 ? { asDouble: id + 0.5 } : { asInt: String(id) }),
        spanId: span.spanId,
        traceId: span.traceId,
        filteredAttributes: [{ key: 'filtered', value: { stringValue: `é ${id % 7}` } }],
      },
    ] satisfies OtlpExemplar[],
  };
};

const extremes = (id: number) => ({ count: String(id), sum: id * 1.5, min: -0.5, max: id });

const temporalityOf = (id: number): number => 1 + (id % 2);

/** The kinds in turn; each has one data point. */
const dataOf = (id: number, origin: Origin): OtlpMetric => {
  const { point, exemplars } = common(id, origin);
  const aggregationTemporality = temporalityOf(id);
  switch (id % 5) {
    case 0:
      return { gauge: { dataPoints: [{ ...point, asDouble: id + 0.25, exemplars }] } };
    case 1: {
      const asInt = String(2n ** 60n + BigInt(id));
      return {
        sum: {
          dataPoints: [{ ...point, asInt, exemplars }],
          aggregationTemporality,
          isMonotonic: id % 3 === 0,
        },
      };
    }
    case 2: {
      const buckets = { bucketCounts: ['0', String(id), '2'], explicitBounds: [0.5, 1000] };
      return {
        histogram: {
          dataPoints: [{ ...point, ...extremes(id), ...buckets, exemplars }],
          aggregationTemporality,
        },
      };
    }
    case 3: {
      const buckets = {
        scale: (id % 20) - 10,
        zeroCount: '1',
        zeroThreshold: 0.001,
        positive: { offset: -(id % 100), bucketCounts: [String(id), '0', '300'] },
        negative: { offset: id % 100, bucketCounts: ['1'] },
      };
      return {
        exponentialHistogram: {
          dataPoints: [{ ...point, ...extremes(id), ...buckets, exemplars }],
          aggregationTemporality,
        },
      };
    }
    default: {
      const quantileValues = [
        { quantile: 0.5, value: id },
        { quantile: 1, value: id * 2 },
      ];
      return { summary: { dataPoints: [{ ...point, count: String(id), sum: id * 1.5, quantileValues }] } };
    }
  }
};

/** The metric with the data point of this number. */
export const metricOf = (id: number, origin: Origin): OtlpMetric => ({
  name: `metric ${id % 13}`,
  description: `all of ${id % 13}`,
  unit: '{thing}',
  ...dataOf(id, origin),
});

const exemplarColumns = (id: number, origin: Origin) => {
  const { span } = common(id, origin);
  return {
    'Exemplars.FilteredAttributes': [{ filtered: `é ${id % 7}` }],
    'Exemplars.TimeUnix': [span.startTimeUnixNano],
    'Exemplars.Value': [id % 2 === 0 ? id + 0.5 : id],
    'Exemplars.ValueInt': [id % 2 === 0 ? null : String(id)],
    'Exemplars.SpanId': [span.spanId],
    'Exemplars.TraceId': [span.traceId],
  };
};

const extremeColumns = (id: number) => ({
  Count: String(id),
  Sum: id * 1.5,
  HasSum: true,
  Min: -0.5,
  HasMin: true,
  Max: id,
  HasMax: true,
  AggregationTemporality: temporalityOf(id),
});

/** What the row has by the kind of its data point. */
const columnsOf = (id: number, origin: Origin): Readonly<Record<string, unknown>> => {
  const exemplars = exemplarColumns(id, origin);
  switch (id % 5) {
    case 0:
      return { Table: 'gauge', Value: id + 0.25, ValueInt: null, HasValue: true, ...exemplars };
    case 1: {
      const exact = 2n ** 60n + BigInt(id);
      const kind = { AggregationTemporality: temporalityOf(id), IsMonotonic: id % 3 === 0 };
      return {
        Table: 'sum',
        Value: Number(exact),
        ValueInt: String(exact),
        HasValue: true,
        ...kind,
        ...exemplars,
      };
    }
    case 2: {
      const buckets = { BucketCounts: ['0', String(id), '2'], ExplicitBounds: [0.5, 1000] };
      return { Table: 'histogram', ...buckets, ...extremeColumns(id), ...exemplars };
    }
    case 3: {
      const buckets = {
        Scale: (id % 20) - 10,
        ZeroCount: '1',
        ZeroThreshold: 0.001,
        PositiveOffset: -(id % 100),
        PositiveBucketCounts: [String(id), '0', '300'],
        NegativeOffset: id % 100,
        NegativeBucketCounts: ['1'],
      };
      return { Table: 'exponential_histogram', ...buckets, ...extremeColumns(id), ...exemplars };
    }
    default: {
      const quantiles = { 'ValueAtQuantiles.Quantile': [0.5, 1], 'ValueAtQuantiles.Value': [id, id * 2] };
      return { Table: 'summary', Count: String(id), Sum: id * 1.5, ...quantiles };
    }
  }
};

/** Every column of the row of this number but those of its resource, scope, application and attributes. */
export const dataPointColumns = (id: number, origin: Origin): Readonly<Record<string, unknown>> => {
  const { point } = common(id, origin);
  return {
    MetricName: `metric ${id % 13}`,
    MetricDescription: `all of ${id % 13}`,
    MetricUnit: '{thing}',
    MetricMetadata: {},
    StartTimeUnix: point.startTimeUnixNano,
    TimeUnix: point.timeUnixNano,
    Flags: point.flags,
    ...columnsOf(id, origin),
  };
};

/** Its attribute http.route. */
export const dataPointRoute = (id: number, origin: Origin): string | undefined =>
  common(id, origin).span.attributes[1]?.value.stringValue;

import fc from 'fast-check';
import type {
  OtlpDouble,
  OtlpExemplar,
  OtlpHistogramPoint,
  OtlpMetric,
  OtlpMetricsRequest,
  OtlpNumberPoint,
} from './metrics.ts';
import { attributes, hex, resource, scope, text, time } from './requests.ts';

const anyTime = fc.oneof(
  { weight: 6, arbitrary: time },
  { weight: 2, arbitrary: fc.constantFrom('0', '17', '1700000000000', '18446744073709551615') },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String) },
);

const idOf = (bytes: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: hex(bytes) },
    { weight: 1, arbitrary: hex(bytes - 1) },
    { weight: 1, arbitrary: fc.constantFrom('', '0'.repeat(2 * bytes)) },
  );

/** Minus zero is left out: JSON.stringify writes it as 0. */
const double: fc.Arbitrary<OtlpDouble> = fc.oneof(
  { weight: 3, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0) },
  { weight: 3, arbitrary: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((value) => value / 1000 + 0) },
  { weight: 1, arbitrary: fc.constantFrom<OtlpDouble>('NaN', 'Infinity', '-Infinity', 1e300, 5e-324) },
);

const word = (min: bigint, max: bigint): fc.Arbitrary<string> =>
  fc
    .oneof(
      { weight: 4, arbitrary: fc.bigInt({ min: 0n, max: 1000n }) },
      { weight: 1, arbitrary: fc.bigInt({ min, max }) },
      { weight: 1, arbitrary: fc.constantFrom(min, max, 2n ** 53n + 1n, 2n ** 32n, 10n ** 15n) },
    )
    .map(String);

const count = word(0n, 2n ** 64n - 1n);
const integer = word(-(2n ** 63n), 2n ** 63n - 1n);
const flags = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 1) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 32 - 1 }) },
);

const exemplarHead = {
  filteredAttributes: attributes(3),
  timeUnixNano: anyTime,
  spanId: idOf(8),
  traceId: idOf(16),
};
const exemplar: fc.Arbitrary<OtlpExemplar> = fc.oneof(
  fc.record({ ...exemplarHead, asDouble: double }, { requiredKeys: [] }),
  fc.record({ ...exemplarHead, asInt: integer }, { requiredKeys: [] }),
);

const head = {
  attributes: attributes(4),
  startTimeUnixNano: anyTime,
  timeUnixNano: anyTime,
  flags,
};
const exemplars = fc.array(exemplar, { maxLength: 3 });
const distribution = { count, sum: double, min: double, max: double };

const numberPoint: fc.Arbitrary<OtlpNumberPoint> = fc.oneof(
  fc.record({ ...head, exemplars, asDouble: double }, { requiredKeys: ['timeUnixNano'] }),
  fc.record({ ...head, exemplars, asInt: integer }, { requiredKeys: ['timeUnixNano'] }),
);

/** Mostly with buckets that fit. */
const buckets: fc.Arbitrary<Pick<OtlpHistogramPoint, 'bucketCounts' | 'explicitBounds'>> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.uniqueArray(fc.integer({ min: -1000, max: 1000 }), { maxLength: 6 }),
        fc.array(count, { minLength: 7, maxLength: 7 }),
      )
      .map(([bounds, counts]) => ({
        explicitBounds: bounds.sort((a, b) => a - b).map((bound) => bound / 4 + 0),
        bucketCounts: counts.slice(0, bounds.length + 1),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { explicitBounds: fc.array(double, { maxLength: 3 }), bucketCounts: fc.array(count, { maxLength: 3 }) },
      { requiredKeys: [] },
    ),
  },
);

const histogramPoint = fc
  .tuple(fc.record({ ...head, exemplars, ...distribution }, { requiredKeys: ['timeUnixNano'] }), buckets)
  .map(([point, own]) => ({ ...point, ...own }));

const offset = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1));
const side = fc.record({ offset, bucketCounts: fc.array(count, { maxLength: 5 }) }, { requiredKeys: [] });
const exponentialPoint = fc.record(
  {
    ...head,
    exemplars,
    ...distribution,
    ...{ scale: offset, zeroCount: count, positive: side, negative: side, zeroThreshold: double },
  },
  { requiredKeys: ['timeUnixNano'] },
);
/** OTLP has them from 0 to 1. */
const quantile: fc.Arbitrary<OtlpDouble> = fc.oneof(
  { weight: 9, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0) },
  { weight: 1, arbitrary: double },
);
const summaryPoint = fc.record(
  {
    ...head,
    ...{ count, sum: double },
    quantileValues: fc.array(fc.record({ quantile, value: double }, { requiredKeys: [] }), {
      maxLength: 4,
    }),
  },
  { requiredKeys: ['timeUnixNano'] },
);

const temporality = fc.constantFrom(0, 1, 2, 2, 1, 3, -1);
const most = { maxLength: 3 };

const data: fc.Arbitrary<OtlpMetric> = fc.oneof(
  fc.record({ gauge: fc.record({ dataPoints: fc.array(numberPoint, most) }, { requiredKeys: [] }) }),
  fc.record({
    sum: fc.record(
      {
        dataPoints: fc.array(numberPoint, most),
        aggregationTemporality: temporality,
        isMonotonic: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({
    histogram: fc.record(
      { dataPoints: fc.array(histogramPoint, most), aggregationTemporality: temporality },
      { requiredKeys: [] },
    ),
  }),
  fc.record({
    exponentialHistogram: fc.record(
      { dataPoints: fc.array(exponentialPoint, most), aggregationTemporality: temporality },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ summary: fc.record({ dataPoints: fc.array(summaryPoint, most) }, { requiredKeys: [] }) }),
  fc.constant({}),
);

const metric: fc.Arbitrary<OtlpMetric> = fc
  .tuple(
    fc.record({ name: text, description: text, unit: text, metadata: attributes(2) }, { requiredKeys: [] }),
    data,
    fc.boolean(),
  )
  // In JSON members come in any order.
  .map(([own, kind, isFirst]) => (isFirst ? { ...kind, ...own } : { ...own, ...kind }));

/** Requests in canonical form, with everything OTLP allows and some data points that are to be rejected or deferred. */
export const anyMetricsRequest: fc.Arbitrary<OtlpMetricsRequest> = fc.record(
  {
    resourceMetrics: fc.array(
      fc.record(
        {
          resource,
          scopeMetrics: fc.array(
            fc.record(
              { scope, metrics: fc.array(metric, { maxLength: 4 }), schemaUrl: text },
              { requiredKeys: [] },
            ),
            { maxLength: 2 },
          ),
          schemaUrl: text,
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

// Exports data points with the OpenTelemetry SDK and one of its exporters, set up by the SDK's own variables. Argument: json or
// protobuf (both over HTTP), or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line
// of whether the exporter told of a success and what the SDK held of the data points.

import { createInterface } from 'node:readline';
import { DiagLogLevel, diag, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter as GrpcExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  AggregationType,
  createDenyListAttributesProcessor,
  DataPointType,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';

const log = (...parts) => process.stderr.write(`${parts.map(String).join(' ')}\n`);
diag.setLogger(
  { error: log, warn: log, info: () => {}, debug: () => {}, verbose: () => {} },
  DiagLogLevel.WARN,
);

const exporters = { json: JsonExporter, protobuf: ProtobufExporter, grpc: GrpcExporter };
const Exporter = exporters[process.argv[2]];
const exporter = new Exporter();

let told = [];
let held = [];
const telling = {
  export: (metrics, done) => {
    held.push(...rowsOf(metrics));
    exporter.export(metrics, (result) => {
      told.push(result.code);
      done(result);
    });
  },
  selectAggregation: (type) => exporter.selectAggregation(type),
  selectAggregationTemporality: (type) => exporter.selectAggregationTemporality(type),
  forceFlush: () => exporter.forceFlush(),
  shutdown: () => exporter.shutdown(),
};
const provider = new MeterProvider({
  resource: resourceFromAttributes(
    { 'service.name': 'javascript', 'net.host.ip': '10.1.2.3', 'process.pid': 4711 },
    { schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' },
  ),
  views: [
    {
      instrumentName: 'exponential.double',
      aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM, options: { maxSize: 40 } },
    },
    {
      instrumentName: 'histogram.double',
      attributesProcessors: [createDenyListAttributesProcessor(['filtered'])],
    },
    {
      instrumentName: 'histogram.int',
      aggregation: {
        type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM,
        options: { boundaries: [0, 5, 2.5e3], recordMinMax: false },
      },
    },
  ],
  readers: [
    new PeriodicExportingMetricReader({
      exporter: telling,
      exportIntervalMillis: 600_000,
      exportTimeoutMillis: 120_000,
    }),
  ],
});
const meter = provider.getMeter('io.example.javascript', '1.2.3', {
  schemaUrl: 'https://opentelemetry.io/schemas/1.31.0',
});

const attributesOf = (number, more) => ({
  number,
  text: `a "b" \\ ${number}`,
  double: number + 0.25,
  large: Number.MAX_SAFE_INTEGER - number,
  negative: -number - 1,
  bool: number % 2 === 0,
  empty: '',
  control: 'tab\tline\nnul\0end',
  unicode: 'é値😀\u200d\u2028',
  texts: ['a', 'é', ''],
  numbers: [number, 0.5, Number.MIN_SAFE_INTEGER],
  bools: [true, false],
  'nothing in it': [],
  ...(number % 50 === 0 ? { long: 'é'.repeat(30_000) } : {}),
  ...Object.fromEntries(Array.from({ length: more }, (_, index) => [`more ${index}`, index])),
});

const int = { valueType: ValueType.INT };
const gauges = [];
const counters = [];
const counterInt = meter.createCounter('counter.int', { ...int, unit: '{order}', description: 'orders "é"' });
const counterDouble = meter.createCounter('counter.double', { unit: 's' });
const upDownInt = meter.createUpDownCounter('up_down.int', { ...int, description: 'in the queue' });
const upDownDouble = meter.createUpDownCounter('up_down.double');
const gaugeInt = meter.createGauge('gauge.int', { ...int, unit: 'Cel' });
const histogramDouble = meter.createHistogram('histogram.double', { unit: 'ms' });
const histogramInt = meter.createHistogram('histogram.int', int);
const exponential = meter.createHistogram('exponential.double', { unit: 'By' });
meter.createObservableGauge('observable_gauge.double').addCallback((result) => {
  for (const [number, attributes] of gauges) result.observe(number - 0.125, attributes);
});
meter.createObservableCounter('observable_counter.int', int).addCallback((result) => {
  for (const [number, attributes] of counters) result.observe(2 ** 50 + number, attributes);
});

/** One for each kind of number. */
const measures = [
  (number, attributes) => {
    counterInt.add(number, attributes);
    counterInt.add(2 ** 50, attributes);
  },
  (number, attributes) => counterDouble.add(number + 0.1, attributes),
  (number, attributes) => upDownInt.add(-(2 ** 50) - number, attributes),
  (number, attributes) => upDownDouble.add(-number - 0.5, attributes),
  (number, attributes) => gauges.push([number, attributes]),
  (number, attributes) => gaugeInt.record(-number, attributes),
  (number, attributes) => {
    for (const value of [number, 0.5, 3, 7e5])
      histogramDouble.record(value, { ...attributes, filtered: 'é' });
  },
  (number, attributes) => {
    histogramInt.record(number, attributes);
    histogramInt.record(3, attributes);
  },
  (number, attributes) => {
    for (const value of [number + 1, 0, 1000.5]) exponential.record(value, attributes);
  },
  (number, attributes) => counters.push([number, attributes]),
];

const nanosOf = ([seconds, nanos]) => String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
const shown = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
const shownAll = (attributes = {}) =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, shown(value)]));

const numberOf = (value, { valueType }) => ({
  // The SDK does not export exemplars.
  Value: value,
  ValueInt: valueType === ValueType.INT ? String(value) : null,
  HasValue: true,
});

const extremesOf = ({ count, sum, min, max }) => ({
  Count: String(count),
  Sum: sum ?? 0,
  HasSum: sum !== undefined,
  Min: min ?? 0,
  HasMin: min !== undefined,
  Max: max ?? 0,
  HasMax: max !== undefined,
});

const ownColumnsOf = {
  [DataPointType.GAUGE]: ({ descriptor }, value) => ({ Table: 'gauge', ...numberOf(value, descriptor) }),
  [DataPointType.SUM]: ({ descriptor, isMonotonic }, value) => ({
    Table: 'sum',
    IsMonotonic: isMonotonic,
    ...numberOf(value, descriptor),
  }),
  [DataPointType.HISTOGRAM]: (_, value) => ({
    Table: 'histogram',
    BucketCounts: value.buckets.counts.map(String),
    ExplicitBounds: value.buckets.boundaries,
    ...extremesOf(value),
  }),
  [DataPointType.EXPONENTIAL_HISTOGRAM]: (_, value) => ({
    Table: 'exponential_histogram',
    Scale: value.scale,
    ZeroCount: String(value.zeroCount),
    ZeroThreshold: 0,
    PositiveOffset: value.positive.offset,
    PositiveBucketCounts: value.positive.bucketCounts.map(String),
    NegativeOffset: value.negative.offset,
    NegativeBucketCounts: value.negative.bucketCounts.map(String),
    ...extremesOf(value),
  }),
};

const noExemplars = Object.fromEntries(
  ['FilteredAttributes', 'TimeUnix', 'Value', 'ValueInt', 'SpanId', 'TraceId'].map((name) => [
    `Exemplars.${name}`,
    [],
  ]),
);

const temporalityOf = ({ aggregationTemporality, dataPointType }) =>
  dataPointType === DataPointType.GAUGE
    ? {}
    : { AggregationTemporality: aggregationTemporality === AggregationTemporality.DELTA ? 1 : 2 };

function rowsOf({ resource, scopeMetrics }) {
  return scopeMetrics.flatMap(({ scope, metrics }) =>
    metrics.flatMap((metric) =>
      metric.dataPoints.map(({ attributes, startTime, endTime, value }) => ({
        ResourceAttributes: shownAll(resource.attributes),
        ResourceSchemaUrl: resource.schemaUrl ?? '',
        ScopeName: scope.name,
        ScopeVersion: scope.version ?? '',
        ScopeAttributes: {},
        ScopeDroppedAttrCount: 0,
        ScopeSchemaUrl: scope.schemaUrl ?? '',
        ServiceName: 'javascript',
        MetricName: metric.descriptor.name,
        MetricDescription: metric.descriptor.description,
        MetricUnit: metric.descriptor.unit,
        MetricMetadata: {},
        Attributes: shownAll(attributes),
        StartTimeUnix: nanosOf(startTime),
        TimeUnix: nanosOf(endTime),
        Flags: 0,
        ...temporalityOf(metric),
        ...ownColumnsOf[metric.dataPointType](metric, value),
        ...noExemplars,
      })),
    ),
  );
}

for await (const line of createInterface({ input: process.stdin })) {
  const { first, count, attributes = 0 } = JSON.parse(line);
  told = [];
  held = [];
  for (let number = first; number < first + count; number++)
    measures[number % 10](number, attributesOf(number, number === first ? attributes : 0));
  await provider.forceFlush().catch(log);
  const ok = told.length > 0 && told.every((code) => code === 0);
  process.stdout.write(`${JSON.stringify({ ok, rows: held })}\n`);
}

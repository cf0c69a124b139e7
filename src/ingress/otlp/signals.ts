import type { ApplicationPipeline } from '../../model/signals.ts';
import { jsonMetrics } from '../../rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../rules/data-points/protobuf-metrics.ts';
import { jsonLogs } from '../../rules/logs/json-logs.ts';
import { protobufLogs } from '../../rules/logs/protobuf-logs.ts';
import { jsonTraces } from '../../rules/spans/json-traces.ts';
import { protobufTraces } from '../../rules/spans/protobuf-traces.ts';
import type { ItemsReader } from '../../wire/otlp/types.ts';
import type { RefusalReason } from '../refused.ts';

/** What differs between the signals of OTLP on their way through the receivers: everything else is written once. */
export type OtlpSignal = {
  readonly pipeline: ApplicationPipeline;
  /** The path over HTTP. */
  readonly path: string;
  /** The same over gRPC: `/<service>/Export`. */
  readonly exportPath: string;
  readonly readers: { readonly json: ItemsReader; readonly protobuf: ItemsReader };
  /** Before the credential in the identity of a request: equal bytes of two signals are two requests. */
  readonly identityPrefix: string;
  /** The refusal of a request with too many items. */
  readonly tooManyItems: RefusalReason;
  /** The field of `partial_success` in JSON; its number is 1 in every signal. */
  readonly rejectedField: string;
  /** An item in messages; the plural adds an s. */
  readonly item: string;
  /** Names of an enum that were unknown and stored as unset: one, and several. */
  readonly unknownEnum: readonly [one: string, many: string];
  /** The member of a request that holds the items. */
  readonly listKey: string;
  /** What a body that is a list probably is. */
  readonly listHint: string;
  /** What a key of a request without items probably means, by the key in lowerCamelCase. */
  readonly keyHints: Readonly<Record<string, string>>;
};

const spansPlace = 'OTLP expects spans in resourceSpans[].scopeSpans[].spans[]';

const traces = {
  pipeline: 'traces',
  path: '/v1/traces',
  exportPath: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  readers: { json: jsonTraces, protobuf: protobufTraces },
  identityPrefix: 'otlp',
  tooManyItems: 'too_many_spans',
  rejectedField: 'rejectedSpans',
  item: 'span',
  unknownEnum: ['unknown kind or status code', 'unknown kinds or status codes'],
  listKey: 'resourceSpans',
  listHint: 'it looks like a Zipkin list of spans: send one OTLP object with resourceSpans',
  keyHints: {
    resourceMetrics: 'this path accepts only traces, not metrics: send them to /v1/metrics',
    resourceLogs: 'this path accepts only traces, not logs: send them to /v1/logs',
    batches: 'the name in Tempo; OTLP has resourceSpans',
    data: 'it looks like the JSON of a Jaeger query, not OTLP',
    spans: spansPlace,
    scopeSpans: spansPlace,
    resource: spansPlace,
    'resourceSpans[].spans': spansPlace,
    'resourceSpans[].instrumentationLibrarySpans': 'OTLP before 1.0; send scopeSpans',
    'resourceSpans[].1000': 'instrumentation_library_spans of OTLP before 1.0; send scope_spans, field 2',
    'scopeSpans[].instrumentationLibrary': 'OTLP before 1.0; send scope',
  },
} as const satisfies OtlpSignal;

const recordsPlace = 'OTLP expects log records in resourceLogs[].scopeLogs[].logRecords[]';

const logs = {
  pipeline: 'logs',
  path: '/v1/logs',
  exportPath: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  readers: { json: jsonLogs, protobuf: protobufLogs },
  identityPrefix: 'otlp-logs',
  tooManyItems: 'too_many_records',
  rejectedField: 'rejectedLogRecords',
  item: 'log record',
  unknownEnum: ['unknown severity number', 'unknown severity numbers'],
  listKey: 'resourceLogs',
  listHint: 'it looks like a list of log records: send one OTLP object with resourceLogs',
  keyHints: {
    resourceMetrics: 'this path accepts only logs, not metrics: send them to /v1/metrics',
    resourceSpans: 'this path accepts only logs, not traces: send them to /v1/traces',
    streams: 'it looks like the JSON of a Loki push, not OTLP',
    logs: recordsPlace,
    logRecords: recordsPlace,
    scopeLogs: recordsPlace,
    resource: recordsPlace,
    'resourceLogs[].logRecords': recordsPlace,
    'resourceLogs[].logs': recordsPlace,
    'resourceLogs[].instrumentationLibraryLogs': 'OTLP before 1.0; send scopeLogs',
    'resourceLogs[].1000': 'instrumentation_library_logs of OTLP before 1.0; send scope_logs, field 2',
    'scopeLogs[].instrumentationLibrary': 'OTLP before 1.0; send scope',
    'scopeLogs[].logs': 'OTLP before 0.20; send logRecords',
  },
} as const satisfies OtlpSignal;

const metricsPlace = 'OTLP expects metrics in resourceMetrics[].scopeMetrics[].metrics[]';
const oldKind = (kind: string) => `OTLP before 0.9; send ${kind}`;
const pointsPlace = 'OTLP expects data points in the gauge, sum or histogram of a metric, as dataPoints[]';

const metrics = {
  pipeline: 'otel_metrics',
  path: '/v1/metrics',
  exportPath: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  readers: { json: jsonMetrics, protobuf: protobufMetrics },
  identityPrefix: 'otlp-metrics',
  tooManyItems: 'too_many_data_points',
  rejectedField: 'rejectedDataPoints',
  item: 'data point',
  unknownEnum: ['unknown aggregation temporality', 'unknown aggregation temporalities'],
  listKey: 'resourceMetrics',
  listHint: 'it looks like a list of metrics: send one OTLP object with resourceMetrics',
  keyHints: {
    resourceSpans: 'this path accepts only metrics, not traces: send them to /v1/traces',
    resourceLogs: 'this path accepts only metrics, not logs: send them to /v1/logs',
    timeseries:
      'it looks like Prometheus remote write, not OTLP: send it to an OpenTelemetry Collector, which sends OTLP',
    data_id: 'it looks like a request of the push API: send it to port 10205, path /v2/push/',
    dataId: 'it looks like a request of the push API: send it to port 10205, path /v2/push/',
    metrics: metricsPlace,
    scopeMetrics: metricsPlace,
    resource: metricsPlace,
    dataPoints: pointsPlace,
    'resourceMetrics[].metrics': metricsPlace,
    'resourceMetrics[].instrumentationLibraryMetrics': 'OTLP before 1.0; send scopeMetrics',
    'resourceMetrics[].1000':
      'instrumentation_library_metrics of OTLP before 1.0; send scope_metrics, field 2',
    'scopeMetrics[].instrumentationLibrary': 'OTLP before 1.0; send scope',
    'scopeMetrics[].dataPoints': pointsPlace,
    'metrics[].dataPoints': pointsPlace,
    'metrics[].intGauge': oldKind('gauge'),
    'metrics[].doubleGauge': oldKind('gauge'),
    'metrics[].intSum': oldKind('sum'),
    'metrics[].doubleSum': oldKind('sum'),
    'metrics[].intHistogram': oldKind('histogram'),
    'metrics[].doubleHistogram': oldKind('histogram'),
    'metrics[].doubleSummary': oldKind('summary'),
    'metrics[].4': `int_gauge of ${oldKind('gauge, field 5')}`,
    'metrics[].6': `int_sum of ${oldKind('sum, field 7')}`,
    'metrics[].8': `int_histogram of ${oldKind('histogram, field 9')}`,
  },
} as const satisfies OtlpSignal;

/** The signals by pipeline. */
export const otlpSignals = { traces, logs, otel_metrics: metrics } as const satisfies {
  readonly [P in ApplicationPipeline]?: OtlpSignal & { readonly pipeline: P };
};

export type OtlpPipeline = keyof typeof otlpSignals;

export const otlpPipelines = Object.values(otlpSignals).map(({ pipeline }) => pipeline);

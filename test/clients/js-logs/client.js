// Exports log records with the OpenTelemetry SDK and one of its exporters, set up by the SDK's own variables. Argument: json or
// protobuf (both over HTTP), or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line
// of whether the exporter told of a success and what the SDK held of the log records.

import { createInterface } from 'node:readline';
import { DiagLogLevel, diag, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPLogExporter as GrpcExporter } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';

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
  export: (records, done) => {
    held.push(...records);
    exporter.export(records, (result) => {
      told.push(result.code);
      done(result);
    });
  },
  forceFlush: () => exporter.forceFlush(),
  shutdown: () => exporter.shutdown(),
};
const provider = new LoggerProvider({
  resource: resourceFromAttributes(
    { 'service.name': 'javascript', 'net.host.ip': '10.1.2.3', 'process.pid': 4711 },
    { schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' },
  ),
  logRecordLimits: { attributeCountLimit: 1000 },
  processors: [
    new BatchLogRecordProcessor({
      exporter: telling,
      maxQueueSize: 8192,
      scheduledDelayMillis: 600_000,
      exportTimeoutMillis: 120_000,
    }),
  ],
});
const logger = provider.getLogger('io.example.javascript', '1.2.3', {
  schemaUrl: 'https://opentelemetry.io/schemas/1.31.0',
  attributes: { of: 'the scope', number: 1 },
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
  nested: [[1, 2], ['a', [true]], { k: [1.5, { deep: 'é' }] }],
  map: { a: 1, b: { c: ['d'] } },
  bytes: new Uint8Array([0, 255, number % 256]),
  ...Object.fromEntries(Array.from({ length: more }, (_, index) => [`more ${index}`, index])),
});

/** A body of each kind in turn; the last kind is none. */
const bodyOf = (number) =>
  [
    `a "b" \\ ${number}\tline\nnul\0é値😀\u200d\u2028`,
    -number,
    number + 0.25,
    number % 2 === 0,
    new Uint8Array([0, 255, number % 256]),
    [number, ['é']],
    { a: number, b: { deep: true } },
    'é'.repeat(100 * number),
    undefined,
  ][number % 9];

const idOf = (number, length) => number.toString(16).padStart(length, '0');

/** The span that a log record belongs to; every third has none. */
const contextOf = (number) =>
  number % 3 === 0
    ? ROOT_CONTEXT
    : trace.setSpanContext(ROOT_CONTEXT, {
        traceId: idOf(Math.floor(number / 5) + 1, 32),
        spanId: idOf(2 ** 40 + number, 16),
        traceFlags: number % 2,
      });

const make = (number, more) => {
  const at = Date.now() - number;
  logger.emit({
    // For the rest the SDK takes the present time.
    ...(number % 7 === 6 ? {} : { timestamp: [Math.floor(at / 1000), (at % 1000) * 1_000_000 + 789] }),
    severityNumber: number % 25,
    ...(number % 5 === 0 ? {} : { severityText: `level ${number % 25} é` }),
    ...(number % 4 === 0 ? { eventName: 'order.placed' } : {}),
    body: bodyOf(number),
    attributes: attributesOf(number, more),
    context: contextOf(number),
  });
};

const nanosOf = ([seconds, nanos]) => String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
const plain = (value) => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
};
const shown = (value) => {
  const text = plain(value ?? '');
  return typeof text === 'object' ? JSON.stringify(text) : String(text);
};
const shownAll = (attributes = {}) =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, shown(value)]));

const rowOf = (record) => {
  const { resource, instrumentationScope: scope, spanContext } = record;
  return {
    Timestamp: nanosOf(record.hrTime),
    ObservedTimestamp: nanosOf(record.hrTimeObserved),
    TraceId: spanContext?.traceId ?? '',
    SpanId: spanContext?.spanId ?? '',
    TraceFlags: spanContext?.traceFlags ?? 0,
    SeverityText: record.severityText ?? '',
    SeverityNumber: record.severityNumber ?? 0,
    ServiceName: 'javascript',
    Body: shown(record.body),
    ResourceSchemaUrl: resource.schemaUrl,
    ResourceAttributes: shownAll(resource.attributes),
    ScopeSchemaUrl: scope.schemaUrl,
    ScopeName: scope.name,
    ScopeVersion: scope.version,
    ScopeAttributes: shownAll(scope.attributes),
    LogAttributes: shownAll(record.attributes),
    EventName: record.eventName ?? '',
  };
};

for await (const line of createInterface({ input: process.stdin })) {
  const { first, count, attributes = 0 } = JSON.parse(line);
  told = [];
  held = [];
  for (let offset = 0; offset < count; offset++) make(first + offset, offset === 0 ? attributes : 0);
  await provider.forceFlush().catch(log);
  const ok = told.length > 0 && told.every((code) => code === 0);
  process.stdout.write(`${JSON.stringify({ ok, rows: held.map(rowOf) })}\n`);
}

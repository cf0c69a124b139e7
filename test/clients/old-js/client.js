// Exports spans with an OpenTelemetry SDK of 2023, which writes times as JSON numbers, set up by the SDK's own variables. Reads
// batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line of whether the exporter told of a
// success and what the SDK held of the spans.

import { createInterface } from 'node:readline';
import {
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

const log = (...parts) => process.stderr.write(`${parts.map(String).join(' ')}\n`);
diag.setLogger({ error: log, warn: log, info: log, debug: () => {}, verbose: () => {} }, DiagLogLevel.INFO);

const kinds = [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER];
const exporter = new OTLPTraceExporter();
const held = new InMemorySpanExporter();
const provider = new BasicTracerProvider({
  resource: new Resource({
    'service.name': 'old-javascript',
    'net.host.ip': '10.1.2.3',
    'process.pid': 4711,
  }),
});

let told = [];
const telling = {
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      told.push(result.code);
      done(result);
    }),
  shutdown: () => exporter.shutdown(),
};
provider.addSpanProcessor(
  new BatchSpanProcessor(telling, { maxQueueSize: 8192, scheduledDelayMillis: 600_000 }),
);
provider.addSpanProcessor(new SimpleSpanProcessor(held));
const tracer = provider.getTracer('io.example.old-javascript', '1.2.3');

let earlier;
const make = (number, more) => {
  const isRoot = earlier === undefined || number % 5 === 0;
  const context = isRoot ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, earlier);
  const links = [];
  if (earlier !== undefined && number % 7 === 0) {
    const traceState = createTraceState(`vendor=v${number},other=1`);
    links.push({ context: earlier.spanContext(), attributes: { why: 'batch' } });
    links.push({ context: { ...earlier.spanContext(), traceState } });
  }
  const options = { kind: kinds[number % 5], links };
  const span = tracer.startSpan(`operation ${number % 13} é値😀`, options, context);
  span.setAttributes({
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
  });
  for (let index = 0; index < more; index++) span.setAttribute(`more ${index}`, index);
  for (let index = 0; index < number % 3; index++)
    span.addEvent(`event ${index}`, { index, texts: ['é', ''] });
  if (number % 11 === 0) span.recordException(new Error(`no ${number}`));
  if (number % 3 === 1) span.setStatus({ code: SpanStatusCode.OK });
  if (number % 3 === 2) span.setStatus({ code: SpanStatusCode.ERROR, message: `failed ${number}` });
  span.end();
  earlier = span;
};

/** As the exporter writes them: the decimal digits of a double, which are not those of the SDK's own time. */
const nanosOf = ([seconds, nanos]) => BigInt(String(seconds * 1e9 + nanos));
const shown = (value) => (Array.isArray(value) ? JSON.stringify(value) : String(value));
const shownAll = (attributes = {}) =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, shown(value)]));

const rowOf = (span) => {
  const { traceId, spanId, traceState } = span.spanContext();
  const start = nanosOf(span.startTime);
  return {
    Timestamp: String(start),
    TraceId: traceId,
    SpanId: spanId,
    ParentSpanId: span.parentSpanId ?? '',
    TraceState: traceState?.serialize() ?? '',
    SpanName: span.name,
    SpanKind: ['Internal', 'Server', 'Client', 'Producer', 'Consumer'][span.kind],
    ServiceName: 'old-javascript',
    ResourceAttributes: shownAll(span.resource.attributes),
    ScopeName: span.instrumentationLibrary.name,
    ScopeVersion: span.instrumentationLibrary.version,
    SpanAttributes: shownAll(span.attributes),
    Duration: String(nanosOf(span.endTime) - start),
    StatusCode: ['Unset', 'Ok', 'Error'][span.status.code],
    StatusMessage: span.status.message ?? '',
    'Events.Timestamp': span.events.map(({ time }) => String(nanosOf(time))),
    'Events.Name': span.events.map(({ name }) => name),
    'Events.Attributes': span.events.map(({ attributes }) => shownAll(attributes)),
    'Links.TraceId': span.links.map(({ context }) => context.traceId),
    'Links.SpanId': span.links.map(({ context }) => context.spanId),
    'Links.TraceState': span.links.map(({ context }) => context.traceState?.serialize() ?? ''),
    'Links.Attributes': span.links.map(({ attributes }) => shownAll(attributes)),
  };
};

for await (const line of createInterface({ input: process.stdin })) {
  const { first, count, attributes = 0 } = JSON.parse(line);
  told = [];
  for (let offset = 0; offset < count; offset++) make(first + offset, offset === 0 ? attributes : 0);
  await provider.forceFlush().catch(log);
  const rows = held.getFinishedSpans().map(rowOf);
  held.reset();
  const ok = told.length > 0 && told.every((code) => code === 0);
  process.stdout.write(`${JSON.stringify({ ok, rows })}\n`);
}

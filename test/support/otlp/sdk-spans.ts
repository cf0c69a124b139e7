import {
  type Attributes,
  type AttributeValue,
  createTraceState,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createRandom } from '../../../bench/bodies.ts';

const kinds = [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER];

const hexOf = (random: () => number, characters: number): string =>
  Array.from({ length: characters }, () => Math.floor(random() * 16).toString(16)).join('');

/** An SDK of a test's own. */
export type Sdk = {
  readonly provider: TracerProvider;
  /** The spans since the last call. */
  takeHeld(): ReadableSpan[];
  /** Makes the spans with these numbers, the first of them with this many more attributes. */
  make(first: number, count: number, attributes?: number): void;
};

/** Every type that a value of an attribute can have, and the values that are easily damaged. */
const attributesOf = (number: number, random: () => number): Attributes => ({
  number,
  text: `a "b" \\ ${random()}`,
  double: random(),
  large: Number.MAX_SAFE_INTEGER - number,
  negative: -number - 1,
  bool: number % 2 === 0,
  empty: '',
  control: 'tab\tline\nnul\0end',
  unicode: 'é值😀\u200d\u2028',
  texts: ['a', 'é', ''],
  numbers: [number, 0.5, Number.MIN_SAFE_INTEGER],
  bools: [true, false],
  'nothing in it': [],
  nested: [[1, 2], ['a', [true]], { k: [1.5, { deep: 'é' }] }],
  map: { a: 1, b: { c: ['d'] } },
  bytes: new Uint8Array([0, 255, number % 256]),
  ...(number % 50 === 0 ? { long: 'é'.repeat(30_000) } : {}),
});

/** An SDK whose batches of spans go to this exporter, as soon as it is flushed. */
export const createSdk = (exporter: SpanExporter, spansMax: number, seed: number): Sdk => {
  const random = createRandom(seed);
  const held = new InMemorySpanExporter();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'javascript',
      'net.host.ip': '10.1.2.3',
      'process.pid': 4711,
    }),
    spanLimits: { attributeCountLimit: 1000 },
    idGenerator: {
      generateTraceId: () => hexOf(random, 32),
      generateSpanId: () => hexOf(random, 16),
    },
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: 2 * spansMax, scheduledDelayMillis: 600_000 }),
      new SimpleSpanProcessor({ exporter: held }),
    ],
  });
  const tracer = provider.getTracer('io.example.javascript', '1.2.3');
  let earlier: Span | undefined;
  const makeOne = (number: number, more: number): void => {
    const isRoot = earlier === undefined || number % 5 === 0;
    const context = isRoot || earlier === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, earlier);
    const options = { kind: kinds[number % 5] ?? SpanKind.INTERNAL };
    const span = tracer.startSpan(`operation ${number % 13} é値😀`, options, context);
    if (earlier !== undefined && number % 7 === 0) {
      span.addLink({ context: earlier.spanContext(), attributes: { why: 'batch' } });
      const traceState = createTraceState(`vendor=v${number},other=1`);
      span.addLink({ context: { ...earlier.spanContext(), traceState } });
    }
    span.setAttributes(attributesOf(number, random));
    for (let index = 0; index < more; index++) span.setAttribute(`more ${index}`, index);
    for (let index = 0; index < number % 3; index++)
      span.addEvent(`event ${index}`, { index, texts: ['é', ''] });
    if (number % 11 === 0) span.recordException(new Error(`no ${number}`));
    if (number % 3 === 1) span.setStatus({ code: SpanStatusCode.OK });
    if (number % 3 === 2) span.setStatus({ code: SpanStatusCode.ERROR, message: `failed ${number}` });
    span.end();
    earlier = span;
  };
  return {
    provider,
    takeHeld: () => {
      const spans = [...held.getFinishedSpans()];
      held.reset();
      return spans;
    },
    make: (first, count, attributes = 0) => {
      for (let offset = 0; offset < count; offset++) makeOne(first + offset, offset === 0 ? attributes : 0);
    },
  };
};

/** Makes this many spans with the SDK, exports them and returns the SDK's own values of them. */
export const exportWithSdk = async (
  exporter: SpanExporter,
  count: number,
  seed: number,
): Promise<ReadableSpan[]> => {
  const sdk = createSdk(exporter, count, seed);
  sdk.make(0, count);
  await sdk.provider.forceFlush({ timeoutMillis: 60_000 });
  const spans = sdk.takeHeld();
  await sdk.provider.shutdown();
  return spans;
};

const nanosOf = ([seconds, nanos]: HrTime): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);

const nested = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;

/** What is nested as compact JSON, bytes as base64, anything else as text. */
const shown = (value: AttributeValue | undefined): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'object' ? JSON.stringify(value, nested) : String(value);
};

const shownAll = (attributes: Attributes = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, shown(value)]));

/** The row that a span of the SDK is to become, but for the ids of its application. */
export const rowOfSdk = (span: ReadableSpan): Record<string, unknown> => {
  const { traceId, spanId, traceState } = span.spanContext();
  const start = nanosOf(span.startTime);
  return {
    Timestamp: String(start),
    TraceId: traceId,
    SpanId: spanId,
    ParentSpanId: span.parentSpanContext?.spanId ?? '',
    TraceState: traceState?.serialize() ?? '',
    SpanName: span.name,
    SpanKind: ['Internal', 'Server', 'Client', 'Producer', 'Consumer'][span.kind],
    ServiceName: 'javascript',
    ResourceAttributes: shownAll(span.resource.attributes),
    ScopeName: span.instrumentationScope.name,
    ScopeVersion: span.instrumentationScope.version ?? '',
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

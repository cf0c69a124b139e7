import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Log } from './log.ts';
import { programVersion } from './program-version.ts';
import { ownSpansMark, type SpanStart, type TraceSpan, type Tracing } from './tracing.ts';

export type TracingOptions = {
  readonly role: string;
  /** The address of an OTLP/HTTP receiver, with its path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Share of the traces that begin here, 0 to 1. */
  readonly sampleRatio: number;
  readonly log: Log;
};

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

/** Spans that wait for their export; further ones are lost, so that an unavailable backend costs no memory. */
const queueMax = 4_096;
const exportTimeoutMs = 5_000;
const flushTimeoutMs = 2_000;

/** Logs when the receiver stops accepting spans, and when it accepts them again. */
const toldOfFailures = (exporter: SpanExporter, log: Log): SpanExporter => {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code === ExportResultCode.FAILED;
        if (hasFailed && !isFailing)
          log.warn(
            { error: result.error?.message },
            'the OTLP endpoint does not accept spans of this process; some are lost',
          );
        if (!hasFailed && isFailing) log.info({}, 'the OTLP endpoint accepts spans of this process again');
        isFailing = hasFailed;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
};

/** Spans by OpenTelemetry, sent in batches over OTLP. Nothing is registered globally. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one wrapper around the SDK, method by method.
export const createTracing = ({ role, url, headers, sampleRatio, log }: TracingOptions): Tracing => {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: exportTimeoutMs });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `tidemark-${role}`,
      'service.version': programVersion(),
      'process.pid': process.pid,
      [ownSpansMark]: true,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: toldOfFailures(exporter, log), maxQueueSize: queueMax }),
    ],
  });
  const tracer = provider.getTracer('tidemark', programVersion());
  const storage = new AsyncLocalStorage<TraceSpan>();
  const spans = new WeakMap<TraceSpan, Span>();

  const contextOf = (parent: TraceSpan | string | undefined): Context => {
    if (typeof parent === 'string') {
      const remote = parseTraceParent(parent);
      return remote === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
    }
    const span = parent === undefined ? undefined : spans.get(parent);
    return span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span);
  };

  const linkTo = (other: TraceSpan) => {
    const span = spans.get(other);
    return span === undefined ? [] : [{ context: span.spanContext() }];
  };

  const shown = (span: Span): TraceSpan => {
    const { traceId, spanId } = span.spanContext();
    const result: TraceSpan = {
      traceId,
      traceparent: `00-${traceId}-${spanId}-01`,
      set: (attributes) => {
        span.setAttributes(attributes);
      },
      link: (other) => {
        span.addLinks(linkTo(other));
      },
      end: (failure) => {
        if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
        span.end();
      },
    };
    spans.set(result, span);
    return result;
  };

  const start = (name: string, { kind, parent, links = [], startedAtMs, attributes = {} }: SpanStart) => {
    const span = tracer.startSpan(
      name,
      {
        kind: kinds[kind],
        attributes,
        links: links.flatMap(linkTo),
        ...(startedAtMs === undefined ? {} : { startTime: startedAtMs }),
      },
      contextOf(parent),
    );
    const isSampled = (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
    return isSampled ? shown(span) : undefined;
  };

  const flush = (): Promise<void> =>
    provider.forceFlush({ timeoutMillis: flushTimeoutMs }).catch(() => undefined);

  return {
    start,
    within: (span, work) => storage.run(span, work),
    current: () => storage.getStore(),
    flush,
    stop: async () => {
      await flush();
      // The SDK's own wait for open exports has no bound.
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, flushTimeoutMs).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), timeout]);
    },
  };
};

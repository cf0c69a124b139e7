import type { Incoming } from '../http/incoming.ts';
import type { Pipeline } from '../model/signals.ts';
import { ownSpansMark, type TraceAttributes, type TraceSpan, type Tracing } from '../telemetry/tracing.ts';

type Reply = { readonly status: number; readonly headers: Readonly<Record<string, string>> };

/** Spans of requests and of their messages. They exist only where tracing is on. */
export type RequestTraces = {
  /**
   * The same handler with each sampled request in a span, which continues the trace of a `traceparent`; the answer names the trace
   * in `traceresponse`. A request is traced only after `sawBody` has received its body.
   */
  around<Q extends Incoming, R extends Reply>(
    route: string,
    handle: (request: Q) => Promise<R>,
  ): (request: Q) => Promise<R>;
  /** Call it with the inflated body of the current request. A request that brings spans of this program is not traced. */
  sawBody(body: Buffer): void;
  /** Call it with the owner of the current request and its number of kept items. */
  sawItems(attributes: TraceAttributes): void;
  /** The span of the current request. */
  current(): TraceSpan | undefined;
  /** The span of a message that these requests share: in the trace of the first one, with links to the others. */
  publish(
    pipeline: Pipeline,
    requests: readonly (TraceSpan | undefined)[],
    bytes: number,
  ): TraceSpan | undefined;
};

/** Requests of one message that are linked; further ones are not. */
const linksMax = 100;

const headerOf = ({ headers }: Incoming): string | undefined => {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
};

export const createRequestTraces = (tracing: Tracing): RequestTraces => {
  /** Current requests whose body was read and has no span of this process. */
  const traced = new WeakSet<TraceSpan>();

  const current = (): TraceSpan | undefined => {
    const span = tracing.current();
    return span !== undefined && traced.has(span) ? span : undefined;
  };

  return {
    around: (route, handle) => async (request) => {
      const span = tracing.start(`POST ${route}`, {
        kind: 'server',
        parent: headerOf(request),
        attributes: { 'http.request.method': 'POST', 'http.route': route },
      });
      if (span === undefined) return handle(request);
      const reply = await tracing
        .within(span, () => handle(request))
        .catch((error: unknown) => {
          if (traced.has(span)) span.end('an internal error');
          throw error;
        });
      if (!traced.has(span)) return reply;
      const { status } = reply;
      span.set({ 'http.response.status_code': status });
      span.end(status >= 500 ? `status ${status}` : undefined);
      return { ...reply, headers: { ...reply.headers, traceresponse: span.traceparent } };
    },
    sawBody: (body) => {
      const span = tracing.current();
      if (span === undefined || body.includes(ownSpansMark)) return;
      traced.add(span);
      span.set({ 'http.request.body.size': body.length });
    },
    sawItems: (attributes) => current()?.set(attributes),
    current,
    publish: (pipeline, requests, bytes) => {
      const spans = requests.filter((span) => span !== undefined).slice(0, linksMax);
      const [first, ...others] = spans;
      if (first === undefined) return undefined;
      const span = tracing.start(`publish ${pipeline}`, {
        kind: 'producer',
        parent: first,
        links: others,
        attributes: {
          'messaging.system': 'nats',
          'messaging.message.body.size': bytes,
          'tidemark.pipeline': pipeline,
        },
      });
      if (span !== undefined) for (const other of others) other.link(span);
      return span;
    },
  };
};

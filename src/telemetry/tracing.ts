/**
 * A resource attribute of every span of the program itself. A request with it in its body is not traced: the export would cause new
 * spans without end.
 */
export const ownSpansMark = 'tidemark.own_spans';

export type TraceAttributes = Readonly<Record<string, string | number | boolean>>;

/** A sampled span in progress. Attributes never hold tokens or any part of a body. */
export type TraceSpan = {
  readonly traceId: string;
  /** Its context, in the form of W3C Trace Context. */
  readonly traceparent: string;
  set(attributes: TraceAttributes): void;
  /** Points to a span of another trace that did work for this one. */
  link(other: TraceSpan): void;
  /** Ends the span, which is exported then; a span without an end is lost. `failure`: why its work failed. */
  end(failure?: string): void;
};

export type SpanStart = {
  readonly kind: 'server' | 'producer' | 'consumer' | 'client' | 'internal';
  /** A span of this process, or a received `traceparent`; an invalid text begins a trace. */
  readonly parent?: TraceSpan | string | undefined;
  readonly links?: readonly TraceSpan[];
  /** Unix ms; default now. */
  readonly startedAtMs?: number;
  readonly attributes?: TraceAttributes;
};

/** Spans of the program's work on one request. */
export type Tracing = {
  /** Undefined where the trace is not sampled: by the flag of its parent, or by the ratio for one without a parent. */
  start(name: string, start: SpanStart): TraceSpan | undefined;
  /** Runs work for which `current` returns this span, also after its awaits. */
  within<T>(span: TraceSpan, work: () => T): T;
  current(): TraceSpan | undefined;
  /** Exports finished spans; gives up after a short timeout. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

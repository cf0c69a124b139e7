/** A resource attribute of every span of the program itself. A request whose body holds it is not traced: it would never end. */
export const ownSpansMark = 'tidemark.own_spans';

export type TraceAttributes = Readonly<Record<string, string | number | boolean>>;

/** A sampled span that is being recorded. Attributes never hold tokens or anything out of a body. */
export type TraceSpan = {
  readonly traceId: string;
  /** Where it stands, in the form of W3C Trace Context. */
  readonly traceparent: string;
  set(attributes: TraceAttributes): void;
  /** Points to a span of another trace that did work for this one. */
  link(other: TraceSpan): void;
  /** It is exported once it has ended; one that never ends is forgotten. `failure`: why its work failed. */
  end(failure?: string): void;
};

export type SpanStart = {
  readonly kind: 'server' | 'producer' | 'consumer' | 'client' | 'internal';
  /** A span of this process, or what came as `traceparent`; text that is none begins a trace. */
  readonly parent?: TraceSpan | string | undefined;
  readonly links?: readonly TraceSpan[];
  /** Unix ms; default now. */
  readonly startedAtMs?: number;
  readonly attributes?: TraceAttributes;
};

/** Spans of what the program does with one request. */
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

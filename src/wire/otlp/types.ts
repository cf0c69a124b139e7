import type { SpanReason, TimeReason } from '../../model/reasons.ts';
import type { SpanTimePolicy } from '../../model/span-time.ts';
import type { UidBase } from '../../model/uid.ts';
import type { TokenKeys } from './token-keys.ts';

/** The application a credential stands for. */
export type SpanOwner = {
  readonly appId: number;
  readonly bizId: number;
  /** Whether a missing or placeholder `net.host.ip` is filled with the client's address (architecture 4.8). */
  readonly fillDimensions: boolean;
  /** It travels with deferred spans, so that transfer judges them alike. */
  readonly policy: SpanTimePolicy;
  /** What its spans are held to; the request's limits when it has none of its own. */
  readonly limits?: TraceLimits;
};

/** What one request, span and value may hold. */
export type TraceLimits = {
  readonly spansMax: number;
  readonly attributesMax: number;
  readonly eventsMax: number;
  readonly linksMax: number;
  /** UTF-8 bytes of one value; a longer one is cut and counted. */
  readonly valueBytesMax: number;
};

/** Where neither the pipeline file nor a policy says otherwise (architecture 11.1). */
export const defaultTraceLimits: TraceLimits = {
  spansMax: 50_000,
  attributesMax: 128,
  eventsMax: 128,
  linksMax: 128,
  valueBytesMax: 65_536,
};

export type TracesContext = {
  /**
   * Whose spans these are: by the write token of their ResourceSpans, or by the request's credential when it has none.
   * Asked once for each different token of a request, in no promised order.
   */
  readonly resolve: (token: string | undefined) => SpanOwner | 'invalid' | 'disabled';
  /** The client's address, for `net.host.ip`. */
  readonly clientIp: string;
  readonly base: UidBase;
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** `spansMax` is of the request; of the others no owner has wider ones. */
  readonly limits: TraceLimits;
  /** Attributes that hold write tokens; `mon.data.token` by default. */
  readonly tokenKeys?: TokenKeys;
  /** Asked of each span that is rejected or deferred: whether to show it among the samples. `appId` is 0 for nobody's. */
  readonly wantsSample?: (appId: number, reason: SpanReason | TimeReason) => boolean;
};

/** Values of one application that were left out of its accepted spans, or cut. */
export type LostValues = {
  readonly appId: number;
  cutValues: number;
  eventsDropped: number;
  linksDropped: number;
};

/** Rows of one application that start on one day: a block of FORMAT Native. Times are nanoseconds in decimal. */
export type TracePart = {
  readonly appId: number;
  readonly bizId: number;
  /** Days from 1970-01-01 to the start of the spans (UTC). */
  readonly day: number;
  readonly rows: number;
  readonly timeMin: string;
  readonly timeMax: string;
  readonly block: Uint8Array;
};

/**
 * Spans of one application whose time failed. Each text is a JSON object {resource, scope, span} in OTLP's form that stands for
 * itself: the resource without token and already filled, attribute values as the text the row would hold, times as sent
 * (a number as its decimal digits; what is longer than any time is cut).
 */
export type DeferredSpans = {
  readonly appId: number;
  readonly bizId: number;
  readonly policy: SpanTimePolicy;
  readonly ordinals: number[];
  readonly texts: string[];
};

/** Spans of one application that were rejected, by reason. */
export type RejectedSpans = {
  readonly appId: number;
  readonly bizId: number;
  readonly reasons: Map<SpanReason, number>;
};

/** What one message takes of a request: ordinals `first` to `last`, all of them accounted for. */
export type TraceRun = {
  readonly first: number;
  last: number;
  readonly parts: TracePart[];
  readonly deferred: DeferredSpans[];
  readonly dropped: RejectedSpans[];
};

/** A span that did not go the normal way, as the reply names it. */
export type SpanExample = {
  /** Its ordinal in the request. */
  readonly index: number;
  readonly reason: SpanReason | TimeReason;
  readonly field: string;
  readonly detail: string;
  /** The value of the field as it was sent, shortened; empty where none is shown. */
  readonly got: string;
};

/** What is wrong with a span, in words: the detail with the value that was sent. */
export const exampleText = ({ detail, got }: Pick<SpanExample, 'detail' | 'got'>): string =>
  [detail, got === '' ? '' : `got ${got}`].filter((text) => text !== '').join(', ');

/** A span that was rejected or deferred, as far as it is shown: few attributes, long texts cut, the resource without its token. */
export type SpanSample = SpanExample & {
  readonly appId: number;
  readonly item: object;
};

/** What an encoder forgave a sender; counted, so that operators see who is off the specification. */
export const leniencyKinds = [
  'snake_case',
  'enum_name',
  'enum_unknown',
  'number_64',
  'low_high',
  'int_out_of_range',
  'duplicate_key',
  'zero_parent_span_id',
  'invalid_utf8',
] as const;

export type Leniency = (typeof leniencyKinds)[number];

/** A request's spans after the rules: accepted + Σ rejected + Σ deferred = spans. */
export type EncodedTraces = {
  /** Empty when the request holds no span. */
  readonly runs: TraceRun[];
  /** What each different credential of the request stands for, in the order in which they appear in it. */
  readonly owners: (SpanOwner | 'invalid' | 'disabled')[];
  /** Spans as received. */
  spans: number;
  /** Spans that were encoded. */
  accepted: number;
  /** Never stored; those of a wrong or disabled token are in no run's `dropped`, for they belong to no application. */
  readonly rejected: Map<SpanReason, number>;
  /** Judged again, dropped and counted in transfer. */
  readonly deferred: Map<TimeReason, number>;
  /** The first 20 rejected or deferred. */
  readonly examples: SpanExample[];
  /** Those that were wanted. */
  readonly samples: SpanSample[];
  readonly leniencies: Map<Leniency, number>;
  /** By application, where there is any. */
  readonly lost: LostValues[];
  /** Values of accepted spans that were longer than the limit or nested too deep. */
  cutValues: number;
  /** Events of accepted spans that were left out for their time. */
  eventsDropped: number;
  /** Links of accepted spans that were left out for their ids. */
  linksDropped: number;
  /** Filled only when the request holds no span: keys that are not OTLP's (JSON) or field numbers (protobuf). */
  readonly unknownTopLevelKeys: string[];
  /** The same of the levels between the top and the spans, with their path: `resourceSpans[].spans`. */
  readonly misplacedKeys: string[];
  /** `telemetry.sdk.name` and `telemetry.sdk.language` of the first resource that has them, as `name/language`; else empty. */
  sdk: string;
};

/** About how many bytes the messages of these spans are. */
export const encodedLength = ({ runs }: EncodedTraces): number => {
  let length = 0;
  for (const { parts, deferred } of runs) {
    for (const { block } of parts) length += block.length;
    for (const { texts } of deferred) for (const text of texts) length += text.length;
  }
  return length;
};

/** A request body that cannot be read at all. */
export class MalformedBody extends Error {
  /** Path of the field that is to blame; empty when it is the body as a whole. */
  readonly field: string;
  constructor(message: string, field = '') {
    super(message);
    this.name = 'MalformedBody';
    this.field = field;
  }
}

/** A request of more spans than the limit; nothing of it was encoded. */
export class TooManySpans extends Error {
  /** Spans that were counted until it was clear: there may be more. */
  readonly spans: number;

  constructor(
    spans: number,
    spansMax: number,
    message = `the request has more spans than the limit of ${spansMax}: send fewer spans per request`,
  ) {
    super(message);
    this.name = 'TooManySpans';
    this.spans = spans;
  }
}

/** A request that is made of more parts than its length allows for: nothing that a sender has reason to send. */
export class TooManyElements extends Error {
  override readonly name = 'TooManyElements';
}

/** A request whose resources name more different tokens than are looked up for one request; nobody was asked about any. */
export class TooManyTokens extends Error {
  override readonly name = 'TooManyTokens';
}

/** One encoding of OTLP. What the calls throw for what a sender can send stands with them, and they throw nothing else. */
export type TraceReader = {
  /**
   * The different write tokens of the request's resources: they are looked up before encoding. Nothing is built, and of what is no
   * resource only the ends are found; so some tokens may be told that do not count in the end, and of a body that cannot be read
   * those before the place where that shows. Throws TooManyTokens and TooManyElements.
   */
  readonly collectTokens: (bytes: Uint8Array, tokenKeys?: TokenKeys) => string[];
  /**
   * Judges and encodes the spans of one request. `bytes` are not changed. Throws MalformedBody for a body that cannot be read,
   * TooManySpans and TooManyElements.
   */
  readonly encodeTraces: (bytes: Uint8Array, context: TracesContext) => EncodedTraces;
};

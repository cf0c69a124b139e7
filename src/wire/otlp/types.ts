import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import type { ItemTableName } from '../../model/signals.ts';
import type { SpanTimePolicy } from '../../model/span-time.ts';
import type { UidBase } from '../../model/uid.ts';
import type { TokenKeys } from './token-keys.ts';

/** The application of a credential. */
export type ItemsOwner = {
  readonly appId: number;
  readonly bizId: number;
  /** Whether a missing or placeholder `net.host.ip` is filled with the client's address (architecture 4.8). */
  readonly fillDimensions: boolean;
  /** It travels with deferred spans, so that transfer validates them with the same values. */
  readonly policy: SpanTimePolicy;
  /** The limits of its spans; the request's limits when it has none. */
  readonly limits?: ItemLimits;
};

/** The limits of one request, span and value. */
export type ItemLimits = {
  readonly itemsMax: number;
  readonly attributesMax: number;
  readonly eventsMax: number;
  readonly linksMax: number;
  /** UTF-8 bytes of one value; a longer one is truncated and counted. */
  readonly valueBytesMax: number;
  // Of signals that have them.
  /** Of one data point: buckets of a histogram or quantiles of a summary. */
  readonly bucketsMax?: number;
  /** Of one data point. */
  readonly exemplarsMax?: number;
};

/** The limits where neither the pipeline file nor a policy sets them (architecture 11.1). */
export const defaultItemLimits: ItemLimits = {
  itemsMax: 50_000,
  attributesMax: 128,
  eventsMax: 128,
  linksMax: 128,
  valueBytesMax: 65_536,
  bucketsMax: 2_048,
  exemplarsMax: 128,
};

/** The secret of hashes of series, in words of 32 bits; the factors are odd. Hashes of one process are made with one. */
export type SeriesSeed = {
  readonly low: number;
  readonly high: number;
  readonly lowFactor: number;
  readonly highFactor: number;
};

export type ItemsContext = {
  /**
   * The owner of spans: by the write token of their ResourceSpans, or by the request's credential when it has none.
   * Called once for each different token of a request, in no promised order.
   */
  readonly resolve: (token: string | undefined) => ItemsOwner | 'invalid' | 'disabled';
  /** The client's address, for `net.host.ip`. */
  readonly clientIp: string;
  readonly base: UidBase;
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** `itemsMax` is of the request; of the others no owner has wider ones. */
  readonly limits: ItemLimits;
  /** Attributes that hold write tokens; `mon.data.token` by default. */
  readonly tokenKeys?: TokenKeys;
  /** Whether an application may have this series, by its hash; absent without a bound (signals with series only). */
  readonly admitsSeries?: (appId: number, low: number, high: number) => boolean;
  /** What the hashes of series follow from, beside the series; without it, that of the thread. */
  readonly seriesSeed?: SeriesSeed;
  /** Called for each rejected or deferred span: whether to keep it as a sample. `appId` is 0 without an owner. */
  readonly wantsSample?: (appId: number, reason: ItemReason | TimeReason) => boolean;
};

/** Values of one application that were dropped from its accepted spans, or truncated. */
export type LostValues = {
  readonly appId: number;
  cutValues: number;
  eventsDropped: number;
  linksDropped: number;
};

/** Rows of one application that start on one day: a block of FORMAT Native. Times are nanoseconds in decimal. */
export type ItemsPart = {
  readonly appId: number;
  readonly bizId: number;
  /** Days from 1970-01-01 to the start of the spans (UTC). */
  readonly day: number;
  /** The table of its rows, where the signal has several. */
  readonly itemTable?: ItemTableName;
  readonly rows: number;
  /** The sum of the ordinals of its rows. */
  readonly ordinals: number;
  readonly timeMin: string;
  readonly timeMax: string;
  readonly block: Uint8Array;
};

/**
 * Spans of one application with an invalid time. Each text is a complete JSON object {resource, scope, span} in OTLP's
 * form: the resource without token and already filled, attribute values as the text of a row, times as sent (a number
 * as its decimal digits; a text longer than any time is truncated).
 */
export type DeferredItems = {
  readonly appId: number;
  readonly bizId: number;
  readonly policy: SpanTimePolicy;
  readonly ordinals: number[];
  readonly texts: string[];
};

/** Spans of one application that were rejected, by reason. */
export type RejectedItems = {
  readonly appId: number;
  readonly bizId: number;
  readonly reasons: Map<ItemReason, number>;
};

/** The part of a request in one message: ordinals `first` to `last`, each of them counted. */
export type ItemsRun = {
  readonly first: number;
  last: number;
  readonly parts: ItemsPart[];
  readonly deferred: DeferredItems[];
  readonly dropped: RejectedItems[];
};

/** A span that did not go the normal way, as the reply names it. */
export type ItemExample = {
  /** Its ordinal in the request. */
  readonly index: number;
  readonly reason: ItemReason | TimeReason;
  readonly field: string;
  readonly detail: string;
  /** The value of the field as it was sent, shortened; empty where none is shown. */
  readonly got: string;
};

/** A span that was rejected or deferred, as far as it is shown: few attributes, long texts cut, the resource without its token. */
export type ItemSample = ItemExample & {
  readonly appId: number;
  readonly item: object;
};

/** Leniencies toward a sender; counted, so that operators see which senders deviate from the specification. */
export const leniencyKinds = [
  'snake_case',
  'enum_name',
  'enum_unknown',
  'number_64',
  'low_high',
  'int_out_of_range',
  'duplicate_key',
  'zero_parent_span_id',
  'record_id_invalid',
  'exemplar_id_invalid',
  'invalid_utf8',
] as const;

export type Leniency = (typeof leniencyKinds)[number];

/** A request's items after the rules: accepted + Σ rejected + Σ deferred = items. */
export type EncodedItems = {
  /** Empty when the request holds no span. */
  readonly runs: ItemsRun[];
  /** The application of each different credential of the request, in the order in which they occur. */
  readonly owners: (ItemsOwner | 'invalid' | 'disabled')[];
  /** Items as received. */
  items: number;
  /** Items that were encoded. */
  accepted: number;
  /** Never stored; those of a wrong or disabled token are in no run's `dropped`, for they belong to no application. */
  readonly rejected: Map<ItemReason, number>;
  /** Validated again, dropped and counted in transfer. */
  readonly deferred: Map<TimeReason, number>;
  /** The first 20 rejected or deferred. */
  readonly examples: ItemExample[];
  /** The samples that were wanted. */
  readonly samples: ItemSample[];
  readonly leniencies: Map<Leniency, number>;
  /** By application, where there is any. */
  readonly lost: LostValues[];
  /** Values of accepted spans that were longer than the limit or nested too deep. */
  cutValues: number;
  /** Events of accepted spans that were dropped for their time. */
  eventsDropped: number;
  /** Links of accepted spans that were dropped for their ids. */
  linksDropped: number;
  /** Filled only when the request holds no span: keys that are not OTLP's (JSON) or field numbers (protobuf). */
  readonly unknownTopLevelKeys: string[];
  /** The same of the levels between the top and the spans, with their path: `resourceSpans[].spans`. */
  readonly misplacedKeys: string[];
  /** `telemetry.sdk.name` and `telemetry.sdk.language` of the first resource that has them, as `name/language`; else empty. */
  sdk: string;
};

/** About how many bytes the messages of these spans are. */
export const encodedLength = ({ runs }: EncodedItems): number => {
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

/** A request of more items than the limit; nothing of it was encoded. */
export class TooManyItems extends Error {
  /** Items that were counted until it was clear: there may be more. */
  readonly items: number;

  constructor(
    items: number,
    itemsMax: number,
    message = `the request has more spans than the limit of ${itemsMax}: send fewer spans per request`,
  ) {
    super(message);
    this.name = 'TooManyItems';
    this.items = items;
  }
}

/** Thrown for a request with more parts than its length allows: no sender has a reason to send it. */
export class TooManyElements extends Error {
  override readonly name = 'TooManyElements';
}

/** Thrown for a request whose resources name more different tokens than the limit of lookups; none was looked up. */
export class TooManyTokens extends Error {
  override readonly name = 'TooManyTokens';
}

/** The tokens of a body; undefined among them where a resource may have none, so that its items belong to the header's credential. */
export type BodyTokens = readonly (string | undefined)[];

/** One encoding of OTLP. Each call names the errors that it throws for a sender's input, and throws no others. */
export type ItemsReader = {
  /**
   * The different write tokens of the request's resources, for a lookup before encoding; undefined among them where a resource may
   * have none. It decodes no value, and finds only the ends of everything that is not a resource; so the list may include tokens that
   * do not count in the end, and of a malformed body those before the malformed place. Throws TooManyTokens and TooManyElements.
   */
  readonly collectTokens: (bytes: Uint8Array, tokenKeys?: TokenKeys) => BodyTokens;
  /**
   * Validates and encodes the spans of one request. Does not change `bytes`. Throws MalformedBody for a malformed body,
   * TooManyItems and TooManyElements.
   */
  readonly encode: (bytes: Uint8Array, context: ItemsContext) => EncodedItems;
};

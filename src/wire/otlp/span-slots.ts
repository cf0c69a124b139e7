import type { SpanReason } from '../../model/reasons.ts';
import { ByteSource } from '../native/bytes.ts';
import { Scratch } from './scratch.ts';
import { defaultTokenKeys, type TokenKeys } from './token-keys.ts';
import { defaultItemLimits, type ItemLimits, type Leniency } from './types.ts';

const slotsStart = 64;
const keptSlotsMax = 4096;

/** Attributes as read: places of keys and values (see Scratch). Lists of several owners follow one another. */
export class AttributeSlots {
  count = 0;
  keyStarts = new Int32Array(slotsStart);
  keyEnds = new Int32Array(slotsStart);
  valueStarts = new Int32Array(slotsStart);
  valueEnds = new Int32Array(slotsStart);

  add(keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void {
    const index = this.count;
    if (index === this.keyStarts.length) {
      this.keyStarts = doubled(this.keyStarts);
      this.keyEnds = doubled(this.keyEnds);
      this.valueStarts = doubled(this.valueStarts);
      this.valueEnds = doubled(this.valueEnds);
    }
    this.keyStarts[index] = keyStart;
    this.keyEnds[index] = keyEnd;
    this.valueStarts[index] = valueStart;
    this.valueEnds[index] = valueEnd;
    this.count = index + 1;
  }

  /** Frees the memory that one unusual body needed. */
  shrink(): void {
    if (this.keyStarts.length <= keptSlotsMax) return;
    this.count = 0;
    this.keyStarts = new Int32Array(slotsStart);
    this.keyEnds = new Int32Array(slotsStart);
    this.valueStarts = new Int32Array(slotsStart);
    this.valueEnds = new Int32Array(slotsStart);
  }
}

const doubled = (array: Int32Array): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
};

/**
 * A time as read: milliseconds (NaN: not a number), nanoseconds beyond, and the place of its text where it was sent as
 * text.
 */
export type TimeSlot = { millis: number; rest: number; textStart: number; textEnd: number };

export type EventSlot = {
  readonly time: TimeSlot;
  nameStart: number;
  nameEnd: number;
  attributesFrom: number;
  attributesTo: number;
};

export type LinkSlot = {
  /** Whether both ids are valid; they are written in hexadecimal, 48 characters. */
  isValid: boolean;
  readonly ids: ByteSource;
  stateStart: number;
  stateEnd: number;
  attributesFrom: number;
  attributesTo: number;
};

const newTime = (): TimeSlot => ({ millis: 0, rest: 0, textStart: 0, textEnd: 0 });

const newEvent = (): EventSlot => ({
  time: newTime(),
  nameStart: 0,
  nameEnd: 0,
  attributesFrom: 0,
  attributesTo: 0,
});

const newLink = (): LinkSlot => ({
  isValid: false,
  ids: new ByteSource(Buffer.alloc(48)),
  stateStart: 0,
  stateEnd: 0,
  attributesFrom: 0,
  attributesTo: 0,
});

/** Where each id begins in `SpanSlots.ids`. */
export const idPlaces = { trace: 0, span: 32, parent: 48, end: 64 } as const;

/** The order in which the faults of a span are reported, independent of the order of reading. */
const reasonsInOrder: readonly SpanReason[] = [
  'span_not_object',
  'trace_id_invalid',
  'span_id_invalid',
  'parent_span_id_invalid',
  'span_field_invalid',
  'attribute_invalid',
  'too_many_attributes',
  'too_many_events',
  'too_many_links',
];

/** The first fault of a span, or of a resource. */
export class FaultSlot {
  reason: SpanReason | undefined;
  field = '';
  detail = '';
  /** The value as it was sent, shortened; empty where none is shown. */
  got = '';
  private rank = reasonsInOrder.length;

  set(reason: SpanReason, field: string, detail: string, got = ''): void {
    const rank = reasonsInOrder.indexOf(reason);
    if (rank >= this.rank) return;
    this.rank = rank;
    this.reason = reason;
    this.field = field;
    this.detail = detail;
    this.got = got;
  }

  clear(): void {
    this.reason = undefined;
    this.rank = reasonsInOrder.length;
  }
}

/**
 * One span as both readers leave it, in fields that the next span overwrites: a span costs no objects. A reader notes
 * the reason to reject the span in `fault` and continues, because the span's size decides where the request is cut.
 */
export class SpanSlots {
  readonly fault = new FaultSlot();
  /** Sum of the lengths that the cutting rule counts. */
  size = 0;
  /** Trace, span and parent id in lower-case hexadecimal. */
  readonly ids = new ByteSource(Buffer.alloc(idPlaces.end));
  hasParent = false;
  stateStart = 0;
  stateEnd = 0;
  nameStart = 0;
  nameEnd = 0;
  kind = 0;
  statusCode = 0;
  messageStart = 0;
  messageEnd = 0;
  readonly start: TimeSlot = newTime();
  readonly end: TimeSlot = newTime();
  readonly attributes = new AttributeSlots();
  /** Values that were nested deeper than the limit. */
  cutValues = 0;
  eventCount = 0;
  readonly events: EventSlot[] = [];
  readonly eventAttributes = new AttributeSlots();
  linkCount = 0;
  readonly links: LinkSlot[] = [];
  readonly linkAttributes = new AttributeSlots();

  clear(): void {
    this.fault.clear();
    this.size = 0;
    this.hasParent = false;
    this.stateStart = this.stateEnd = 0;
    this.nameStart = this.nameEnd = 0;
    this.kind = 0;
    this.statusCode = 0;
    this.messageStart = this.messageEnd = 0;
    this.start.millis = this.start.rest = this.start.textStart = this.start.textEnd = 0;
    this.end.millis = this.end.rest = this.end.textStart = this.end.textEnd = 0;
    this.attributes.count = 0;
    this.cutValues = 0;
    this.eventCount = 0;
    this.eventAttributes.count = 0;
    this.linkCount = 0;
    this.linkAttributes.count = 0;
  }

  nextEvent(): EventSlot {
    const event = this.events[this.eventCount] ?? newEvent();
    this.events[this.eventCount++] = event;
    event.time.millis = event.time.rest = event.time.textStart = event.time.textEnd = 0;
    event.nameStart = event.nameEnd = 0;
    event.attributesFrom = event.attributesTo = this.eventAttributes.count;
    return event;
  }

  nextLink(): LinkSlot {
    const link = this.links[this.linkCount] ?? newLink();
    this.links[this.linkCount++] = link;
    link.isValid = false;
    link.stateStart = link.stateEnd = 0;
    link.attributesFrom = link.attributesTo = this.linkAttributes.count;
    return link;
  }
}

/** The resource and scope of the current spans. */
export class OwnerSlots {
  readonly fault = new FaultSlot();
  /** The widest that any resource of the request is held to. */
  requestLimits: ItemLimits = defaultItemLimits;
  /** The limits of the reader: those of the request until the owner of the resource is known. */
  limits: ItemLimits = defaultItemLimits;
  /** Different for each resource and each scope of the request. */
  resourceNumber = 0;
  scopeNumber = 0;
  readonly resource = new AttributeSlots();
  resourceSize = 0;
  resourceCutValues = 0;
  scopeNameStart = 0;
  scopeNameEnd = 0;
  scopeVersionStart = 0;
  scopeVersionEnd = 0;
  scopeSize = 0;

  clearResource(): void {
    this.resourceNumber++;
    this.limits = this.requestLimits;
    this.fault.clear();
    this.resource.count = 0;
    this.resourceSize = 0;
    this.resourceCutValues = 0;
    this.clearScope();
  }

  clearScope(): void {
    this.scopeNumber++;
    this.scopeNameStart = this.scopeNameEnd = 0;
    this.scopeVersionStart = this.scopeVersionEnd = 0;
    this.scopeSize = 0;
  }
}

const noBody = new ByteSource(new Uint8Array(0));

/** The state that a reader and the encoder share while they process a request. */
export class ReadState {
  body = noBody;
  readonly scratch = new Scratch();
  readonly owner = new OwnerSlots();
  readonly span = new SpanSlots();
  /** The resource's attributes that rows hold. */
  readonly keptResource = new AttributeSlots();
  /** The attributes of a body that the reader of JSON remembers: 256 of eight numbers (see PlainAttributes). */
  readonly knownAttributes = new Int32Array(2048);
  leniencies = new Map<Leniency, number>();
  tokenKeys = defaultTokenKeys;
  /** Whether the body may contain one of those names. */
  mayHoldTokens = true;

  begin(body: Uint8Array, limits: ItemLimits, tokenKeys: TokenKeys, mayHoldTokens: boolean): void {
    this.body = new ByteSource(body);
    this.tokenKeys = tokenKeys;
    this.mayHoldTokens = mayHoldTokens;
    this.owner.requestLimits = limits;
    this.leniencies = new Map();
    this.owner.clearResource();
  }

  get limits(): ItemLimits {
    return this.owner.limits;
  }

  /** Frees the memory that one unusual body needed. */
  shrink(): void {
    this.scratch.shrink();
    for (const list of [
      this.owner.resource,
      this.keptResource,
      this.span.attributes,
      this.span.eventAttributes,
      this.span.linkAttributes,
    ])
      list.shrink();
  }

  /** Whether an attribute of the list must not be kept. */
  isSecret({ keyStarts, keyEnds }: AttributeSlots, index: number): boolean {
    if (!this.mayHoldTokens) return false;
    const start = keyStarts[index] ?? 0;
    const end = keyEnds[index] ?? 0;
    return start < 0
      ? this.tokenKeys.isSecret(this.scratch.source, ~start, ~end)
      : this.tokenKeys.isSecret(this.body, start, end);
  }

  /**
   * Removes attributes that must not be kept from the list, from `from` to its end. The resource's list stays complete:
   * its token is still needed.
   */
  dropSecrets(list: AttributeSlots, from: number): void {
    if (!this.mayHoldTokens || list === this.owner.resource) return;
    const { count } = list;
    list.count = from;
    for (let index = from; index < count; index++) {
      if (this.isSecret(list, index)) continue;
      list.add(
        list.keyStarts[index] ?? 0,
        list.keyEnds[index] ?? 0,
        list.valueStarts[index] ?? 0,
        list.valueEnds[index] ?? 0,
      );
    }
  }

  forgive(kind: Leniency): void {
    this.leniencies.set(kind, (this.leniencies.get(kind) ?? 0) + 1);
  }

  /** The text at a place (see Scratch). */
  textAt(start: number, end: number): string {
    if (start < 0) return textOf(this.scratch.source.bytes, ~start, ~end);
    return textOf(this.body.bytes, start, end);
  }
}

/** The calls of a reader while it reads a request, in the order of the spans. */
export type SpanVisitor = {
  /** `owner` holds another resource; spans that follow belong to it. */
  resource(): void;
  /** `span` holds the next span, of the scope that `owner` holds. */
  span(): void;
};

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');

let spare: ReadState | undefined;

/** Calls `use` with a state for one body. It is used again by the next, so nothing may keep it. */
export const withReadState = <T>(
  body: Uint8Array,
  limits: ItemLimits,
  tokenKeys: TokenKeys,
  mayHoldTokens: boolean,
  use: (state: ReadState) => T,
): T => {
  const state = spare ?? new ReadState();
  spare = undefined;
  try {
    state.begin(body, limits, tokenKeys, mayHoldTokens);
    return use(state);
  } finally {
    state.body = noBody;
    state.shrink();
    spare = state;
  }
};

import { idIs, itemSizes } from './any-value.ts';
import { setTimeOfWords } from './numbers.ts';
import { ProtobufCursor } from './protobuf-cursor.ts';
import { idProblem, readId } from './protobuf-ids.ts';
import { ProtobufValueReader } from './protobuf-value.ts';
import { dropAttributes } from './resource-row.ts';
import {
  type AttributeSlots,
  type FaultSlot,
  idPlaces,
  type ReadState,
  type SpanVisitor,
  type TimeSlot,
} from './span-slots.ts';
import { TooManyElements } from './types.ts';

const unknownFieldsMax = 10;

/**
 * Fields outside the spans that a body may have: this number, and one for each eight bytes. A span takes more than that; empty messages,
 * two bytes each, would otherwise cost ten times as much as any span.
 */
const fieldsFree = 10_000;
const bytesPerField = 8;

/** The varint that fills [start, end); −1 when none does, or one of more than four bytes. */
const smallVarint = (body: Uint8Array, start: number, end: number): number => {
  const last = end - 1;
  if (last < start || last - start > 3) return -1;
  let value = 0;
  for (let at = start; at < last; at++) {
    const byte = body[at] ?? 0;
    if (byte < 0x80) return -1;
    value |= (byte & 0x7f) << (7 * (at - start));
  }
  const byte = body[last] ?? 0x80;
  return byte < 0x80 ? value | (byte << (7 * (last - start))) : -1;
};

/**
 * Reads ExportTraceServiceRequest from the wire into slots, without objects: of each message first the fields that its
 * children need (resource before scopes, scope before spans), then the children, in any order. Unknown fields are
 * skipped; a known field of another wire type is unknown. Throws only MalformedBody.
 */
export class ProtobufReader {
  /** Top-level fields that are not OTLP's, the first few. */
  readonly unknownFields = new Set<string>();
  /** Fields of ResourceSpans that are not OTLP's, with their path: 1000 was instrumentation_library_spans before OTLP 1.0. */
  readonly misplacedFields = new Set<string>();
  private readonly state: ReadState;
  private readonly visitor: SpanVisitor;
  private readonly wantsSpans: boolean;
  private readonly cursor: ProtobufCursor;
  private readonly value: ProtobufValueReader;
  /** Scratch that the current resource and scope occupy; a span's texts begin after it. */
  private keptScratch = 0;
  /** The amount that the cutting rule counts for the key and the value that `readPlain` read. */
  private plainSize = 0;
  private fieldsLeft: number;

  /** Without `wantsSpans` resources alone are read. */
  constructor(state: ReadState, visitor: SpanVisitor, wantsSpans: boolean) {
    this.state = state;
    this.visitor = visitor;
    this.wantsSpans = wantsSpans;
    this.cursor = new ProtobufCursor(state.body);
    this.value = new ProtobufValueReader(this.cursor, state.scratch);
    this.fieldsLeft = fieldsFree + Math.floor(this.cursor.body.length / bytesPerField);
  }

  readRequest(): void {
    const { cursor } = this;
    const end = cursor.body.length;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readResourceSpans(cursor.enter(end));
      else {
        if (this.unknownFields.size < unknownFieldsMax) this.unknownFields.add(String(tag >>> 3));
        cursor.skip(tag, end);
      }
    }
    cursor.expectEnd(end);
  }

  /** The next field's tag, above the spans. Throws TooManyElements. */
  private tag(): number {
    if (this.fieldsLeft-- > 0) return this.cursor.tag();
    const fieldsMax = fieldsFree + Math.floor(this.cursor.body.length / bytesPerField);
    throw new TooManyElements(
      `the body has more than ${fieldsMax} fields outside its spans: send smaller requests`,
    );
  }

  private readResourceSpans(end: number): void {
    const { cursor, state } = this;
    const start = cursor.at;
    state.owner.clearResource();
    state.scratch.length = 0;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readResource(cursor.enter(end));
      else {
        // Scopes and the schema's URL are OTLP's.
        if (tag >>> 3 > 3 && this.misplacedFields.size < unknownFieldsMax)
          this.misplacedFields.add(`resourceSpans[].${tag >>> 3}`);
        cursor.skip(tag, end);
      }
    }
    cursor.expectEnd(end);
    this.visitor.resource();
    if (!this.wantsSpans) return;
    this.keptScratch = state.scratch.length;
    cursor.at = start;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x12) this.readScopeSpans(cursor.enter(end));
      else cursor.skip(tag, end);
    }
  }

  private readResource(end: number): void {
    const { cursor, value } = this;
    const { owner } = this.state;
    value.cutValues = 0;
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) {
        owner.resourceSize += this.readAttribute(
          cursor.enter(end),
          owner.resource,
          0,
          owner.fault,
          'resource.attributes',
        );
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    owner.resourceCutValues += value.cutValues;
  }

  private readScopeSpans(end: number): void {
    const { cursor, state } = this;
    const start = cursor.at;
    state.owner.clearScope();
    while (cursor.at < end) {
      const tag = this.tag();
      if (tag === 0x0a) this.readScope(cursor.enter(end));
      else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    cursor.at = start;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x12) {
        state.scratch.length = this.keptScratch;
        this.readSpan(cursor.enter(end));
        this.visitor.span();
      } else cursor.skip(tag, end);
    }
  }

  private readScope(end: number): void {
    const { cursor } = this;
    const { owner } = this.state;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        owner.scopeNameStart = cursor.at;
        owner.scopeNameEnd = cursor.at = stop;
      } else if (tag === 0x12) {
        const stop = cursor.enter(end);
        owner.scopeVersionStart = cursor.at;
        owner.scopeVersionEnd = cursor.at = stop;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    owner.scopeSize =
      owner.scopeNameEnd - owner.scopeNameStart + owner.scopeVersionEnd - owner.scopeVersionStart;
  }

  private readSpan(end: number): void {
    const { cursor, value, state } = this;
    const { span } = state;
    span.clear();
    value.cutValues = 0;
    let traceProblem = idProblem(0, 16);
    let spanProblem = idProblem(0, 8);
    let parentProblem = '';
    while (cursor.at < end) {
      const tag = cursor.tag();
      switch (tag) {
        case 0x4a:
          span.size += this.readAttribute(cursor.enter(end), span.attributes, 0, span.fault, 'attributes');
          break;
        case 0x0a:
          traceProblem = readId(cursor, cursor.enter(end), 16, span.ids, idPlaces.trace);
          break;
        case 0x12:
          spanProblem = readId(cursor, cursor.enter(end), 8, span.ids, idPlaces.span);
          break;
        case 0x22: {
          const stop = cursor.enter(end);
          const isEmpty = stop === cursor.at;
          parentProblem = readId(cursor, stop, 8, span.ids, idPlaces.parent);
          span.hasParent = parentProblem === '';
          if (isEmpty) parentProblem = '';
          break;
        }
        case 0x2a: {
          const stop = cursor.enter(end);
          span.nameStart = cursor.at;
          span.nameEnd = cursor.at = stop;
          break;
        }
        case 0x30:
          cursor.varint();
          span.kind = cursor.low | 0;
          break;
        case 0x39:
          this.readTime(end, span.start);
          break;
        case 0x41:
          this.readTime(end, span.end);
          break;
        default:
          this.readRareField(tag, end);
      }
    }
    cursor.expectEnd(end);
    span.kind = this.knownEnum(span.kind, 5);
    span.statusCode = this.knownEnum(span.statusCode, 2);
    span.cutValues = value.cutValues;
    span.size += span.nameEnd - span.nameStart + span.stateEnd - span.stateStart;
    span.size += span.messageEnd - span.messageStart;
    if (traceProblem !== '') span.fault.set('trace_id_invalid', 'traceId', traceProblem);
    if (spanProblem !== '') span.fault.set('span_id_invalid', 'spanId', spanProblem);
    if (parentProblem === idIs.zero) state.forgive('zero_parent_span_id');
    else if (parentProblem !== '') span.fault.set('parent_span_id_invalid', 'parentSpanId', parentProblem);
  }

  private readRareField(tag: number, end: number): void {
    const { cursor } = this;
    const { span } = this.state;
    if (tag === 0x1a) {
      const stop = cursor.enter(end);
      span.stateStart = cursor.at;
      span.stateEnd = cursor.at = stop;
    } else if (tag === 0x5a) this.readEvent(cursor.enter(end));
    else if (tag === 0x6a) this.readLink(cursor.enter(end));
    else if (tag === 0x7a) this.readStatus(cursor.enter(end));
    else cursor.skip(tag, end);
  }

  private readTime(end: number, time: TimeSlot): void {
    this.cursor.fixed64(end);
    setTimeOfWords(time, this.cursor.low, this.cursor.high);
  }

  /** An enum is the lower 32 bits of its varint; a value that OTLP does not have counts as the first. */
  private knownEnum(value: number, last: number): number {
    if (value >= 0 && value <= last) return value;
    this.state.forgive('enum_unknown');
    return 0;
  }

  private readStatus(end: number): void {
    const { cursor } = this;
    const { span } = this.state;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x18) {
        cursor.varint();
        span.statusCode = cursor.low | 0;
      } else if (tag === 0x12) {
        const stop = cursor.enter(end);
        span.messageStart = cursor.at;
        span.messageEnd = cursor.at = stop;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
  }

  /**
   * Reads a KeyValue into the list, whose part begins at `from`. Over the limit it sets a fault and empties the list.
   * Returns the amount that the cutting rule counts.
   */
  private readAttribute(
    end: number,
    list: AttributeSlots,
    from: number,
    fault: FaultSlot,
    field: string,
  ): number {
    const { cursor, value, state } = this;
    const { attributesMax } = state.limits;
    if (list.count - from >= attributesMax) {
      fault.set('too_many_attributes', field, `more than the limit of ${attributesMax}`);
      dropAttributes(state, list, from);
    }
    if (this.readPlain(end, list)) {
      state.dropSecrets(list, list.count - 1);
      return itemSizes.entry + this.plainSize;
    }
    if (!this.wantsSpans && this.passAttribute(end, list)) return 0;
    let keyStart = 0;
    let keyEnd = 0;
    value.clear();
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        keyStart = cursor.at;
        keyEnd = cursor.at = stop;
      } else if (tag === 0x12) value.read(cursor.enter(end));
      else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    value.finish();
    list.add(keyStart, keyEnd, value.start, value.end);
    state.dropSecrets(list, list.count - 1);
    return itemSizes.entry + keyEnd - keyStart + value.size;
  }

  /**
   * Skips a KeyValue whose key is not that of a token, so that its value is never decoded; false for a token's key, and
   * then nothing is read.
   */
  private passAttribute(end: number, list: AttributeSlots): boolean {
    const { cursor, state } = this;
    const start = cursor.at;
    let keyStart = 0;
    let keyEnd = 0;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        keyStart = cursor.at;
        keyEnd = cursor.at = stop;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    if (state.tokenKeys.has(state.body, keyStart, keyEnd)) {
      cursor.at = start;
      return false;
    }
    list.add(keyStart, keyEnd, 0, 0);
    return true;
  }

  /**
   * Reads a KeyValue of the most frequent forms: a key and a string, or a key and a small whole number, each shorter
   * than 128 bytes, in this order and without more fields. False for any other form, and then nothing is read.
   */
  private readPlain(end: number, list: AttributeSlots): boolean {
    const { cursor } = this;
    const { body, at } = cursor;
    const keyLength = body[at + 1] ?? 0x80;
    const value = at + 2 + keyLength;
    // Two tags and two lengths precede the text, and it must fill the rest.
    const length = end - value - 4;
    if (body[at] !== 0x0a || keyLength >= 0x80 || length < -1 || length >= 0x7e) return false;
    if (body[value] !== 0x12 || body[value + 1] !== length + 2) return false;
    if (body[value + 2] === 0x0a && body[value + 3] === length) {
      list.add(at + 2, value, value + 4, end);
      this.plainSize = keyLength + length;
    } else {
      if (body[value + 2] !== 0x18) return false;
      const number = smallVarint(body, value + 3, end);
      if (number < 0) return false;
      const { scratch } = this.state;
      list.add(at + 2, value, scratch.addCount(number), ~scratch.length);
      this.plainSize = keyLength + itemSizes.scalar;
    }
    cursor.at = end;
    return true;
  }

  private readEvent(end: number): void {
    const { cursor } = this;
    const { span, limits } = this.state;
    span.size += itemSizes.event;
    if (span.eventCount >= limits.eventsMax) {
      span.fault.set('too_many_events', 'events', `more than the limit of ${limits.eventsMax}`);
      span.eventAttributes.count = 0;
      span.eventCount = 0;
    }
    const event = span.nextEvent();
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x09) this.readTime(end, event.time);
      else if (tag === 0x12) {
        const stop = cursor.enter(end);
        event.nameStart = cursor.at;
        event.nameEnd = cursor.at = stop;
      } else if (tag === 0x1a) {
        const stop = cursor.enter(end);
        const list = span.eventAttributes;
        span.size += this.readAttribute(stop, list, event.attributesFrom, span.fault, 'events[].attributes');
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    span.size += event.nameEnd - event.nameStart;
    event.attributesTo = span.eventAttributes.count;
  }

  private readLink(end: number): void {
    const { cursor } = this;
    const { span, limits } = this.state;
    span.size += itemSizes.link;
    if (span.linkCount >= limits.linksMax) {
      span.fault.set('too_many_links', 'links', `more than the limit of ${limits.linksMax}`);
      span.linkAttributes.count = 0;
      span.linkCount = 0;
    }
    const link = span.nextLink();
    let hasTrace = false;
    let hasSpan = false;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a)
        hasTrace = readId(cursor, cursor.enter(end), 16, link.ids, idPlaces.trace) === idIs.valid;
      else if (tag === 0x12)
        hasSpan = readId(cursor, cursor.enter(end), 8, link.ids, idPlaces.span) === idIs.valid;
      else if (tag === 0x1a) {
        const stop = cursor.enter(end);
        link.stateStart = cursor.at;
        link.stateEnd = cursor.at = stop;
      } else if (tag === 0x22) {
        const stop = cursor.enter(end);
        const list = span.linkAttributes;
        span.size += this.readAttribute(stop, list, link.attributesFrom, span.fault, 'links[].attributes');
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    span.size += link.stateEnd - link.stateStart;
    link.isValid = hasTrace && hasSpan;
    link.attributesTo = span.linkAttributes.count;
  }
}

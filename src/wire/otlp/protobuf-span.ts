import { idIs, itemSizes } from './any-value.ts';
import type { ProtobufFields } from './protobuf-fields.ts';
import { idProblem, readId } from './protobuf-ids.ts';
import type { ProtobufItemReader } from './protobuf-reader.ts';
import type { ItemVisitor } from './read-state.ts';
import { idPlaces } from './span-slots.ts';

/** Reads one span of protobuf into the slots. */
export class ProtobufSpanReader implements ProtobufItemReader {
  private readonly fields: ProtobufFields;

  constructor(fields: ProtobufFields) {
    this.fields = fields;
  }

  read(end: number, visitor: ItemVisitor): void {
    this.readItem(end);
    visitor.item();
  }

  private readItem(end: number): void {
    const { fields } = this;
    const { cursor, value, state } = fields;
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
          span.size += fields.attribute(cursor.enter(end), span.attributes, 0, span.fault, 'attributes');
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
          fields.time(end, span.start);
          break;
        case 0x41:
          fields.time(end, span.end);
          break;
        default:
          this.readRareField(tag, end);
      }
    }
    cursor.expectEnd(end);
    span.kind = fields.knownEnum(span.kind, 5);
    span.statusCode = fields.knownEnum(span.statusCode, 2);
    span.cutValues = value.cutValues;
    span.size += span.nameEnd - span.nameStart + span.stateEnd - span.stateStart;
    span.size += span.messageEnd - span.messageStart;
    if (traceProblem !== '') {
      const { lookLike } = fields;
      const detail = lookLike === '' ? traceProblem : `${traceProblem}; ${lookLike}`;
      span.fault.set('trace_id_invalid', 'traceId', detail);
    }
    if (spanProblem !== '') span.fault.set('span_id_invalid', 'spanId', spanProblem);
    if (parentProblem === idIs.zero) state.forgive('zero_parent_span_id');
    else if (parentProblem !== '') span.fault.set('parent_span_id_invalid', 'parentSpanId', parentProblem);
  }

  private readRareField(tag: number, end: number): void {
    const { cursor, state } = this.fields;
    const { span } = state;
    if (tag === 0x1a) {
      const stop = cursor.enter(end);
      span.stateStart = cursor.at;
      span.stateEnd = cursor.at = stop;
    } else if (tag === 0x5a) this.readEvent(cursor.enter(end));
    else if (tag === 0x6a) this.readLink(cursor.enter(end));
    else if (tag === 0x7a) this.readStatus(cursor.enter(end));
    else {
      // The time of a log record, where a span has its trace id.
      if (tag === 0x09)
        this.fields.lookLike = 'they look like log records: send them to the path or the service of logs';
      // The data of a sum, where a span has its start.
      else if (tag === 0x3a)
        this.fields.lookLike = 'they look like metrics: send them to the path or the service of metrics';
      cursor.skip(tag, end);
    }
  }

  private readStatus(end: number): void {
    const { cursor, state } = this.fields;
    const { span } = state;
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

  private readEvent(end: number): void {
    const { cursor, state } = this.fields;
    const { span, limits } = state;
    span.size += itemSizes.event;
    if (span.eventCount >= limits.eventsMax) {
      span.fault.set('too_many_events', 'events', `more than the limit of ${limits.eventsMax}`);
      span.eventAttributes.count = 0;
      span.eventCount = 0;
    }
    const event = span.nextEvent();
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x09) this.fields.time(end, event.time);
      else if (tag === 0x12) {
        const stop = cursor.enter(end);
        event.nameStart = cursor.at;
        event.nameEnd = cursor.at = stop;
      } else if (tag === 0x1a) {
        const stop = cursor.enter(end);
        const list = span.eventAttributes;
        span.size += this.fields.attribute(
          stop,
          list,
          event.attributesFrom,
          span.fault,
          'events[].attributes',
        );
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    span.size += event.nameEnd - event.nameStart;
    event.attributesTo = span.eventAttributes.count;
  }

  private readLink(end: number): void {
    const { cursor, state } = this.fields;
    const { span, limits } = state;
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
        span.size += this.fields.attribute(stop, list, link.attributesFrom, span.fault, 'links[].attributes');
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    span.size += link.stateEnd - link.stateStart;
    link.isValid = hasTrace && hasSpan;
    link.attributesTo = span.linkAttributes.count;
  }
}

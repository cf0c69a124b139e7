import { idIs, itemSizes } from './any-value.ts';
import type { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';
import type { JsonItemReader } from './json-reader.ts';
import type { ItemVisitor } from './read-state.ts';
import { idPlaces, type LinkSlot } from './span-slots.ts';

const spanKeys = new KeySet([
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'events',
  'links',
  'status',
]);
const eventKeys = new KeySet(['timeUnixNano', 'name', 'attributes']);
const linkKeys = new KeySet(['traceId', 'spanId', 'traceState', 'attributes']);
const statusKeys = new KeySet(['code', 'message']);

const spanKinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const statusCodes = ['UNSET', 'OK', 'ERROR'];

/** Reads one span of JSON into the slots. */
export class JsonSpanReader implements JsonItemReader {
  private readonly fields: JsonFields;

  constructor(fields: JsonFields) {
    this.fields = fields;
  }

  read(visitor: ItemVisitor): void {
    this.readItem();
    visitor.item();
  }

  private readItem(): void {
    const { cursor, value, state } = this.fields;
    const { span } = state;
    span.clear();
    value.cutValues = 0;
    if (cursor.kind() !== 'object') {
      const from = cursor.at;
      cursor.skip();
      span.fault.set('span_not_object', '', '', cursor.shown(from));
      return;
    }
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(spanKeys, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << member;
      if (member < 5) this.readTextField(member);
      else this.readField(member);
    }
    span.cutValues = value.cutValues;
    if ((seen & 1) === 0) span.fault.set('trace_id_invalid', 'traceId', idIs.absent);
    if ((seen & 2) === 0) span.fault.set('span_id_invalid', 'spanId', idIs.absent);
  }

  private readTextField(member: number): void {
    const { fields } = this;
    const { span } = fields.state;
    if (member === 0) {
      const answer = fields.id(span.ids, idPlaces.trace, 32);
      if (answer !== idIs.valid) span.fault.set('trace_id_invalid', 'traceId', answer, fields.got);
    } else if (member === 1) {
      const answer = fields.id(span.ids, idPlaces.span, 16);
      if (answer !== idIs.valid) span.fault.set('span_id_invalid', 'spanId', answer, fields.got);
    } else if (member === 3) this.readParent();
    else if (member === 2) {
      span.size += fields.text(span.fault, 'traceState');
      span.stateStart = fields.start;
      span.stateEnd = fields.end;
    } else {
      span.size += fields.text(span.fault, 'name');
      span.nameStart = fields.start;
      span.nameEnd = fields.end;
    }
  }

  private readField(member: number): void {
    const { fields } = this;
    const { span } = fields.state;
    if (member === 5) span.kind = fields.enumeration(spanKinds, span.fault, 'kind');
    else if (member === 6) fields.time(span.start);
    else if (member === 7) fields.time(span.end);
    else if (member === 8) span.size += fields.attributes(span.attributes, 0, span.fault, 'attributes');
    else if (member === 9) this.eachObject('events', () => this.readEvent());
    else if (member === 10) this.eachObject('links', () => this.readLink());
    else this.readStatus();
  }

  private readParent(): void {
    const { fields } = this;
    const { span } = fields.state;
    const answer = fields.id(span.ids, idPlaces.parent, 16);
    if (answer === idIs.valid) span.hasParent = true;
    else if (answer === idIs.zero) fields.state.forgive('zero_parent_span_id');
    else if (answer !== idIs.absent)
      span.fault.set('parent_span_id_invalid', 'parentSpanId', answer, fields.got);
  }

  private readStatus(): void {
    const { fields } = this;
    const { cursor } = fields;
    const { span } = fields.state;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'object') return fields.refuse(span.fault, 'status', 'an object');
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(statusKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member === 0) span.statusCode = fields.enumeration(statusCodes, span.fault, 'status.code');
      else {
        span.size += fields.text(span.fault, 'status.message');
        span.messageStart = fields.start;
        span.messageEnd = fields.end;
      }
    }
  }

  /** Reads an array of a span's objects; any other value is a fault of the span. */
  private eachObject(field: string, read: () => void): void {
    const { fields } = this;
    const { cursor } = fields;
    const { fault } = fields.state.span;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') return fields.refuse(fault, field, 'an array');
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      if (cursor.kind() === 'object') read();
      else fields.refuse(fault, `${field}[]`, 'an object');
    }
  }

  private readEvent(): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { span, limits } = state;
    span.size += itemSizes.event;
    if (span.eventCount >= limits.eventsMax) {
      span.fault.set('too_many_events', 'events', `more than the limit of ${limits.eventsMax}`);
      span.eventAttributes.count = 0;
      span.eventCount = 0;
    }
    const event = span.nextEvent();
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(eventKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member === 0) fields.time(event.time);
      else if (member === 1) {
        span.size += fields.text(span.fault, 'events[].name');
        event.nameStart = fields.start;
        event.nameEnd = fields.end;
      } else {
        const list = span.eventAttributes;
        span.size += fields.attributes(list, event.attributesFrom, span.fault, 'events[].attributes');
      }
    }
    event.attributesTo = span.eventAttributes.count;
  }

  private readLink(): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { span, limits } = state;
    span.size += itemSizes.link;
    if (span.linkCount >= limits.linksMax) {
      span.fault.set('too_many_links', 'links', `more than the limit of ${limits.linksMax}`);
      span.linkAttributes.count = 0;
      span.linkCount = 0;
    }
    const link = span.nextLink();
    let seen = 0;
    let ids = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(linkKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member < 2) ids += this.readLinkId(link, member);
      else if (member === 2) {
        span.size += fields.text(span.fault, 'links[].traceState');
        link.stateStart = fields.start;
        link.stateEnd = fields.end;
      } else {
        const list = span.linkAttributes;
        span.size += fields.attributes(list, link.attributesFrom, span.fault, 'links[].attributes');
      }
    }
    link.isValid = ids === 2;
    link.attributesTo = span.linkAttributes.count;
  }

  /** 1 for an id that is right. */
  private readLinkId(link: LinkSlot, member: number): number {
    const place = member === 0 ? idPlaces.trace : idPlaces.span;
    return this.fields.id(link.ids, place, member === 0 ? 32 : 16) === idIs.valid ? 1 : 0;
  }
}

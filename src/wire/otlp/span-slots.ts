import { ByteSource } from '../native/bytes.ts';
import { AttributeSlots, clearTime, FaultSlot, type ItemSlots, newTime, type TimeSlot } from './slots.ts';

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

/** One span (see ItemSlots). */
export class SpanSlots implements ItemSlots {
  readonly fault = new FaultSlot();
  readonly table = 0;
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
    clearTime(this.start);
    clearTime(this.end);
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
    clearTime(event.time);
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

  get instant(): TimeSlot {
    return this.start;
  }

  shrink(): void {
    for (const list of [this.attributes, this.eventAttributes, this.linkAttributes]) list.shrink();
  }
}

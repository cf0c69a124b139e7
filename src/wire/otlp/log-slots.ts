import { ByteSource } from '../native/bytes.ts';
import { AttributeSlots, clearTime, FaultSlot, type ItemSlots, newTime, type TimeSlot } from './slots.ts';

/** Where each id begins in `LogSlots.ids`. */
export const logIdPlaces = { trace: 0, span: 32, end: 48 } as const;

/** One log record (see ItemSlots). */
export class LogSlots implements ItemSlots {
  readonly fault = new FaultSlot();
  readonly table = 0;
  size = 0;
  readonly time: TimeSlot = newTime();
  readonly observed: TimeSlot = newTime();
  severityNumber = 0;
  severityStart = 0;
  severityEnd = 0;
  bodyStart = 0;
  bodyEnd = 0;
  eventStart = 0;
  eventEnd = 0;
  flags = 0;
  /** Trace and span id in lower-case hexadecimal, each where the record has a valid one. */
  readonly ids = new ByteSource(Buffer.alloc(logIdPlaces.end));
  hasTrace = false;
  hasSpan = false;
  readonly attributes = new AttributeSlots();
  /** Values that were nested deeper than the limit. */
  cutValues = 0;

  /** The record's own time or, without one, the time at which it was observed. */
  get instant(): TimeSlot {
    return this.time.millis === 0 && this.time.rest === 0 ? this.observed : this.time;
  }

  clear(): void {
    this.fault.clear();
    this.size = 0;
    clearTime(this.time);
    clearTime(this.observed);
    this.severityNumber = 0;
    this.severityStart = this.severityEnd = 0;
    this.bodyStart = this.bodyEnd = 0;
    this.eventStart = this.eventEnd = 0;
    this.flags = 0;
    this.hasTrace = this.hasSpan = false;
    this.attributes.count = 0;
    this.cutValues = 0;
  }

  shrink(): void {
    this.attributes.shrink();
  }
}

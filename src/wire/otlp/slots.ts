import type { ItemReason } from '../../model/reasons.ts';

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

export const newTime = (): TimeSlot => ({ millis: 0, rest: 0, textStart: 0, textEnd: 0 });

/** Makes a time that was not sent. */
export const clearTime = (time: TimeSlot): void => {
  time.millis = time.rest = time.textStart = time.textEnd = 0;
};

/** The order in which the faults of an item are reported, independent of the order of reading. */
const reasonsInOrder: readonly ItemReason[] = [
  'span_not_object',
  'record_not_object',
  'data_point_not_object',
  'metric_name_missing',
  'trace_id_invalid',
  'span_id_invalid',
  'parent_span_id_invalid',
  'span_field_invalid',
  'record_field_invalid',
  'data_point_field_invalid',
  'attribute_invalid',
  'too_many_attributes',
  'too_many_events',
  'too_many_links',
  'too_many_buckets',
  'too_many_exemplars',
];

/** The first fault of an item, or of a resource or scope. */
export class FaultSlot {
  reason: ItemReason | undefined;
  field = '';
  detail = '';
  /** The value as it was sent, shortened; empty where none is shown. */
  got = '';
  private rank = reasonsInOrder.length;

  set(reason: ItemReason, field: string, detail: string, got = ''): void {
    const rank = reasonsInOrder.indexOf(reason);
    if (rank >= this.rank) return;
    this.rank = rank;
    this.reason = reason;
    this.field = field;
    this.detail = detail;
    this.got = got;
  }

  /** Takes over the fault of what the item belongs to, if there is one that is reported before its own. */
  take(other: FaultSlot): void {
    if (other.reason !== undefined) this.set(other.reason, other.field, other.detail, other.got);
  }

  clear(): void {
    this.reason = undefined;
    this.rank = reasonsInOrder.length;
  }
}

/**
 * One item of a signal as both readers leave it, in fields that the next item overwrites: an item costs no objects. A reader notes the
 * reason to reject the item in `fault` and continues, because the item's size decides where the request is cut.
 */
export type ItemSlots = {
  readonly fault: FaultSlot;
  /** Sum of the lengths that the cutting rule counts. */
  size: number;
  /** The time that decides the day of its row. */
  readonly instant: TimeSlot;
  /** The place of its table in the list of its signal. */
  readonly table: number;
  /** Frees the memory that one unusual body needed. */
  shrink(): void;
};

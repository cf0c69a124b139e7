import { idIs } from './any-value.ts';
import { type CountList, exemplarIdPlaces, kindIs } from './data-point-slots.ts';
import { hasExemplarId } from './exemplar-ids.ts';
import type { ProtobufFields } from './protobuf-fields.ts';
import { readId } from './protobuf-ids.ts';

/** The number of a zigzag varint of 32 bits. */
const zigzag = (low: number): number => (low >>> 1) ^ -(low & 1);

/** Reads one data point of protobuf into the slots, of the kind that they name. */
export class ProtobufDataPointReader {
  private readonly fields: ProtobufFields;

  constructor(fields: ProtobufFields) {
    this.fields = fields;
  }

  read(end: number): void {
    const { cursor, value, state } = this.fields;
    const { point } = state;
    point.clear();
    value.cutValues = 0;
    if (point.table <= kindIs.sum) this.readNumber(end);
    else if (point.table === kindIs.histogram) this.readHistogram(end);
    else if (point.table === kindIs.exponentialHistogram) this.readExponential(end);
    else this.readSummary(end);
    cursor.expectEnd(end);
    point.cutValues = value.cutValues;
    point.finish();
  }

  private readNumber(end: number): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { point } = state;
    while (cursor.at < end) {
      const tag = cursor.tag();
      switch (tag) {
        case 0x3a:
          this.readAttribute(end);
          break;
        case 0x11:
          fields.time(end, point.start);
          break;
        case 0x19:
          fields.time(end, point.time);
          break;
        case 0x21:
          point.value.setDouble(cursor.double(end));
          break;
        case 0x31:
          cursor.fixed64(end);
          point.value.setInteger(cursor.low, cursor.high);
          break;
        case 0x2a:
          this.readExemplar(cursor.enter(end));
          break;
        case 0x40:
          this.readFlags();
          break;
        default:
          cursor.skip(tag, end);
      }
    }
  }

  private readHistogram(end: number): void {
    const { cursor } = this.fields;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x4a) this.readAttribute(end);
      else if (tag === 0x32) this.readCounts(cursor.enter(end));
      else if (tag === 0x31) this.readCount(end);
      else if (tag === 0x3a) {
        const stop = cursor.enter(end);
        while (cursor.at < stop) this.readBound(stop);
      } else if (tag === 0x39) this.readBound(end);
      else if (tag === 0x42) this.readExemplar(cursor.enter(end));
      else if (tag === 0x50) this.readFlags();
      else if (tag === 0x59) this.readMin(end);
      else if (tag === 0x61) this.readMax(end);
      else if (!this.readShared(tag, end)) cursor.skip(tag, end);
    }
  }

  private readExponential(end: number): void {
    const { cursor, state } = this.fields;
    const { point } = state;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x0a) this.readAttribute(end);
      else if (tag === 0x30) {
        cursor.varint();
        point.scale = zigzag(cursor.low);
      } else if (tag === 0x39) {
        cursor.fixed64(end);
        point.zeroLow = cursor.low;
        point.zeroHigh = cursor.high;
      } else if (tag === 0x42) {
        point.positiveOffset = this.readBuckets(
          cursor.enter(end),
          point.counts,
          point.positiveOffset,
          'positive.bucketCounts',
        );
      } else if (tag === 0x4a) {
        point.negativeOffset = this.readBuckets(
          cursor.enter(end),
          point.negative,
          point.negativeOffset,
          'negative.bucketCounts',
        );
      } else if (tag === 0x50) this.readFlags();
      else if (tag === 0x5a) this.readExemplar(cursor.enter(end));
      else if (tag === 0x61) this.readMin(end);
      else if (tag === 0x69) this.readMax(end);
      else if (tag === 0x71) point.zeroThreshold = cursor.double(end);
      else if (!this.readShared(tag, end)) cursor.skip(tag, end);
    }
  }

  private readSummary(end: number): void {
    const { cursor } = this.fields;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x3a) this.readAttribute(end);
      else if (tag === 0x32) this.readQuantile(cursor.enter(end));
      else if (tag === 0x40) this.readFlags();
      else if (!this.readShared(tag, end)) cursor.skip(tag, end);
    }
  }

  /** Reads a field that histograms and summaries have alike; false for any other, and nothing is read. */
  private readShared(tag: number, end: number): boolean {
    const { fields } = this;
    const { cursor, state } = fields;
    const { point } = state;
    if (tag === 0x11) fields.time(end, point.start);
    else if (tag === 0x19) fields.time(end, point.time);
    else if (tag === 0x21) {
      cursor.fixed64(end);
      point.countLow = cursor.low;
      point.countHigh = cursor.high;
    } else if (tag === 0x29) {
      point.sum = cursor.double(end);
      point.hasSum = true;
    } else return false;
    return true;
  }

  private readAttribute(end: number): void {
    const { fields } = this;
    const { point } = fields.state;
    point.size += fields.attribute(fields.cursor.enter(end), point.attributes, 0, point.fault, 'attributes');
  }

  private readFlags(): void {
    const { cursor, state } = this.fields;
    cursor.varint();
    state.point.flags = cursor.low;
  }

  private readMin(end: number): void {
    const { cursor, state } = this.fields;
    state.point.min = cursor.double(end);
    state.point.hasMin = true;
  }

  private readMax(end: number): void {
    const { cursor, state } = this.fields;
    state.point.max = cursor.double(end);
    state.point.hasMax = true;
  }

  private readCounts(stop: number): void {
    const { cursor } = this.fields;
    while (cursor.at < stop) this.readCount(stop);
  }

  private readCount(end: number): void {
    const { cursor, state } = this.fields;
    const { point } = state;
    cursor.fixed64(end);
    if (point.admitBucket(state.limits, 'bucketCounts')) point.counts.push(cursor.low, cursor.high);
  }

  private readBound(end: number): void {
    const { cursor, state } = this.fields;
    const { point } = state;
    const bound = cursor.double(end);
    if (point.admitBound(state.limits)) point.bounds.push(bound);
  }

  /** Reads one side of an exponential histogram; returns its offset, which is the one before where none was sent. */
  private readBuckets(end: number, counts: CountList, before: number, field: string): number {
    const { cursor, state } = this.fields;
    let offset = before;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x08) {
        cursor.varint();
        offset = zigzag(cursor.low);
      } else if (tag === 0x12 || tag === 0x10) {
        const stop = tag === 0x12 ? cursor.enter(end) : cursor.at + 1;
        while (cursor.at < stop) {
          cursor.varint();
          if (state.point.admitBucket(state.limits, field)) counts.push(cursor.low, cursor.high);
        }
        if (tag === 0x12) cursor.expectEnd(stop);
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    return offset;
  }

  private readQuantile(end: number): void {
    const { cursor, state } = this.fields;
    const { point } = state;
    let quantile = 0;
    let value = 0;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x09) quantile = cursor.double(end);
      else if (tag === 0x11) value = cursor.double(end);
      else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    point.addQuantile(state.limits, quantile, value);
  }

  private readExemplar(end: number): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { point } = state;
    point.admitExemplar(state.limits);
    const exemplar = point.nextExemplar();
    let traceProblem: string = idIs.absent;
    let spanProblem: string = idIs.absent;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x11) fields.time(end, exemplar.time);
      else if (tag === 0x19) exemplar.value.setDouble(cursor.double(end));
      else if (tag === 0x31) {
        cursor.fixed64(end);
        exemplar.value.setInteger(cursor.low, cursor.high);
      } else if (tag === 0x22)
        spanProblem = readId(cursor, cursor.enter(end), 8, exemplar.ids, exemplarIdPlaces.span);
      else if (tag === 0x2a)
        traceProblem = readId(cursor, cursor.enter(end), 16, exemplar.ids, exemplarIdPlaces.trace);
      else if (tag === 0x3a) {
        const stop = cursor.enter(end);
        const list = point.exemplarAttributes;
        const field = 'exemplars[].filteredAttributes';
        point.size += fields.attribute(stop, list, exemplar.attributesFrom, point.fault, field);
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
    exemplar.attributesTo = point.exemplarAttributes.count;
    exemplar.hasTrace = hasExemplarId(state, traceProblem);
    exemplar.hasSpan = hasExemplarId(state, spanProblem);
  }
}

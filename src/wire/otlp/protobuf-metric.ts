import { kindIs } from './data-point-slots.ts';
import { EmptyMetrics } from './empty-metrics.ts';
import { ProtobufDataPointReader } from './protobuf-data-point.ts';
import type { ProtobufFields } from './protobuf-fields.ts';
import type { ProtobufItemReader } from './protobuf-reader.ts';
import type { ItemVisitor } from './read-state.ts';

/** The kind of a metric by the tag of its data; −1 for any other tag. */
const kindOf = (tag: number): number => {
  if (tag === 0x2a) return kindIs.gauge;
  if (tag === 0x3a) return kindIs.sum;
  if (tag === 0x4a) return kindIs.histogram;
  if (tag === 0x52) return kindIs.exponentialHistogram;
  return tag === 0x5a ? kindIs.summary : -1;
};

/** Reads one metric of protobuf, first all but its data points, then these. */
export class ProtobufMetricReader implements ProtobufItemReader {
  private readonly fields: ProtobufFields;
  private readonly points: ProtobufDataPointReader;
  private readonly empty = new EmptyMetrics();
  private temporality = 0;

  constructor(fields: ProtobufFields) {
    this.fields = fields;
    this.points = new ProtobufDataPointReader(fields);
  }

  read(end: number, visitor: ItemVisitor): void {
    const { fields } = this;
    const { cursor, value, state } = fields;
    const { point } = state;
    const { metric } = point;
    metric.clear();
    value.cutValues = 0;
    point.table = -1;
    // Of several kinds the last counts; parts of one kind are merged, as protobuf merges a repeated message.
    let from = end;
    while (cursor.at < end) {
      const at = cursor.at;
      const tag = cursor.tag();
      if (tag === 0x0a) {
        const stop = cursor.enter(end);
        metric.nameStart = cursor.at;
        metric.nameEnd = cursor.at = stop;
      } else if (tag === 0x12) {
        const stop = cursor.enter(end);
        metric.descriptionStart = cursor.at;
        metric.descriptionEnd = cursor.at = stop;
      } else if (tag === 0x1a) {
        const stop = cursor.enter(end);
        metric.unitStart = cursor.at;
        metric.unitEnd = cursor.at = stop;
      } else if (tag === 0x62) {
        const stop = cursor.enter(end);
        metric.size += fields.attribute(stop, metric.metadata, 0, metric.fault, 'metric.metadata');
      } else {
        const kind = kindOf(tag);
        if (kind >= 0 && kind !== point.table) {
          point.table = kind;
          from = at;
        }
        if (kind < 0) this.notice(tag);
        cursor.skip(tag, end);
      }
    }
    cursor.expectEnd(end);
    metric.size += metric.nameEnd - metric.nameStart + metric.unitEnd - metric.unitStart;
    metric.size += metric.descriptionEnd - metric.descriptionStart;
    metric.cutValues = value.cutValues;
    metric.finish();
    if (point.table < 0 || !this.readData(from, end, visitor)) this.empty.note(state);
    cursor.at = end;
  }

  /** Items of other signals have their times where a metric has nothing. Other fields may be data of kinds that OTLP has no longer. */
  private notice(tag: number): void {
    if ((tag & 7) === 2) this.fields.state.noteUnknown('metrics[].', String(tag >>> 3));
    if (tag === 0x39)
      this.fields.lookLike = 'they look like spans: send them to the path or the service of traces';
    else if (tag === 0x09)
      this.fields.lookLike = 'they look like log records: send them to the path or the service of logs';
  }

  /** Reads the data from `from` on, all of one kind; false where it has no points. */
  private readData(from: number, end: number, visitor: ItemVisitor): boolean {
    const { fields } = this;
    const { cursor, state } = fields;
    const { metric, table } = state.point;
    const hasTemporality = table !== kindIs.gauge && table !== kindIs.summary;
    this.temporality = 0;
    cursor.at = from;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (kindOf(tag) === table) this.readHead(cursor.enter(end), hasTemporality);
      else cursor.skip(tag, end);
    }
    metric.temporality = fields.knownEnum(this.temporality, 2);
    const kept = state.scratch.length;
    let any = false;
    cursor.at = from;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (kindOf(tag) !== table) {
        cursor.skip(tag, end);
        continue;
      }
      const stop = cursor.enter(end);
      while (cursor.at < stop) {
        const inner = cursor.tag();
        if (inner === 0x0a) {
          state.scratch.length = kept;
          this.points.read(cursor.enter(stop));
          visitor.item();
          any = true;
        } else cursor.skip(inner, stop);
      }
    }
    return any;
  }

  /** Reads what the data of a kind has beside its points. */
  private readHead(end: number, hasTemporality: boolean): void {
    const { cursor, state } = this.fields;
    const { metric, table } = state.point;
    while (cursor.at < end) {
      const tag = cursor.tag();
      if (tag === 0x10 && hasTemporality) {
        cursor.varint();
        this.temporality = cursor.low | 0;
      } else if (tag === 0x18 && table === kindIs.sum) {
        cursor.varint();
        metric.isMonotonic = (cursor.low | cursor.high) !== 0;
      } else cursor.skip(tag, end);
    }
    cursor.expectEnd(end);
  }
}

import { metricKinds } from './data-point-slots.ts';
import { EmptyMetrics } from './empty-metrics.ts';
import type { JsonKind } from './json-cursor.ts';
import { JsonDataFields } from './json-data-fields.ts';
import { JsonDataPointReader } from './json-data-point.ts';
import type { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';
import type { JsonItemReader } from './json-reader.ts';
import type { ItemVisitor } from './read-state.ts';
import { MalformedBody } from './types.ts';

const metricKeys = new KeySet(['name', 'description', 'unit', 'metadata', ...metricKinds]);
const firstKind = 4;
/** Members of the data of each kind. */
const dataKeys = [
  new KeySet(['dataPoints']),
  new KeySet(['dataPoints', 'aggregationTemporality', 'isMonotonic']),
  new KeySet(['dataPoints', 'aggregationTemporality']),
  new KeySet(['dataPoints', 'aggregationTemporality']),
  new KeySet(['dataPoints']),
];
const noKeys = new KeySet([]);

const temporalities = ['UNSPECIFIED', 'DELTA', 'CUMULATIVE'];

const expected = (name: string, what: string, kind: JsonKind): MalformedBody =>
  new MalformedBody(
    `${name} is not ${what}${what === 'an array' && kind === 'object' ? ' but an object: put it in brackets' : ''}`,
    name,
  );

/** Reads one metric of JSON, first all but its data points, then these. */
export class JsonMetricReader implements JsonItemReader {
  private readonly fields: JsonFields;
  private readonly data: JsonDataFields;
  private readonly points: JsonDataPointReader;
  private readonly empty = new EmptyMetrics();
  /** Where the array of data points begins that has to be read, and where it ends; −1 for none. */
  private waiting = -1;
  private waitingEnd = -1;

  constructor(fields: JsonFields) {
    this.fields = fields;
    this.data = new JsonDataFields(fields);
    this.points = new JsonDataPointReader(fields, this.data);
  }

  read(visitor: ItemVisitor): void {
    const { cursor, value, state } = this.fields;
    const { point } = state;
    const { metric } = point;
    if (cursor.kind() !== 'object')
      throw new MalformedBody('an element of metrics is not an object', 'metrics');
    metric.clear();
    value.cutValues = 0;
    this.waiting = -1;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(metricKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member >= firstKind) this.readData(member - firstKind);
      else if (member < 0) this.passUnknown();
      else this.readField(member);
    }
    metric.cutValues = value.cutValues;
    metric.finish();
    if (this.waiting >= 0) this.readPoints(visitor);
    else this.empty.note(state);
  }

  private readField(member: number): void {
    const { fields } = this;
    const { metric } = fields.state.point;
    if (member === 3) {
      metric.size += fields.attributes(metric.metadata, 0, metric.fault, 'metric.metadata');
      return;
    }
    if (member === 0) {
      const kind = fields.cursor.kind();
      metric.hasWrongName ||= kind !== 'string' && kind !== 'null';
    }
    metric.size += fields.text(
      metric.fault,
      `metric.${member === 0 ? 'name' : member === 1 ? 'description' : 'unit'}`,
    );
    if (member === 0) {
      metric.nameStart = fields.start;
      metric.nameEnd = fields.end;
    } else if (member === 1) {
      metric.descriptionStart = fields.start;
      metric.descriptionEnd = fields.end;
    } else {
      metric.unitStart = fields.start;
      metric.unitEnd = fields.end;
    }
  }

  /** Reads the data of a kind but for its points, which wait: what comes after them counts for them. Data without points replaces none. */
  private readData(kind: number): void {
    const { cursor, state } = this.fields;
    const { point } = state;
    const { metric } = point;
    const name = metricKinds[kind] ?? '';
    const found = cursor.kind();
    if (found === 'null') return cursor.literal('null');
    if (found !== 'object') throw expected(name, 'an object', found);
    const { table } = point;
    const { temporality, isMonotonic } = metric;
    const { waiting, waitingEnd } = this;
    if (waiting >= 0) this.checkWaiting();
    this.readMembers(kind, name);
    if (waiting < 0) return;
    if (this.waiting >= 0) {
      const earlier = metricKinds[table] ?? '';
      const beside = `data points beside those in ${name}: send two metrics`;
      return metric.fault.set('data_point_field_invalid', `metric.${earlier}`, beside);
    }
    point.table = table;
    metric.temporality = temporality;
    metric.isMonotonic = isMonotonic;
    this.waiting = waiting;
    this.waitingEnd = waitingEnd;
  }

  private readMembers(kind: number, name: string): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { point } = state;
    const { metric } = point;
    point.table = kind;
    metric.temporality = 0;
    metric.isMonotonic = false;
    this.waiting = -1;
    const keys = dataKeys[kind] ?? noKeys;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(keys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member === 1) {
        const field = `${name}.aggregationTemporality`;
        metric.temporality = fields.enumeration(temporalities, metric.fault, field);
      } else if (member === 2) metric.isMonotonic = this.data.boolean(metric.fault, `${name}.isMonotonic`);
      else this.passPoints();
    }
  }

  private passPoints(): void {
    const { cursor } = this.fields;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') throw expected('dataPoints', 'an array', kind);
    const { at } = cursor;
    if (!cursor.open()) return;
    cursor.at = at;
    this.waiting = at;
    cursor.pass();
    cursor.peek();
    this.waitingEnd = cursor.at;
  }

  /** Reads data points that may not count as JSON, for they were only passed. */
  private checkWaiting(): void {
    const { cursor } = this.fields;
    const { at } = cursor;
    cursor.at = this.waiting;
    cursor.skip();
    this.expectWaitingEnd();
    cursor.at = at;
  }

  private readPoints(visitor: ItemVisitor): void {
    const { cursor, state } = this.fields;
    const { scratch } = state;
    const after = cursor.at;
    const kept = scratch.length;
    cursor.at = this.waiting;
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      scratch.length = kept;
      this.points.read();
      visitor.item();
    }
    this.expectWaitingEnd();
    cursor.at = after;
  }

  private expectWaitingEnd(): void {
    const { cursor } = this.fields;
    cursor.peek();
    if (cursor.at !== this.waitingEnd) throw cursor.malformed('expected a comma or }');
  }

  /** Data of a kind that OTLP has no longer, or not yet, holds data points that are not read. */
  private passUnknown(): void {
    const { cursor, state } = this.fields;
    state.noteUnknown('metrics[].', state.textAt(cursor.start, cursor.end));
    cursor.skip();
  }
}

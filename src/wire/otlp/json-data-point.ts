import {
  type CountList,
  type ExemplarSlot,
  exemplarIdPlaces,
  kindIs,
  type NumberSlot,
} from './data-point-slots.ts';
import { hasExemplarId } from './exemplar-ids.ts';
import type { JsonDataFields } from './json-data-fields.ts';
import type { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';

/** Members that every data point may have. */
const shared = ['attributes', 'startTimeUnixNano', 'timeUnixNano', 'flags', 'exemplars'];
const firstOwn = 5;
const distribution = ['count', 'sum', 'min', 'max'];

/** Members of the data points of each kind. */
const pointKeys = {
  number: new KeySet([...shared, 'asDouble', 'asInt']),
  histogram: new KeySet([...shared, ...distribution, 'bucketCounts', 'explicitBounds']),
  exponential: new KeySet([
    ...shared,
    ...distribution,
    ...['scale', 'zeroCount', 'positive', 'negative', 'zeroThreshold'],
  ]),
  summary: new KeySet([...shared, 'count', 'sum', 'quantileValues']),
};
const bucketKeys = new KeySet(['offset', 'bucketCounts']);
const quantileKeys = new KeySet(['quantile', 'value']);
const exemplarKeys = new KeySet([
  'filteredAttributes',
  'timeUnixNano',
  'asDouble',
  'asInt',
  'spanId',
  'traceId',
]);

const flagsMax = 2 ** 32 - 1;

/** Reads one data point of JSON into the slots, of the kind that they name. */
export class JsonDataPointReader {
  private readonly fields: JsonFields;
  private readonly data: JsonDataFields;

  constructor(fields: JsonFields, data: JsonDataFields) {
    this.fields = fields;
    this.data = data;
  }

  read(): void {
    const { cursor, value, state } = this.fields;
    const { point } = state;
    point.clear();
    value.cutValues = 0;
    if (cursor.kind() !== 'object') {
      const from = cursor.at;
      cursor.skip();
      point.fault.set('data_point_not_object', '', '', cursor.shown(from));
      point.size += point.metric.size;
      return;
    }
    const keys = keysOf(point.table);
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(keys, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << member;
      if (member < firstOwn) this.readShared(member);
      else if (point.table <= kindIs.sum) this.readNumber(point.value, member - firstOwn, '');
      else if (point.table === kindIs.summary) this.readOfSummary(member - firstOwn);
      else if (member < firstOwn + distribution.length) this.readOfDistribution(member - firstOwn);
      else if (point.table === kindIs.histogram)
        this.readOfHistogram(member - firstOwn - distribution.length);
      else this.readOfExponential(member - firstOwn - distribution.length);
    }
    point.cutValues = value.cutValues;
    point.finish();
  }

  private readShared(member: number): void {
    const { fields } = this;
    const { point } = fields.state;
    if (member === 0) point.size += fields.attributes(point.attributes, 0, point.fault, 'attributes');
    else if (member === 1) fields.time(point.start);
    else if (member === 2) fields.time(point.time);
    else if (member === 3) point.flags = fields.count(flagsMax, point.fault, 'flags');
    else if (point.table === kindIs.summary) fields.cursor.skip();
    else this.eachItem('exemplars', 'object', () => this.readExemplar());
  }

  /** Reads `asDouble` (0) or `asInt` (1); of both the last counts. */
  private readNumber(number: NumberSlot, member: number, path: string): void {
    const { data } = this;
    const { fault } = this.fields.state.point;
    if (member === 1) {
      if (data.signed(fault, `${path}asInt`)) number.setInteger(data.low, data.high);
      return;
    }
    const value = data.double(fault, `${path}asDouble`);
    if (value !== undefined) number.setDouble(value);
  }

  private readOfDistribution(member: number): void {
    const { point } = this.fields.state;
    if (member === 0) return this.readCount();
    if (member === 1) return this.readSum();
    const value = this.data.double(point.fault, member === 2 ? 'min' : 'max');
    if (value === undefined) return;
    if (member === 2) {
      point.min = value;
      point.hasMin = true;
    } else {
      point.max = value;
      point.hasMax = true;
    }
  }

  private readCount(): void {
    const { data } = this;
    const { point } = this.fields.state;
    data.count(point.fault, 'count');
    point.countLow = data.low;
    point.countHigh = data.high;
  }

  private readSum(): void {
    const { point } = this.fields.state;
    const value = this.data.double(point.fault, 'sum');
    if (value === undefined) return;
    point.sum = value;
    point.hasSum = true;
  }

  private readOfHistogram(member: number): void {
    const { point, limits } = this.fields.state;
    if (member === 0) this.readCounts(point.counts, 'bucketCounts');
    else
      this.eachItem('explicitBounds', 'any', () => {
        const bound = this.data.double(point.fault, 'explicitBounds[]') ?? Number.NaN;
        if (point.admitBound(limits)) point.bounds.push(bound);
      });
  }

  private readOfExponential(member: number): void {
    const { data } = this;
    const { point } = this.fields.state;
    if (member === 0) point.scale = data.int32(point.fault, 'scale');
    else if (member === 1) {
      data.count(point.fault, 'zeroCount');
      point.zeroLow = data.low;
      point.zeroHigh = data.high;
    } else if (member === 2) point.positiveOffset = this.readBuckets(point.counts, 'positive');
    else if (member === 3) point.negativeOffset = this.readBuckets(point.negative, 'negative');
    else point.zeroThreshold = data.double(point.fault, 'zeroThreshold') ?? 0;
  }

  private readOfSummary(member: number): void {
    if (member === 0) this.readCount();
    else if (member === 1) this.readSum();
    else this.eachItem('quantileValues', 'object', () => this.readQuantile());
  }

  /** Reads one side of an exponential histogram; returns its offset. */
  private readBuckets(counts: CountList, field: string): number {
    const { fields } = this;
    const { cursor } = fields;
    const { fault } = fields.state.point;
    let offset = 0;
    const kind = cursor.kind();
    if (kind === 'null') cursor.literal('null');
    else if (kind !== 'object') fields.refuse(fault, field, 'an object');
    else {
      let seen = 0;
      for (let has = cursor.open(); has; has = cursor.nextMember()) {
        const member = fields.member(bucketKeys, seen);
        seen |= member < 0 ? 0 : 1 << member;
        if (member < 0) cursor.skip();
        else if (member === 0) offset = this.data.int32(fault, `${field}.offset`);
        else this.readCounts(counts, `${field}.bucketCounts`);
      }
    }
    return offset;
  }

  private readCounts(counts: CountList, field: string): void {
    const { data } = this;
    const { point, limits } = this.fields.state;
    const { cursor } = this.fields;
    const item = `${field}[]`;
    this.eachItem(field, 'any', () => {
      if (cursor.peek() === 0x6e) this.fields.refuse(point.fault, item, 'a number');
      else data.count(point.fault, item);
      if (point.admitBucket(limits, field)) counts.push(data.low, data.high);
    });
  }

  private readQuantile(): void {
    const { fields, data } = this;
    const { cursor, state } = fields;
    const { point, limits } = state;
    let quantile = 0;
    let value = 0;
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(quantileKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member === 0) quantile = data.double(point.fault, 'quantileValues[].quantile') ?? 0;
      else value = data.double(point.fault, 'quantileValues[].value') ?? 0;
    }
    point.addQuantile(limits, quantile, value);
  }

  private readExemplar(): void {
    const { fields } = this;
    const { cursor, state } = fields;
    const { point } = state;
    point.admitExemplar(state.limits);
    const exemplar = point.nextExemplar();
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = fields.member(exemplarKeys, seen);
      seen |= member < 0 ? 0 : 1 << member;
      if (member < 0) cursor.skip();
      else if (member === 0) {
        const field = 'exemplars[].filteredAttributes';
        const list = point.exemplarAttributes;
        point.size += fields.attributes(list, exemplar.attributesFrom, point.fault, field);
      } else if (member === 1) fields.time(exemplar.time);
      else if (member < 4) this.readNumber(exemplar.value, member - 2, 'exemplars[].');
      else this.readId(exemplar, member);
    }
    exemplar.attributesTo = point.exemplarAttributes.count;
  }

  private readId(exemplar: ExemplarSlot, member: number): void {
    const { fields } = this;
    const { ids } = exemplar;
    if (member === 4)
      exemplar.hasSpan = hasExemplarId(fields.state, fields.id(ids, exemplarIdPlaces.span, 16));
    else exemplar.hasTrace = hasExemplarId(fields.state, fields.id(ids, exemplarIdPlaces.trace, 32));
  }

  /** Reads an array; any other value, and an item that is no object where they are to be, is a fault of the data point. */
  private eachItem(field: string, expected: 'object' | 'any', read: () => void): void {
    const { fields } = this;
    const { cursor } = fields;
    const { fault } = fields.state.point;
    const kind = cursor.kind();
    if (kind === 'null') return cursor.literal('null');
    if (kind !== 'array') return fields.refuse(fault, field, 'an array');
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      if (expected === 'any' || cursor.kind() === 'object') read();
      else fields.refuse(fault, `${field}[]`, 'an object');
    }
  }
}

const keysOf = (table: number): KeySet => {
  if (table <= kindIs.sum) return pointKeys.number;
  if (table === kindIs.histogram) return pointKeys.histogram;
  return table === kindIs.summary ? pointKeys.summary : pointKeys.exponential;
};

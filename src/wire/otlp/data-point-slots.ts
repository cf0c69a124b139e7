import { ByteSource } from '../native/bytes.ts';
import { itemSizes } from './any-value.ts';
import { AttributeSlots, clearTime, FaultSlot, type ItemSlots, newTime, type TimeSlot } from './slots.ts';
import type { ItemLimits } from './types.ts';

const listStart = 32;
const keptListMax = 4096;

/** The kinds of metrics, in the order of the tables of their data points. */
export const metricKinds = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;

/** The place of each kind in that list. */
export const kindIs = { gauge: 0, sum: 1, histogram: 2, exponentialHistogram: 3, summary: 4 } as const;

/** A flag of a data point: it has no value, and says so. */
const noRecordedValue = 1;

/** Where each id begins in `ExemplarSlot.ids`. */
export const exemplarIdPlaces = { trace: 0, span: 32, end: 48 } as const;

/** A number as double or as a 64-bit integer, whose halves are exact. */
export class NumberSlot {
  hasValue = false;
  isInteger = false;
  double = 0;
  low = 0;
  high = 0;

  clear(): void {
    this.hasValue = this.isInteger = false;
    this.double = this.low = this.high = 0;
  }

  setDouble(value: number): void {
    this.hasValue = true;
    this.isInteger = false;
    this.double = value;
  }

  /** Of the halves of an integer in two's complement. */
  setInteger(low: number, high: number): void {
    this.hasValue = this.isInteger = true;
    this.low = low;
    this.high = high;
    // One rounding: the product and the sum of two doubles would round a negative number twice.
    this.double = (high | 0) * 2 ** 32 + low;
  }
}

export class ExemplarSlot {
  readonly value = new NumberSlot();
  readonly time: TimeSlot = newTime();
  /** Trace and span id in lower-case hexadecimal, each where the exemplar has a valid one. */
  readonly ids = new ByteSource(Buffer.alloc(exemplarIdPlaces.end));
  hasTrace = false;
  hasSpan = false;
  attributesFrom = 0;
  attributesTo = 0;
}

/** Counts of 64 bits as halves, the lower one first. */
export class CountList {
  length = 0;
  words = new Uint32Array(2 * listStart);

  push(low: number, high: number): void {
    const at = 2 * this.length;
    if (at === this.words.length) {
      const larger = new Uint32Array(2 * at);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[at] = low;
    this.words[at + 1] = high;
    this.length++;
  }

  shrink(): void {
    this.length = 0;
    if (this.words.length > 2 * keptListMax) this.words = new Uint32Array(2 * listStart);
  }
}

export class DoubleList {
  length = 0;
  numbers = new Float64Array(listStart);

  push(value: number): void {
    if (this.length === this.numbers.length) {
      const larger = new Float64Array(2 * this.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers[this.length++] = value;
  }

  shrink(): void {
    this.length = 0;
    if (this.numbers.length > keptListMax) this.numbers = new Float64Array(listStart);
  }
}

/** What the data points of one metric share. */
export class MetricSlots {
  /** Different for each metric of the request. */
  number = 0;
  readonly fault = new FaultSlot();
  size = 0;
  nameStart = 0;
  nameEnd = 0;
  /** A name that is no text (JSON): the fault says so, and the name is not missing. */
  hasWrongName = false;
  descriptionStart = 0;
  descriptionEnd = 0;
  unitStart = 0;
  unitEnd = 0;
  readonly metadata = new AttributeSlots();
  /** Values that were nested deeper than the limit. */
  cutValues = 0;
  temporality = 0;
  isMonotonic = false;

  clear(): void {
    this.number++;
    this.fault.clear();
    this.size = 0;
    this.nameStart = this.nameEnd = 0;
    this.hasWrongName = false;
    this.descriptionStart = this.descriptionEnd = 0;
    this.unitStart = this.unitEnd = 0;
    this.metadata.count = 0;
    this.cutValues = 0;
    this.temporality = 0;
    this.isMonotonic = false;
  }

  /** To be called when all of it but its data points was read. */
  finish(): void {
    if (this.nameStart === this.nameEnd && !this.hasWrongName)
      this.fault.set('metric_name_missing', 'metric.name', '');
  }
}

/** One data point of any kind, with its metric (see ItemSlots). */
export class DataPointSlots implements ItemSlots {
  readonly metric = new MetricSlots();
  /** The kind of its metric, which is the place of its table. */
  table = 0;
  readonly fault = new FaultSlot();
  size = 0;
  readonly time: TimeSlot = newTime();
  readonly start: TimeSlot = newTime();
  flags = 0;
  readonly attributes = new AttributeSlots();
  /** Values that were nested deeper than the limit. */
  cutValues = 0;
  readonly value = new NumberSlot();

  // Of histograms and summaries.
  countLow = 0;
  countHigh = 0;
  sum = 0;
  hasSum = false;
  min = 0;
  hasMin = false;
  max = 0;
  hasMax = false;
  /** Counts of the buckets of a histogram, and of an exponential one those of positive values. */
  readonly counts = new CountList();
  readonly negative = new CountList();
  /** The bounds of a histogram, or the quantiles of a summary. */
  readonly bounds = new DoubleList();
  /** Values at the quantiles. */
  readonly values = new DoubleList();
  scale = 0;
  zeroLow = 0;
  zeroHigh = 0;
  zeroThreshold = 0;
  positiveOffset = 0;
  negativeOffset = 0;

  private isOverBuckets = false;

  exemplarCount = 0;
  readonly exemplars: ExemplarSlot[] = [];
  readonly exemplarAttributes = new AttributeSlots();

  get instant(): TimeSlot {
    return this.time;
  }

  clear(): void {
    this.fault.clear();
    this.size = 0;
    clearTime(this.time);
    clearTime(this.start);
    this.flags = 0;
    this.attributes.count = 0;
    this.cutValues = 0;
    this.value.clear();
    this.exemplarCount = 0;
    this.exemplarAttributes.count = 0;
    if (this.table >= kindIs.histogram) this.clearDistribution();
  }

  nextExemplar(): ExemplarSlot {
    const exemplar = this.exemplars[this.exemplarCount] ?? new ExemplarSlot();
    this.exemplars[this.exemplarCount++] = exemplar;
    exemplar.value.clear();
    clearTime(exemplar.time);
    exemplar.hasTrace = exemplar.hasSpan = false;
    exemplar.attributesFrom = exemplar.attributesTo = this.exemplarAttributes.count;
    return exemplar;
  }

  /** Notes another exemplar; over the limit it sets a fault and forgets the ones before. */
  admitExemplar({ exemplarsMax = Number.MAX_SAFE_INTEGER }: ItemLimits): void {
    this.size += itemSizes.exemplar;
    if (this.exemplarCount < exemplarsMax) return;
    this.fault.set('too_many_exemplars', 'exemplars', `more than the limit of ${exemplarsMax}`);
    this.exemplarAttributes.count = 0;
    this.exemplarCount = 0;
  }

  /** Notes another bucket; false over the limit, which is a fault, and then it is not to be kept. */
  admitBucket({ bucketsMax }: ItemLimits, field: string): boolean {
    this.size += itemSizes.scalar;
    return this.admit(this.counts.length + this.negative.length, bucketsMax, field);
  }

  /** The same for a bound of a histogram. */
  admitBound({ bucketsMax }: ItemLimits): boolean {
    this.size += itemSizes.scalar;
    return this.admit(this.bounds.length, bucketsMax, 'explicitBounds');
  }

  /** Appends a quantile of a summary and its value, within the limit. OTLP has quantiles from 0 to 1. */
  addQuantile({ bucketsMax }: ItemLimits, quantile: number, value: number): void {
    this.size += 2 * itemSizes.scalar;
    // Of what is no number neither holds.
    if (!(quantile >= 0 && quantile <= 1))
      this.fault.set(
        'data_point_field_invalid',
        'quantileValues[].quantile',
        'expected a number from 0 to 1',
        String(quantile),
      );
    if (!this.admit(this.bounds.length, bucketsMax, 'quantileValues')) return;
    this.bounds.push(quantile);
    this.values.push(value);
  }

  /** To be called when all of it was read: applies the rules that take more than one field. */
  finish(): void {
    this.size += this.metric.size;
    if ((this.flags & noRecordedValue) !== 0) this.value.clear();
    if (this.table === kindIs.histogram && !this.isOverBuckets) this.judgeBounds();
    this.fault.take(this.metric.fault);
  }

  shrink(): void {
    for (const list of [this.attributes, this.exemplarAttributes, this.metric.metadata]) list.shrink();
    for (const list of [this.counts, this.negative, this.bounds, this.values]) list.shrink();
  }

  private admit(length: number, max: number | undefined, field: string): boolean {
    if (max === undefined || length < max) return true;
    // Once: a body has room for millions.
    if (!this.isOverBuckets) this.fault.set('too_many_buckets', field, `more than the limit of ${max}`);
    this.isOverBuckets = true;
    return false;
  }

  private clearDistribution(): void {
    this.isOverBuckets = false;
    this.countLow = this.countHigh = 0;
    this.sum = this.min = this.max = 0;
    this.hasSum = this.hasMin = this.hasMax = false;
    this.counts.length = this.negative.length = this.bounds.length = this.values.length = 0;
    this.scale = this.zeroLow = this.zeroHigh = this.zeroThreshold = 0;
    this.positiveOffset = this.negativeOffset = 0;
  }

  /** A bucket lies between two bounds, so there is one more of them; or the histogram has neither. */
  private judgeBounds(): void {
    const { counts, bounds } = this;
    if (counts.length !== bounds.length + 1 && counts.length + bounds.length > 0) {
      const detail = `${counts.length} buckets do not fit ${bounds.length} bounds: expected one more than bounds`;
      this.fault.set('data_point_field_invalid', 'bucketCounts', detail);
      return;
    }
    let before = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < bounds.length; index++) {
      const bound = bounds.numbers[index] ?? 0;
      // Of what is no number neither holds.
      if (bound > before || (index === 0 && bound === before)) {
        before = bound;
        continue;
      }
      this.fault.set('data_point_field_invalid', 'explicitBounds', 'the bounds do not increase');
      return;
    }
  }
}

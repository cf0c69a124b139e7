import { ArrayColumn } from '../native/nested-columns.ts';
import { NumberColumn, WordColumn } from '../native/number-columns.ts';
import { FloatColumn, NullableColumn } from '../native/value-columns.ts';
import { DataPointBlock, namedColumns } from './data-point-block.ts';
import { type DataPointSlots, kindIs } from './data-point-slots.ts';

const bit = (value: boolean): number => (value ? 1 : 0);

/** The columns of a number. */
class ValueColumns {
  private readonly value = new FloatColumn();
  private readonly integer = new NullableColumn('Int64');
  private readonly hasValue = new NumberColumn('Bool');

  readonly named = namedColumns([
    ['Value', this.value],
    ['ValueInt', this.integer],
    ['HasValue', this.hasValue],
  ]);

  append({ value }: DataPointSlots): void {
    this.value.push(value.double);
    if (value.isInteger) this.integer.push(value.low, value.high);
    else this.integer.pushNull();
    this.hasValue.push(bit(value.hasValue));
  }
}

/** Data points of gauges. */
class GaugeBlock extends DataPointBlock {
  private readonly value = new ValueColumns();
  protected readonly ownColumns = this.value.named;

  constructor() {
    super(kindIs.gauge);
  }

  protected appendOwn(point: DataPointSlots): void {
    this.value.append(point);
  }
}

/** Data points of sums. */
class SumBlock extends DataPointBlock {
  private readonly value = new ValueColumns();
  private readonly temporality = new NumberColumn('Int32');
  private readonly isMonotonic = new NumberColumn('Bool');

  protected readonly ownColumns = [
    ...this.value.named,
    ...namedColumns([
      ['AggregationTemporality', this.temporality],
      ['IsMonotonic', this.isMonotonic],
    ]),
  ];

  constructor() {
    super(kindIs.sum);
  }

  protected appendOwn(point: DataPointSlots): void {
    this.value.append(point);
    this.temporality.push(point.metric.temporality);
    this.isMonotonic.push(bit(point.metric.isMonotonic));
  }
}

/** The columns that both histograms have. */
class DistributionColumns {
  private readonly count = new WordColumn('UInt64');
  private readonly sum = new FloatColumn();
  private readonly min = new FloatColumn();
  private readonly max = new FloatColumn();
  private readonly hasSum = new NumberColumn('Bool');
  private readonly hasMin = new NumberColumn('Bool');
  private readonly hasMax = new NumberColumn('Bool');
  private readonly temporality = new NumberColumn('Int32');

  readonly named = namedColumns([
    ['Count', this.count],
    ['Sum', this.sum],
    ['Min', this.min],
    ['Max', this.max],
    ['AggregationTemporality', this.temporality],
    ['HasSum', this.hasSum],
    ['HasMin', this.hasMin],
    ['HasMax', this.hasMax],
  ]);

  append(point: DataPointSlots): void {
    this.count.push(point.countLow, point.countHigh);
    this.sum.push(point.sum);
    this.min.push(point.min);
    this.max.push(point.max);
    this.hasSum.push(bit(point.hasSum));
    this.hasMin.push(bit(point.hasMin));
    this.hasMax.push(bit(point.hasMax));
    this.temporality.push(point.metric.temporality);
  }
}

/** Arrays of counts: their ends are kept with them. */
class CountsColumn {
  private readonly offsets = new WordColumn('UInt64');
  private readonly items = new WordColumn('UInt64');
  readonly column = new ArrayColumn(this.items, this.offsets);

  append({ words, length }: { readonly words: Uint32Array; readonly length: number }): void {
    this.items.pushFirst(words, length);
    this.offsets.push(this.items.rows, 0);
  }
}

/** Arrays of doubles. */
class DoublesColumn {
  private readonly offsets = new WordColumn('UInt64');
  private readonly items = new FloatColumn();
  readonly column = new ArrayColumn(this.items, this.offsets);

  append({ numbers, length }: { readonly numbers: Float64Array; readonly length: number }): void {
    this.items.pushFirst(numbers, length);
    this.offsets.push(this.items.rows, 0);
  }
}

/** Data points of histograms with explicit bounds. */
class HistogramBlock extends DataPointBlock {
  private readonly distribution = new DistributionColumns();
  private readonly counts = new CountsColumn();
  private readonly bounds = new DoublesColumn();

  protected readonly ownColumns = [
    ...this.distribution.named,
    ...namedColumns([
      ['BucketCounts', this.counts.column],
      ['ExplicitBounds', this.bounds.column],
    ]),
  ];

  constructor() {
    super(kindIs.histogram);
  }

  protected appendOwn(point: DataPointSlots): void {
    this.distribution.append(point);
    this.counts.append(point.counts);
    this.bounds.append(point.bounds);
  }
}

/** Data points of exponential histograms. */
class ExponentialHistogramBlock extends DataPointBlock {
  private readonly distribution = new DistributionColumns();
  private readonly scale = new NumberColumn('Int32');
  private readonly zeroCount = new WordColumn('UInt64');
  private readonly positiveOffset = new NumberColumn('Int32');
  private readonly positive = new CountsColumn();
  private readonly negativeOffset = new NumberColumn('Int32');
  private readonly negative = new CountsColumn();
  private readonly zeroThreshold = new FloatColumn();

  protected readonly ownColumns = [
    ...this.distribution.named,
    ...namedColumns([
      ['Scale', this.scale],
      ['ZeroCount', this.zeroCount],
      ['PositiveOffset', this.positiveOffset],
      ['PositiveBucketCounts', this.positive.column],
      ['NegativeOffset', this.negativeOffset],
      ['NegativeBucketCounts', this.negative.column],
      ['ZeroThreshold', this.zeroThreshold],
    ]),
  ];

  constructor() {
    super(kindIs.exponentialHistogram);
  }

  protected appendOwn(point: DataPointSlots): void {
    this.distribution.append(point);
    this.scale.push(point.scale);
    this.zeroCount.push(point.zeroLow, point.zeroHigh);
    this.positiveOffset.push(point.positiveOffset);
    this.positive.append(point.counts);
    this.negativeOffset.push(point.negativeOffset);
    this.negative.append(point.negative);
    this.zeroThreshold.push(point.zeroThreshold);
  }
}

/** Data points of summaries. */
class SummaryBlock extends DataPointBlock {
  private readonly count = new WordColumn('UInt64');
  private readonly sum = new FloatColumn();
  private readonly quantiles = new DoublesColumn();
  private readonly values = new DoublesColumn();

  protected readonly ownColumns = namedColumns([
    ['Count', this.count],
    ['Sum', this.sum],
    ['ValueAtQuantiles.Quantile', this.quantiles.column],
    ['ValueAtQuantiles.Value', this.values.column],
  ]);

  constructor() {
    super(kindIs.summary);
  }

  protected appendOwn(point: DataPointSlots): void {
    this.count.push(point.countLow, point.countHigh);
    this.sum.push(point.sum);
    this.quantiles.append(point.bounds);
    this.values.append(point.values);
  }
}

/** A block for data points of the kind with this table. */
export const newDataPointBlock = (table: number): DataPointBlock => {
  if (table === kindIs.gauge) return new GaugeBlock();
  if (table === kindIs.sum) return new SumBlock();
  if (table === kindIs.histogram) return new HistogramBlock();
  return table === kindIs.exponentialHistogram ? new ExponentialHistogramBlock() : new SummaryBlock();
};

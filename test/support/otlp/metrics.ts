import {
  encodeAttribute,
  encodeResource,
  encodeScope,
  Message,
  type OtlpAttribute,
  type OtlpResourceSpans,
  type OtlpScopeSpans,
  one,
} from './protobuf.ts';

/** A double in OTLP's JSON. */
export type OtlpDouble = number | 'NaN' | 'Infinity' | '-Infinity';

/** A request of metrics in OTLP's canonical JSON form. */
export type OtlpExemplar = {
  filteredAttributes?: readonly OtlpAttribute[];
  timeUnixNano?: string;
  asDouble?: OtlpDouble;
  asInt?: string;
  spanId?: string;
  traceId?: string;
};
type PointFields = {
  attributes?: readonly OtlpAttribute[];
  startTimeUnixNano?: string;
  timeUnixNano?: string;
  exemplars?: readonly OtlpExemplar[];
  flags?: number;
};
type DistributionFields = { count?: string; sum?: OtlpDouble; min?: OtlpDouble; max?: OtlpDouble };
export type OtlpNumberPoint = PointFields & { asDouble?: OtlpDouble; asInt?: string };
export type OtlpHistogramPoint = PointFields &
  DistributionFields & { bucketCounts?: readonly string[]; explicitBounds?: readonly OtlpDouble[] };
export type OtlpBuckets = { offset?: number; bucketCounts?: readonly string[] };
export type OtlpExponentialPoint = PointFields &
  DistributionFields & {
    scale?: number;
    zeroCount?: string;
    positive?: OtlpBuckets;
    negative?: OtlpBuckets;
    zeroThreshold?: OtlpDouble;
  };
export type OtlpSummaryPoint = Omit<PointFields, 'exemplars'> & {
  count?: string;
  sum?: OtlpDouble;
  quantileValues?: readonly { quantile?: OtlpDouble; value?: OtlpDouble }[];
};
export type OtlpMetric = {
  name?: string;
  description?: string;
  unit?: string;
  gauge?: { dataPoints?: readonly OtlpNumberPoint[] };
  sum?: { dataPoints?: readonly OtlpNumberPoint[]; aggregationTemporality?: number; isMonotonic?: boolean };
  histogram?: { dataPoints?: readonly OtlpHistogramPoint[]; aggregationTemporality?: number };
  exponentialHistogram?: { dataPoints?: readonly OtlpExponentialPoint[]; aggregationTemporality?: number };
  summary?: { dataPoints?: readonly OtlpSummaryPoint[] };
  metadata?: readonly OtlpAttribute[];
};
export type OtlpScopeMetrics = {
  scope?: OtlpScopeSpans['scope'];
  metrics?: readonly OtlpMetric[];
  schemaUrl?: string;
};
export type OtlpResourceMetrics = {
  resource?: OtlpResourceSpans['resource'];
  scopeMetrics?: readonly OtlpScopeMetrics[];
  schemaUrl?: string;
};
export type OtlpMetricsRequest = { resourceMetrics?: readonly OtlpResourceMetrics[] };

/** How repeated numbers are written: as one field, as protobuf 3 does, or as a field for each, which readers must take too. */
export type Packing = 'packed' | 'unpacked';

const number = (value: OtlpDouble): number => Number(value);

const double = (message: Message, field: number, value: OtlpDouble | undefined): Message =>
  value === undefined ? message : message.double(field, number(value));

const zigzag = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : ((value << 1) ^ (value >> 31)) >>> 0;

/** Without tags: the values of a packed field. */
const packedFixed = (values: readonly string[]): Buffer => {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 8 * index);
  return bytes;
};

const packedDoubles = (values: readonly OtlpDouble[]): Buffer => {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(number(value), 8 * index);
  return bytes;
};

const varintBytes = (value: bigint): number[] =>
  value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varintBytes(value >> 7n)];

const encodeExemplar = (exemplar: OtlpExemplar): Message => {
  const message = new Message()
    .messages(7, exemplar.filteredAttributes, encodeAttribute)
    .fixed64(2, exemplar.timeUnixNano);
  return double(message, 3, exemplar.asDouble)
    .fixed64(6, signed(exemplar.asInt))
    .hex(4, exemplar.spanId)
    .hex(5, exemplar.traceId);
};

const signed = (decimal: string | undefined): string | undefined =>
  decimal === undefined ? undefined : String(BigInt.asUintN(64, BigInt(decimal)));

const encodeNumber = (point: OtlpNumberPoint): Message => {
  const message = new Message()
    .messages(7, point.attributes, encodeAttribute)
    .fixed64(2, point.startTimeUnixNano)
    .fixed64(3, point.timeUnixNano);
  return double(message, 4, point.asDouble)
    .fixed64(6, signed(point.asInt))
    .messages(5, point.exemplars, encodeExemplar)
    .varint(8, point.flags);
};

const encodeHistogram =
  (packing: Packing) =>
  (point: OtlpHistogramPoint): Message => {
    const message = double(
      new Message()
        .fixed64(2, point.startTimeUnixNano)
        .fixed64(3, point.timeUnixNano)
        .fixed64(4, point.count),
      5,
      point.sum,
    );
    const { bucketCounts, explicitBounds } = point;
    if (packing === 'packed') {
      if (bucketCounts !== undefined) message.bytes(6, packedFixed(bucketCounts));
      if (explicitBounds !== undefined) message.bytes(7, packedDoubles(explicitBounds));
    } else {
      for (const count of bucketCounts ?? []) message.fixed64(6, count);
      for (const bound of explicitBounds ?? []) message.double(7, number(bound));
    }
    message
      .messages(8, point.exemplars, encodeExemplar)
      .messages(9, point.attributes, encodeAttribute)
      .varint(10, point.flags);
    return double(double(message, 11, point.min), 12, point.max);
  };

const encodeBuckets =
  (packing: Packing) =>
  ({ offset, bucketCounts }: OtlpBuckets): Message => {
    const message = new Message().varint(1, zigzag(offset));
    if (bucketCounts === undefined) return message;
    if (packing === 'packed')
      return message.bytes(2, Uint8Array.from(bucketCounts.flatMap((count) => varintBytes(BigInt(count)))));
    for (const count of bucketCounts) message.varint(2, BigInt(count));
    return message;
  };

const encodeExponential =
  (packing: Packing) =>
  (point: OtlpExponentialPoint): Message => {
    const message = double(
      new Message()
        .messages(1, point.attributes, encodeAttribute)
        .fixed64(2, point.startTimeUnixNano)
        .fixed64(3, point.timeUnixNano)
        .fixed64(4, point.count),
      5,
      point.sum,
    )
      .varint(6, zigzag(point.scale))
      .fixed64(7, point.zeroCount)
      .messages(8, one(point.positive), encodeBuckets(packing))
      .messages(9, one(point.negative), encodeBuckets(packing))
      .varint(10, point.flags)
      .messages(11, point.exemplars, encodeExemplar);
    return double(double(double(message, 12, point.min), 13, point.max), 14, point.zeroThreshold);
  };

const encodeSummary = (point: OtlpSummaryPoint): Message =>
  double(
    new Message()
      .messages(7, point.attributes, encodeAttribute)
      .fixed64(2, point.startTimeUnixNano)
      .fixed64(3, point.timeUnixNano)
      .fixed64(4, point.count),
    5,
    point.sum,
  )
    .messages(6, point.quantileValues, ({ quantile, value }) =>
      double(double(new Message(), 1, quantile), 2, value),
    )
    .varint(8, point.flags);

const flag = (value: boolean | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

/** One metric on the wire. */
export const encodeMetric =
  (packing: Packing) =>
  (metric: OtlpMetric): Message =>
    new Message()
      .text(1, metric.name)
      .text(2, metric.description)
      .text(3, metric.unit)
      .messages(5, one(metric.gauge), ({ dataPoints }) => new Message().messages(1, dataPoints, encodeNumber))
      .messages(7, one(metric.sum), ({ dataPoints, aggregationTemporality, isMonotonic }) =>
        new Message()
          .messages(1, dataPoints, encodeNumber)
          .varint(2, aggregationTemporality)
          .varint(3, flag(isMonotonic)),
      )
      .messages(9, one(metric.histogram), ({ dataPoints, aggregationTemporality }) =>
        new Message().messages(1, dataPoints, encodeHistogram(packing)).varint(2, aggregationTemporality),
      )
      .messages(10, one(metric.exponentialHistogram), ({ dataPoints, aggregationTemporality }) =>
        new Message().messages(1, dataPoints, encodeExponential(packing)).varint(2, aggregationTemporality),
      )
      .messages(11, one(metric.summary), ({ dataPoints }) =>
        new Message().messages(1, dataPoints, encodeSummary),
      )
      .messages(12, metric.metadata, encodeAttribute);

/** ExportMetricsServiceRequest on the wire. */
export const encodeMetricsProtobuf = (
  { resourceMetrics }: OtlpMetricsRequest,
  packing: Packing = 'packed',
): Buffer =>
  new Message()
    .messages(1, resourceMetrics, ({ resource, scopeMetrics, schemaUrl }) =>
      new Message()
        .messages(1, one(resource), encodeResource)
        .messages(2, scopeMetrics, ({ scope, metrics, schemaUrl: scopeUrl }) =>
          new Message()
            .messages(1, one(scope), encodeScope)
            .messages(2, metrics, encodeMetric(packing))
            .text(3, scopeUrl),
        )
        .text(3, schemaUrl),
    )
    .end();

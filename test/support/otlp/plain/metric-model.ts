import {
  noText,
  type PlainAttribute,
  type PlainFault,
  type PlainId,
  type PlainTime,
  type Text,
} from './model.ts';

export type PlainNumber =
  | { readonly kind: 'none' }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'int'; readonly value: bigint };

export type PlainExemplar = {
  attributes: PlainAttribute[];
  time: PlainTime;
  value: PlainNumber;
  spanId: PlainId;
  traceId: PlainId;
};

/** A data point of any kind as sent. */
export type PlainPoint = {
  readonly faults: PlainFault[];
  attributes: PlainAttribute[];
  start: PlainTime;
  time: PlainTime;
  flags: number;
  exemplars: PlainExemplar[];
  value: PlainNumber;
  count: bigint;
  sum: number | undefined;
  min: number | undefined;
  max: number | undefined;
  counts: bigint[];
  bounds: number[];
  scale: number;
  zeroCount: bigint;
  zeroThreshold: number;
  positiveOffset: number;
  negative: bigint[];
  negativeOffset: number;
  quantiles: { quantile: number; value: number }[];
};

export const plainKinds = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;
export type PlainKind = (typeof plainKinds)[number];

export type PlainMetric = {
  readonly faults: PlainFault[];
  name: Text;
  description: Text;
  unit: Text;
  metadata: PlainAttribute[];
  kind: PlainKind;
  temporality: number;
  isMonotonic: boolean;
  points: PlainPoint[];
};

export type PlainMetricScope = {
  readonly faults: PlainFault[];
  name: Text;
  version: Text;
  attributes: PlainAttribute[];
  dropped: number;
  schema: Text;
  metrics: PlainMetric[];
};

export type PlainMetricResource = {
  readonly faults: PlainFault[];
  attributes: PlainAttribute[];
  schema: Text;
  scopes: PlainMetricScope[];
};

export type PlainMetrics = {
  readonly resources: PlainMetricResource[];
  readonly leniencies: Map<string, number>;
  /** Whether a name comes twice in one object. */
  readonly hasRepeats: boolean;
};

export const hasTemporality = (kind: PlainKind): boolean => kind !== 'gauge' && kind !== 'summary';

export const emptyPoint = (): PlainPoint => ({
  ...{ faults: [], attributes: [], start: undefined, time: undefined, flags: 0, exemplars: [] },
  ...{ value: { kind: 'none' }, count: 0n, sum: undefined, min: undefined, max: undefined },
  ...{ counts: [], bounds: [], scale: 0, zeroCount: 0n, zeroThreshold: 0 },
  ...{ positiveOffset: 0, negative: [], negativeOffset: 0, quantiles: [] },
});

export const emptyExemplar = (): PlainExemplar => ({
  ...{ attributes: [], time: undefined, value: { kind: 'none' }, spanId: 'absent', traceId: 'absent' },
});

export const emptyMetric = (): PlainMetric => ({
  ...{ faults: [], name: noText, description: noText, unit: noText, metadata: [] },
  ...{ kind: 'gauge', temporality: 0, isMonotonic: false, points: [] },
});

export const emptyMetricScope = (): PlainMetricScope => ({
  ...{ faults: [], name: noText, version: noText, attributes: [], dropped: 0, schema: noText, metrics: [] },
});

export const emptyMetricResource = (): PlainMetricResource => ({
  ...{ faults: [], attributes: [], schema: noText, scopes: [] },
});

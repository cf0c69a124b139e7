import { createRandom } from '../../bench/bodies.ts';
import type { OtlpLogRecord } from '../support/otlp/logs.ts';
import type { OtlpMetric } from '../support/otlp/metrics.ts';
import type { OtlpSpan } from '../support/otlp/protobuf.ts';
import { spanOf } from '../support/otlp/span-producer.ts';
import { pointOf, toJson } from '../support/push/producer.ts';
import { metricOf, type Origin } from './data-points.ts';

/** How the items of a target are stored: a row a point, a row a metric, a row a span, a row a log record, a row a data point. */
export type Layout = 'wide' | 'narrow' | LayoutOfApplication;
type LayoutOfApplication = 'spans' | 'logs' | 'data_points';

/** Whether the items belong to an application, and so name their requests. */
export const isOfApplication = (layout: Layout): layout is LayoutOfApplication =>
  layout !== 'wide' && layout !== 'narrow';

/** What all items of a run follow from, beside their number. Milliseconds, a whole second. */
export type World = { readonly seed: number; readonly baseMs: number };

/**
 * The expected outcome of an item: `good` is stored; `swing` is stored or dropped as `timestamp_too_old`, by the policy
 * at its validation; any other value is the reason of its drop.
 */
export type Fate = 'good' | 'swing' | BadPoint | BadSpan | BadRecord | BadDataPoint;

const badPoints = [
  'metrics_empty',
  'metric_name_invalid',
  'timestamp_unit_seconds',
  'timestamp_not_numeric',
  'timestamp_too_far_ahead',
] as const;
type BadPoint = (typeof badPoints)[number];

const badSpans = [
  'trace_id_invalid',
  'timestamp_unit_millis',
  'end_before_start',
  'too_many_events',
] as const;
type BadSpan = (typeof badSpans)[number];

const badRecords = [
  'record_field_invalid',
  'timestamp_zero_or_missing',
  'timestamp_unit_millis',
  'too_many_attributes',
] as const;
type BadRecord = (typeof badRecords)[number];

const badDataPoints = [
  'metric_name_missing',
  'data_point_field_invalid',
  'timestamp_zero_or_missing',
  'timestamp_unit_millis',
  'too_many_attributes',
] as const;
type BadDataPoint = (typeof badDataPoints)[number];

const dayMs = 86_400_000;
const badShare = 0.04;
const swingShare = 0.1;

/** Items that the policy of their target decides on are this old; the policy bounds the age at half of it, or not at all. */
export const swingAgeMs = 4 * dayMs;

const pick = <T>(from: readonly T[], random: () => number, otherwise: T): T =>
  from[Math.floor(random() * from.length)] ?? otherwise;

/** The first item of a request is always good: a push without one is a 400 and is published nowhere. */
export const fateOf = (
  id: number,
  layout: Layout,
  isFirst: boolean,
  hasSwing: boolean,
  seed: number,
): Fate => {
  const random = createRandom(seed * 31 + id);
  const share = random();
  if (isFirst || share > badShare + swingShare) return 'good';
  if (share > badShare) return hasSwing ? 'swing' : 'good';
  if (layout === 'spans') return pick(badSpans, random, 'trace_id_invalid');
  if (layout === 'data_points') return pick(badDataPoints, random, 'metric_name_missing');
  return layout === 'logs'
    ? pick(badRecords, random, 'record_field_invalid')
    : pick(badPoints, random, 'metrics_empty');
};

/** Every third item is of the day before, so that a write touches two partitions. */
const startOf = (id: number, fate: Fate, baseMs: number): number =>
  baseMs - (id % 3 === 0 ? dayMs : 0) - (fate === 'swing' ? swingAgeMs : 0);

/** When the point happened, ms. */
export const pointTime = (id: number, fate: Fate, baseMs: number): number =>
  startOf(id, fate, baseMs) + (id % 10_000);

const newColumnEvery = 4_000;
const newColumnsMax = 24;

/** A metric that other points do not have; a new one appears now and then, so that columns are added while processes die. */
export const rareMetric = (id: number): string | undefined =>
  id % 50 === 0 ? `rare_${Math.floor(id / newColumnEvery) % newColumnsMax}` : undefined;

/** Value of the rare metric. */
export const rareValue = (id: number): number => id + 0.5;

const tooManyAttributes = Array.from({ length: 129 }, (_, at) => ({
  key: `k${at}`,
  value: { intValue: '1' },
}));

const spoilPoint = (text: string, fate: Fate, time: number, nowMs: number): string => {
  const withTime = (timestamp: string): string =>
    text.replace(`"timestamp":${time}`, `"timestamp":${timestamp}`);
  switch (fate) {
    case 'metrics_empty':
      return text.replace(/"metrics":\{[^}]*\}/, '"metrics":{}');
    case 'metric_name_invalid':
      return text.replace('"metrics":{', '"metrics":{"1st":1,');
    case 'timestamp_unit_seconds':
      return withTime(String(Math.floor(time / 1000)));
    case 'timestamp_not_numeric':
      return withTime('"N"');
    case 'timestamp_too_far_ahead':
      return withTime(String(nowMs + 30 * dayMs));
    default:
      return text;
  }
};

/** What a wide row of this number holds. */
export const widePoint = (id: number, fate: Fate, { seed, baseMs }: World) =>
  pointOf(id, seed, pointTime(id, fate, baseMs));

/** The values of the narrow rows of this number: every value contains the number, and the metric in its last bits. */
export const narrowPoint = (id: number, fate: Fate, { seed, baseMs }: World) => {
  const random = createRandom(seed * 17 + id);
  const metrics: Record<string, number> = { load: id * 8 + 1 };
  if (random() < 0.6) metrics['free'] = id * 8 + 2;
  if (random() < 0.3) metrics['idle'] = id * 8 + 3;
  return {
    metrics,
    target: `10.0.0.${id % 50}`,
    dimension: { module: `module-${Math.floor(random() * 20)}` },
    timestamp: pointTime(id, fate, baseMs),
  };
};

/** The number in a value of a narrow row. */
export const numberOfNarrowValue = (value: number): number => Math.floor(value / 8);

/** The point as a producer writes it, spoilt when it has to be dropped. */
export const pointText = (id: number, layout: 'wide' | 'narrow', fate: Fate, world: World): string => {
  const rare = layout === 'wide' ? rareMetric(id) : undefined;
  let text =
    layout === 'wide' ? toJson(widePoint(id, fate, world)) : JSON.stringify(narrowPoint(id, fate, world));
  if (rare !== undefined) text = text.replace('"metrics":{', `"metrics":{"${rare}":${rareValue(id)},`);
  return spoilPoint(text, fate, pointTime(id, fate, world.baseMs), world.baseMs);
};

/** What the row of a span of this number holds. */
export const goodSpan = (id: number, fate: Fate, { seed, baseMs }: World) =>
  spanOf(id, seed, startOf(id, fate, baseMs) / 1000);

/** The span as an exporter sends it, spoilt when it has to be dropped. */
export const spanToSend = (id: number, fate: Fate, world: World): OtlpSpan => {
  const span = goodSpan(id, fate, world);
  switch (fate) {
    case 'trace_id_invalid':
      return { ...span, traceId: '0'.repeat(32) };
    case 'timestamp_unit_millis':
      return { ...span, startTimeUnixNano: String(BigInt(span.startTimeUnixNano) / 1_000_000n) };
    case 'end_before_start':
      return { ...span, endTimeUnixNano: String(BigInt(span.startTimeUnixNano) - 1n) };
    case 'too_many_events':
      return { ...span, events: Array.from({ length: 129 }, () => ({ name: 'e' })) };
    default:
      return span;
  }
};

/** What the row of a log record of this number holds; every fifth has no time of its own, and is stored under the observed one. */
export const goodRecord = (id: number, fate: Fate, { seed, baseMs }: World) => {
  const span = spanOf(id, seed, startOf(id, fate, baseMs) / 1000);
  const isObserved = id % 5 === 0;
  return {
    timeUnixNano: isObserved ? '0' : span.startTimeUnixNano,
    observedTimeUnixNano: isObserved ? span.startTimeUnixNano : span.endTimeUnixNano,
    severityNumber: 1 + (id % 24),
    severityText: `level ${id % 3}`,
    body: { stringValue: `line ${id} of the log` },
    attributes: span.attributes,
    ...(id % 2 === 0 ? { traceId: span.traceId, spanId: span.spanId, flags: 1 } : {}),
  };
};

/** The log record as an exporter sends it, spoilt when it has to be dropped. */
export const recordToSend = (id: number, fate: Fate, world: World): OtlpLogRecord => {
  const record = goodRecord(id, fate, world);
  switch (fate) {
    case 'record_field_invalid':
      return { ...record, severityNumber: 100_000 };
    case 'timestamp_zero_or_missing':
      return { ...record, timeUnixNano: '0', observedTimeUnixNano: '0' };
    case 'timestamp_unit_millis':
      return { ...record, timeUnixNano: String(BigInt(record.observedTimeUnixNano) / 1_000_000n) };
    case 'too_many_attributes':
      return { ...record, attributes: tooManyAttributes };
    default:
      return record;
  }
};

/** What the data point of this number follows from. */
export const originOf = (id: number, fate: Fate, { seed, baseMs }: World): Origin => ({
  seed,
  startSeconds: startOf(id, fate, baseMs) / 1000,
});

/** The metric with the data point as an exporter sends it, spoilt when it has to be dropped. */
export const metricToSend = (id: number, fate: Fate, world: World): OtlpMetric => {
  const origin = originOf(id, fate, world);
  const nowNanos = `${world.baseMs}000000`;
  const gaugeWith = (point: object): OtlpMetric => ({
    name: 'spoilt',
    gauge: { dataPoints: [{ timeUnixNano: nowNanos, asInt: '1', ...point }] },
  });
  switch (fate) {
    case 'metric_name_missing':
      return { ...metricOf(id, origin), name: '' };
    case 'data_point_field_invalid':
      return {
        name: 'spoilt',
        histogram: {
          dataPoints: [{ timeUnixNano: nowNanos, count: '3', bucketCounts: ['1', '2'] }],
          aggregationTemporality: 1,
        },
      };
    case 'timestamp_zero_or_missing':
      return gaugeWith({ timeUnixNano: '0' });
    case 'timestamp_unit_millis':
      return gaugeWith({ timeUnixNano: String(world.baseMs) });
    case 'too_many_attributes':
      return gaugeWith({ attributes: tooManyAttributes });
    default:
      return metricOf(id, origin);
  }
};

import type { DropReason } from '../../../src/model/reasons.ts';

/** A point that is dropped, why, and what has to hold around it. */
export type DroppedPoint = {
  readonly what: string;
  readonly point: unknown;
  readonly reason: DropReason;
  /** What the reply names. */
  readonly field: string;
  /** Only in a request with an Idempotency-Key. */
  readonly isKeyed?: true;
};

/** How old a point may be for these cases to hold: one of them is older. */
export const ageMsMax = 7 * 86_400_000;

/** Points that keep every rule when they arrive at `now` or soon after. */
export const pointsAt = (now: number) => {
  const timestamp = now - 60_000;
  return {
    timestamp,
    good: { metrics: { cpu: 1 }, timestamp },
    withMetrics: (metrics: unknown) => ({ metrics, timestamp }),
    withDimension: (dimension: unknown) => ({ metrics: { cpu: 1 }, dimension, timestamp }),
    withTarget: (target: unknown) => ({ metrics: { cpu: 1 }, target, timestamp }),
    withTime: (raw: unknown) => ({ metrics: { cpu: 1 }, timestamp: raw }),
  };
};

const longName = 'n'.repeat(101);

/** Every point reason of architecture 4.3 and every time reason of architecture 6.2 that a point can have, in all its forms. */
export const droppedPointsAt = (now: number): DroppedPoint[] => {
  const { timestamp: time, good, withMetrics, withDimension, withTarget, withTime } = pointsAt(now);
  return [
    ...[null, 5, 'text', true, [], [good]].map((point) => ({
      what: `the point is ${JSON.stringify(point)}`,
      point,
      reason: 'point_not_object' as const,
      field: '',
    })),
    { what: 'no metrics', point: { timestamp: time }, reason: 'metrics_missing', field: 'metrics' },
    ...[null, [], 'cpu', 5, false].map((metrics) => ({
      what: `metrics are ${JSON.stringify(metrics)}`,
      point: withMetrics(metrics),
      reason: 'metrics_missing' as const,
      field: 'metrics',
    })),
    { what: 'metrics without a metric', point: withMetrics({}), reason: 'metrics_empty', field: 'metrics' },
    ...['1cpu', 'cpu.load', 'cpu load', 'cpu-load', '', 'процессор', 'cpu\n', longName].map((name) => ({
      what: `a metric is called ${JSON.stringify(name)}`,
      point: withMetrics({ memory: 1, [name]: 1 }),
      reason: 'metric_name_invalid' as const,
      field: `metrics.${name.length > 80 ? `${name.slice(0, 80)}…` : name}`,
    })),
    ...['1', null, true, {}, [1], ''].map((value) => ({
      what: `a metric is ${JSON.stringify(value)}`,
      point: withMetrics({ memory: 1, cpu: value }),
      reason: 'metric_value_invalid' as const,
      field: 'metrics.cpu',
    })),
    ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value) => ({
      what: `a metric is ${value}`,
      point: withMetrics({ memory: 1, cpu: value }),
      reason: 'metric_not_finite' as const,
      field: 'metrics.cpu',
    })),
    ...[[], ['host'], 'host', 5, true].map((dimension) => ({
      what: `dimension is ${JSON.stringify(dimension)}`,
      point: withDimension(dimension),
      reason: 'dimension_invalid' as const,
      field: 'dimension',
    })),
    ...[{}, { a: 1 }, [], ['x'], 'a\u0000b'].map((value) => ({
      what: `a dimension's value is ${JSON.stringify(value)}`,
      point: withDimension({ module: 'db', host: value }),
      reason: 'dimension_invalid' as const,
      field: 'dimension.host',
    })),
    ...['1host', 'host.name', 'host name', '', longName].map((name) => ({
      what: `a dimension is called ${JSON.stringify(name)}`,
      point: withDimension({ module: 'db', [name]: 'x' }),
      reason: 'dimension_name_invalid' as const,
      field: `dimension.${name.length > 80 ? `${name.slice(0, 80)}…` : name}`,
    })),
    {
      what: 'a dimension that is null has a wrong name',
      point: withDimension({ 'host name': null }),
      reason: 'dimension_name_invalid',
      field: 'dimension.host name',
    },
    ...[true, {}, ['10.0.0.1'], 'a\u0000b'].map((target) => ({
      what: `target is ${JSON.stringify(target)}`,
      point: withTarget(target),
      reason: 'target_invalid' as const,
      field: 'target',
    })),
    ...[undefined, null].map((timestamp) => ({
      what: `timestamp is ${timestamp} in a request with a key`,
      point: withTime(timestamp),
      reason: 'timestamp_required_with_key' as const,
      field: 'timestamp',
      isKeyed: true as const,
    })),
    {
      what: 'one point costs more than a message may hold',
      point: withTarget('x'.repeat(2 ** 20)),
      reason: 'item_too_large',
      field: '',
    },
    ...['N', '1780315200000', 1.5, true, {}, '', Number.NaN].map((timestamp) => ({
      what: `timestamp is ${typeof timestamp === 'number' ? timestamp : JSON.stringify(timestamp)}`,
      point: withTime(timestamp),
      reason: 'timestamp_not_numeric' as const,
      field: 'timestamp',
    })),
    {
      what: 'timestamp is in seconds',
      point: withTime(Math.floor(time / 1000)),
      reason: 'timestamp_unit_seconds',
      field: 'timestamp',
    },
    {
      what: 'timestamp is in microseconds',
      point: withTime(time * 1e3),
      reason: 'timestamp_unit_micros',
      field: 'timestamp',
    },
    {
      what: 'timestamp is in nanoseconds',
      point: withTime(time * 1e6),
      reason: 'timestamp_unit_nanos',
      field: 'timestamp',
    },
    ...[0, -1, 253_402_300_800_000].map((timestamp) => ({
      what: `timestamp is ${timestamp}`,
      point: withTime(timestamp),
      reason: 'timestamp_out_of_range' as const,
      field: 'timestamp',
    })),
    {
      what: 'timestamp is more than an hour ahead',
      point: withTime(now + 3_660_000),
      reason: 'timestamp_too_far_ahead',
      field: 'timestamp',
    },
    {
      what: 'timestamp is older than the window',
      point: withTime(now - ageMsMax - 1),
      reason: 'timestamp_too_old',
      field: 'timestamp',
    },
  ];
};

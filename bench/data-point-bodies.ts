import { encodeMetricsProtobuf, type OtlpMetricsRequest } from '../test/support/otlp/metrics.ts';

/** Attributes of a data point, as the semantic conventions of HTTP have them. */
const attributesOf = (series: number) =>
  [
    ['http.request.method', series % 2 === 0 ? 'GET' : 'POST'],
    ['http.route', `/api/v1/items/${series % 40}`],
    ['http.response.status_code', '200'],
    ['url.scheme', 'https'],
    ['server.address', `shop-${series % 7}.example.com`],
  ].map(([key = '', stringValue = '']) => ({ key, value: { stringValue } }));

const resource = {
  attributes: [
    ['service.name', 'checkout'],
    ['service.instance.id', 'b7a5ecb6-3f9c-4a09-8be1-d6c9a3a1f3d2'],
    ['telemetry.sdk.name', 'opentelemetry'],
    ['telemetry.sdk.language', 'go'],
    ['host.name', 'node-17'],
    ['k8s.pod.name', 'checkout-6d8c9f4b7-x2x9p'],
  ].map(([key = '', stringValue = '']) => ({ key, value: { stringValue } })),
};

/** How data points of a kind are made: ten to a metric. */
export type MetricShape = 'sums' | 'histograms' | 'exponential histograms';

const metricOf = (shape: MetricShape, metric: number, body: number, nowMs: number) => {
  const time = BigInt(nowMs) * 1_000_000n;
  const points = Array.from({ length: 10 }, (_, index) => {
    const series = body * 1000 + metric * 10 + index;
    return {
      attributes: attributesOf(series),
      startTimeUnixNano: String(time - 60_000_000_000n),
      timeUnixNano: String(time + BigInt(body)),
    };
  });
  const head = { name: `http.server.metric.${metric}`, description: 'Duration of HTTP requests.', unit: 's' };
  if (shape === 'sums') {
    const dataPoints = points.map((point, index) => ({ ...point, asInt: String(1000 + index * body) }));
    return { ...head, sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints } };
  }
  if (shape === 'histograms') {
    const explicitBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
    const dataPoints = points.map((point, index) => ({
      ...{ ...point, count: String(60 * (index + 1)), sum: 12.75 * (body + 1), min: 0.001, max: 9.5 },
      bucketCounts: Array.from({ length: 15 }, (_, bucket) => String((bucket * body) % 90)),
      explicitBounds,
    }));
    return { ...head, histogram: { aggregationTemporality: 2, dataPoints } };
  }
  const dataPoints = points.map((point, index) => ({
    ...{ ...point, count: String(60 * (index + 1)), sum: 12.75 * (body + 1), scale: 4, zeroCount: '0' },
    positive: {
      offset: -30,
      bucketCounts: Array.from({ length: 80 }, (_, bucket) => String((bucket * body) % 200)),
    },
  }));
  return { ...head, exponentialHistogram: { aggregationTemporality: 2, dataPoints } };
};

/** Bodies of data points of one kind, all series different. */
export const metricBodies = (
  encoding: 'json' | 'protobuf',
  shape: MetricShape,
  bodies: number,
  pointsPerBody: number,
  nowMs: number,
): Buffer[] =>
  Array.from({ length: bodies }, (_, body) => {
    const metrics = Array.from({ length: pointsPerBody / 10 }, (__, metric) =>
      metricOf(shape, metric, body, nowMs),
    );
    const request: OtlpMetricsRequest = {
      resourceMetrics: [
        { resource, scopeMetrics: [{ scope: { name: 'otelhttp', version: '0.58.0' }, metrics }] },
      ],
    };
    return encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeMetricsProtobuf(request);
  });

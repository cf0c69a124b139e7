import {
  encodeMetricsProtobuf,
  type OtlpExemplar,
  type OtlpMetric,
  type OtlpMetricsRequest,
} from '../test/support/otlp/metrics.ts';
import type { OtlpAttribute } from '../test/support/otlp/protobuf.ts';
import { createRandom } from './bodies.ts';

const hostsCount = 500;
const bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const routes = ['/api/v1/items', '/api/v1/items/:id', '/api/v1/orders', '/api/v1/users/:id', '/login'];
const methods = ['GET', 'POST', 'PUT', 'DELETE'];
const cpuStates = ['user', 'system', 'idle', 'wait', 'nice', 'interrupt', 'steal', 'softirq'];
const memoryStates = ['used', 'free', 'cached', 'buffered', 'slab_reclaimable'];

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });
const int = (key: string, value: number): OtlpAttribute => ({ key, value: { intValue: String(value) } });

/** What the data points of a request follow from. Times are decimal nanoseconds. */
type Moment = { readonly random: () => number; readonly startNanos: string; readonly nowNanos: string };

const hex = (random: () => number, characters: number): string =>
  Array.from({ length: characters }, () => Math.floor(random() * 16).toString(16)).join('');

const timesOf = ({ startNanos, nowNanos }: Moment) => ({
  startTimeUnixNano: startNanos,
  timeUnixNano: nowNanos,
});

/** Seconds of each processor in each state. */
const cpuTime = (moment: Moment, points: number): OtlpMetric => ({
  name: 'system.cpu.time',
  description: 'Total seconds each logical CPU spent on each mode.',
  unit: 's',
  sum: {
    aggregationTemporality: 2,
    isMonotonic: true,
    dataPoints: Array.from({ length: points }, (_, index) => ({
      ...timesOf(moment),
      attributes: [
        text('cpu', `cpu${Math.floor(index / cpuStates.length)}`),
        text('state', cpuStates[index % cpuStates.length] ?? ''),
      ],
      asDouble: Math.floor(moment.random() * 1e8) / 100,
    })),
  },
});

/** Bytes through each network interface in both directions. */
const networkIo = (moment: Moment, points: number): OtlpMetric => ({
  name: 'system.network.io',
  description: 'The number of bytes transmitted and received.',
  unit: 'By',
  sum: {
    aggregationTemporality: 2,
    isMonotonic: true,
    dataPoints: Array.from({ length: points }, (_, index) => ({
      ...timesOf(moment),
      attributes: [
        text('device', `eth${Math.floor(index / 2)}`),
        text('direction', index % 2 === 0 ? 'receive' : 'transmit'),
      ],
      asInt: String(Math.floor(moment.random() * 1e13)),
    })),
  },
});

/** The share of the memory in each state. */
const memoryUse = (moment: Moment, points: number): OtlpMetric => ({
  name: 'system.memory.utilization',
  description: 'Percentage of memory bytes in use.',
  unit: '1',
  gauge: {
    dataPoints: Array.from({ length: points }, (_, index) => ({
      ...timesOf(moment),
      attributes: [
        text('state', memoryStates[index % memoryStates.length] ?? ''),
        int('numa.node', Math.floor(index / memoryStates.length)),
      ],
      asDouble: moment.random(),
    })),
  },
});

/** A measurement in a sampled span. */
const exemplarOf = ({ random, nowNanos }: Moment): OtlpExemplar => ({
  timeUnixNano: nowNanos,
  asDouble: Math.floor(random() * 1e6) / 1e6,
  spanId: hex(random, 16),
  traceId: hex(random, 32),
});

/** How long requests took, by method, route and status; one histogram in five has an exemplar. */
const httpDurations = (moment: Moment, points: number): OtlpMetric => ({
  name: 'http.server.request.duration',
  description: 'Duration of HTTP server requests.',
  unit: 's',
  histogram: {
    aggregationTemporality: 2,
    dataPoints: Array.from({ length: points }, (_, index) => {
      const counts = Array.from({ length: bounds.length + 1 }, () => Math.floor(moment.random() * 1000));
      const count = counts.reduce((sum, each) => sum + each, 0);
      return {
        ...timesOf(moment),
        attributes: [
          text('http.request.method', methods[index % methods.length] ?? ''),
          text('http.route', routes[Math.floor(index / methods.length) % routes.length] ?? ''),
          int('http.response.status_code', index < methods.length * routes.length ? 200 : 500),
          text('url.scheme', 'http'),
          text('network.protocol.version', '1.1'),
        ],
        count: String(count),
        sum: count * 0.125,
        min: 0.001,
        max: 9.5,
        bucketCounts: counts.map(String),
        explicitBounds: bounds,
        ...(index % 5 === 0 ? { exemplars: [exemplarOf(moment)] } : {}),
      };
    }),
  },
});

/** A request as an SDK or an agent of a host sends it: host metrics and durations of HTTP requests; two in five are histograms. */
const metricsRequest = (random: () => number, points: number, nowMs: number): OtlpMetricsRequest => {
  const nowNanos = `${nowMs - Math.floor(random() * 5_000)}${String(Math.floor(random() * 1e6)).padStart(6, '0')}`;
  const moment = { random, startNanos: `${nowMs - 3_600_000}000000`, nowNanos };
  const host = Math.floor(random() * hostsCount);
  const histograms = Math.floor(points * 0.4);
  const gauges = Math.floor(points * 0.15);
  const integers = Math.floor(points * 0.15);
  return {
    resourceMetrics: [
      {
        resource: {
          attributes: [
            text('service.name', `service-${host % 8}`),
            text('service.version', '1.14.2'),
            text('host.name', `host-${host}`),
            text('os.type', 'linux'),
            text('telemetry.sdk.language', 'go'),
          ],
        },
        scopeMetrics: [
          {
            scope: { name: 'otelcol/hostmetricsreceiver', version: '0.161.0' },
            metrics: [
              cpuTime(moment, points - histograms - gauges - integers),
              networkIo(moment, integers),
              memoryUse(moment, gauges),
              httpDurations(moment, histograms),
            ],
          },
        ],
      },
    ],
  };
};

/** Whole bodies of metrics, all different, in one of the encodings. */
export const metricBodies = (
  encoding: 'json' | 'protobuf',
  count: number,
  points: number,
  nowMs: number,
): Buffer[] => {
  const random = createRandom(20_261_123 + points);
  return Array.from({ length: count }, () => {
    const request = metricsRequest(random, points, nowMs);
    return encoding === 'json' ? Buffer.from(JSON.stringify(request)) : encodeMetricsProtobuf(request);
  });
};

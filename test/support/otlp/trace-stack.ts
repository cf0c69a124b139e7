import { logColumns } from '../../../src/wire/native/log-columns.ts';
import {
  exponentialHistogramColumns,
  gaugeColumns,
  histogramColumns,
  type MetricColumn,
  sumColumns,
  summaryColumns,
} from '../../../src/wire/native/metric-columns.ts';
import { spanColumns } from '../../../src/wire/native/span-columns.ts';
import { withDeadline } from '../stack/receiver-deadline.ts';
import { type Application, type Stack, startStack } from '../stack/stack.ts';
import {
  contentTypes,
  createOtlpClient,
  type Encoding,
  encode,
  type OtlpAnswer,
  type OtlpClient,
} from './client.ts';
import type { OtlpRequest } from './protobuf.ts';

/** Spans that started longer ago than this are too old for the stack. */
export const spanAgeSecondsMax = 10 * 365 * 86_400;

/**
 * A stored span: times as decimal nanoseconds, maps as objects, without the values that differ in every delivery (uid,
 * ArrivedAt).
 */
export type StoredSpan = Readonly<Record<string, unknown>>;

/** What a span is read back by: every column but uid and ArrivedAt. */
export const storedColumns = spanColumns
  .filter(({ name }) => name !== 'uid' && name !== 'ArrivedAt')
  .map(({ name }) => {
    if (name === 'Timestamp') return 'toString(toUnixTimestamp64Nano(Timestamp)) AS Timestamp';
    if (name === 'Events.Timestamp')
      return 'arrayMap(t -> toString(toUnixTimestamp64Nano(t)), `Events.Timestamp`) AS `Events.Timestamp`';
    return `\`${name}\``;
  });

/** The same for a log record. */
export const storedLogColumns = logColumns
  .filter(({ name }) => name !== 'uid' && name !== 'ArrivedAt')
  .map(({ name, type }) =>
    type === 'DateTime64(9)' ? `toString(toUnixTimestamp64Nano(${name})) AS ${name}` : name,
  );

const storedMetricColumn = ({ name, type }: MetricColumn): string => {
  if (type === 'DateTime64(9)') return `toString(toUnixTimestamp64Nano(${name})) AS ${name}`;
  if (type === 'Array(DateTime64(9))')
    return `arrayMap(t -> toString(toUnixTimestamp64Nano(t)), \`${name}\`) AS \`${name}\``;
  return `\`${name}\``;
};

/** The same for a data point, by table. */
export const storedMetricColumns = Object.entries({
  otel_metrics_gauge: gaugeColumns,
  otel_metrics_sum: sumColumns,
  otel_metrics_histogram: histogramColumns,
  otel_metrics_exponential_histogram: exponentialHistogramColumns,
  otel_metrics_summary: summaryColumns,
} as const).map(([table, columns]: [string, readonly MetricColumn[]]) => {
  const kept = columns.filter(({ name }) => name !== 'uid' && name !== 'ArrivedAt');
  return [table, kept.map(storedMetricColumn)] as const;
});

/** Real engines and roles behind a trusted proxy at 127.0.0.1, with an exporter and readers of what is stored. */
export type TraceStack = {
  readonly stack: Stack;
  readonly url: string;
  readonly client: OtlpClient;
  /** An application of its own for a test. */
  application(extra?: Record<string, unknown>): Promise<Application>;
  /** Sends a body with this token. */
  post(
    token: string | undefined,
    encoding: Encoding,
    body: OtlpRequest | Buffer | string,
    headers?: Record<string, string>,
  ): Promise<OtlpAnswer>;
  /** What an application has stored once everything sent before is settled, in the order received. */
  storedSpans(application: Application): Promise<StoredSpan[]>;
  /** A counter of a role, summed over the series that have all of these labels. */
  counter(role: 'ingress' | 'transfer', name: string, labels: Record<string, string>): Promise<number>;
  stop(): Promise<void>;
};

const sumOf = (metrics: string, name: string, labels: Record<string, string>): number =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

/** `change` edits the pipeline files of the signals of applications before the roles read them. */
export const startTraceStack = async (
  change: (text: string) => string = (text) => text,
): Promise<TraceStack> => {
  const stack = await startStack({
    traces: true,
    ackWaitSeconds: 30,
    pipelines: (file, text) =>
      file === 'traces.yaml' || file === 'logs.yaml' || file === 'otel_metrics.yaml'
        ? change(withDeadline(text).replace('age_seconds_max: off', `age_seconds_max: ${spanAgeSecondsMax}`))
        : text,
    env: { TIDEMARK_LOG_LEVEL: 'trace', TIDEMARK_INGRESS_TRUSTED_PROXIES: '127.0.0.1' },
  });
  const port = stack.ingress[0]?.ports['otlp'] ?? 0;
  const client = createOtlpClient(port);
  let applications = 0;
  return {
    stack,
    url: `http://127.0.0.1:${port}/v1/traces`,
    client,
    application: (extra = {}) => stack.createApplication(`traces ${++applications}`, extra),
    post: (token, encoding, body, headers = {}) =>
      client.send({
        headers: {
          'content-type': contentTypes[encoding],
          ...(token === undefined ? {} : { 'x-mon-token': token }),
          ...headers,
        },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : encode(encoding, body),
      }),
    storedSpans: async ({ app_id: appId }) => {
      await stack.waitForEmptyStream('TRACES');
      return stack.spansQuery(
        `SELECT ${storedColumns.join(', ')} FROM otel.otel_traces WHERE AppId = ${appId} ORDER BY ArrivedAt, uid`,
      );
    },
    counter: async (role, name, labels) => {
      const all = await Promise.all(stack[role].map((process) => process.metrics()));
      return all.reduce((sum, metrics) => sum + sumOf(metrics, name, labels), 0);
    },
    stop: async () => {
      await client.close();
      await stack.stop();
    },
  };
};

let shared: Promise<TraceStack> | undefined;

/** The one stack of all rooms of a test file; the first call starts it. The file stops it after its last test. */
export const sharedTraceStack = (): Promise<TraceStack> => {
  shared ??= startTraceStack((text) => text.replace(/body_bytes_max: \S+/, 'body_bytes_max: 1MiB'));
  return shared;
};

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import { errorText } from '../model/fault.ts';
import type { ApplicationPipeline } from '../model/signals.ts';
import { createLog } from '../telemetry/log.ts';
import { checkFile, checkTransfer, refuse, refuseOverlaps, refuseShared } from './pipeline-checks.ts';
import type { StreamDefinition } from './pipeline-definitions.ts';
import {
  type LedgerFile,
  type LineFile,
  type LogsFile,
  ledgerFileSchema,
  logsFileSchema,
  type MetricsFile,
  metricsFileSchema,
  type OtelMetricsFile,
  otelMetricsFileSchema,
  type StreamsFile,
  streamsFileSchema,
  type TracesFile,
  tracesFileSchema,
} from './pipeline-files.ts';
import { ownPipelinesFolder, settingFault } from './settings.ts';
import { parseYamlFile, type YamlFile } from './yaml-file.ts';

export type { BreakerDefinition, ConsumerDefinition, StreamDefinition } from './pipeline-definitions.ts';

/** The one subject of stream LEDGER that accounts of items, refusals and samples are published under. */
const ledgerSubject = 'ledger.>';

type Streams = StreamsFile['streams'];

/** Streams that files of earlier versions do not name have those of the program. */
const withOwn = ({ METRICS, TRACES, LOGS, OTEL_METRICS, ...others }: Streams): Streams => {
  if (LOGS !== undefined && OTEL_METRICS !== undefined)
    return { METRICS, TRACES, LOGS, OTEL_METRICS, ...others };
  const own = checkFile(streamsFileSchema, parseYamlFile(join(ownPipelinesFolder, 'streams.yaml'))).streams;
  const ownAs = (name: 'LOGS' | 'OTEL_METRICS') => {
    const stream = own[name];
    return stream && { ...stream, replicas: TRACES.replicas };
  };
  return {
    METRICS,
    TRACES,
    LOGS: LOGS ?? ownAs('LOGS'),
    OTEL_METRICS: OTEL_METRICS ?? ownAs('OTEL_METRICS'),
    ...others,
  };
};

const definedIn = (streams: Streams) =>
  Object.entries(withOwn(streams)).flatMap(([name, stream]) =>
    stream === undefined ? [] : [{ name, stream }],
  );

const toStreams = (content: StreamsFile, replicas: number | undefined): StreamDefinition[] =>
  definedIn(content.streams).map(({ name, stream }) => ({
    name,
    subjects: stream.subjects,
    retention: stream.retention,
    discard: stream.discard,
    bytesMax: stream.bytes_max,
    duplicateWindowMs: stream.duplicate_window_seconds * 1000,
    replicas: replicas ?? stream.replicas,
    consumer: stream.consumer && {
      name: stream.consumer.name,
      stream: name,
      ackWaitMs: stream.consumer.ack_wait_seconds * 1000,
      ackPendingMax: stream.consumer.ack_pending_max,
    },
  }));

const namedStream = (
  file: YamlFile,
  path: readonly string[],
  name: string,
  streams: readonly StreamDefinition[],
): StreamDefinition => {
  const stream = streams.find((candidate) => candidate.name === name);
  if (stream !== undefined) return stream;
  const names = streams.map((each) => each.name).join(', ');
  return refuse(file, path, 'unknown stream', `Use one of ${names}`);
};

const streamOf = (
  file: YamlFile,
  { receiver }: LineFile,
  streams: readonly StreamDefinition[],
): StreamDefinition => {
  const { stream: name, subject } = receiver.publish;
  const stream = namedStream(file, ['receiver', 'publish', 'stream'], name, streams);
  if (!stream.subjects.includes(`${subject}.>`)) {
    refuse(
      file,
      ['receiver', 'publish', 'subject'],
      `stream ${name} does not have the subject ${subject}.>`,
      `Its subjects are ${stream.subjects.join(', ')}`,
    );
  }
  return stream;
};

// The pipelines under the program's names: sizes are bytes, times milliseconds.

/** What both signals demand of their parts together; returns the values that follow from it. */
const checkLine = (file: YamlFile, content: LineFile, streams: readonly StreamDefinition[]) => {
  const { receiver, transfer } = content;
  const stream = streamOf(file, content, streams);
  if (stream.duplicateWindowMs <= receiver.publish.deadline_ms) {
    refuse(
      file,
      ['receiver', 'publish', 'deadline_ms'],
      `the last retry of a publish may fall outside the duplicate window of stream ${stream.name}, which is ${stream.duplicateWindowMs} ms`,
      'Lower it, or raise duplicate_window_seconds',
    );
  }
  return {
    time: {
      aheadMsMax: receiver.time.ahead_seconds_max,
      ageMsMax: receiver.time.age_seconds_max,
    },
    publish: {
      stream: receiver.publish.stream,
      subject: receiver.publish.subject,
      shards: receiver.publish.shards,
      deadlineMs: receiver.publish.deadline_ms,
      /** How long a publish waits for a lost connection. */
      awayMs: receiver.publish.away_ms,
    },
    duplicateWindowMs: stream.duplicateWindowMs,
    ...checkTransfer(file, transfer, stream),
  };
};

const bodyLimits = ({ receiver: { limits } }: LineFile, elementsDefault: number) => ({
  bodyBytesMax: limits.body_bytes_max,
  inflatedBytesMax: limits.inflated_bytes_max,
  /** Inflated bytes per byte on the wire, of a large body. */
  inflateRatioMax: limits.inflate_ratio_max,
  /** Objects, arrays, members and elements of a JSON body. */
  elementsMax: limits.elements_max ?? elementsDefault,
});

const toMetrics = (file: YamlFile, content: MetricsFile, streams: readonly StreamDefinition[]) => ({
  ...checkLine(file, content, streams),
  /** How long a table may fail while QuestDB is available, before its points are dead-lettered. */
  tableWaitMs: content.transfer.table_wait_seconds * 1000,
  limits: {
    ...bodyLimits(content, 80 * content.receiver.limits.points_max),
    pointsMax: content.receiver.limits.points_max,
    metricsMax: content.receiver.limits.metric_columns_max,
    dimensionsMax: content.receiver.limits.dimension_columns_max,
  },
});

/** What the signals that ClickHouse stores have in common; `itemsMax`: the largest number of items in a request. */
const inClickhouse = (
  file: YamlFile,
  content: TracesFile | LogsFile | OtelMetricsFile,
  streams: readonly StreamDefinition[],
  itemsMax: number,
) => {
  const { limits } = content.receiver;
  return {
    ...checkLine(file, content, streams),
    limits: {
      ...bodyLimits(content, 160 * itemsMax),
      itemsMax,
      attributesMax: limits.attributes_max,
      valueBytesMax: limits.value_bytes_max,
    },
    /** Days that the store keeps an item, counted from its time; undefined = for ever. */
    retentionDays: content.transfer.retention_days,
    // A new leader of a stream may not know the number of deliveries of a message.
    guard: streamOf(file, content, streams).replicas > 1 ? 'always' : content.transfer.guard,
  };
};

const toTraces = (file: YamlFile, content: TracesFile, streams: readonly StreamDefinition[]) => {
  const { limits } = content.receiver;
  const line = inClickhouse(file, content, streams, limits.spans_max);
  return { ...line, limits: { ...line.limits, eventsMax: limits.events_max, linksMax: limits.links_max } };
};

const toLogs = (file: YamlFile, content: LogsFile, streams: readonly StreamDefinition[]) =>
  inClickhouse(file, content, streams, content.receiver.limits.records_max);

const toOtelMetrics = (file: YamlFile, content: OtelMetricsFile, streams: readonly StreamDefinition[]) => {
  const { limits } = content.receiver;
  const line = inClickhouse(file, content, streams, limits.data_points_max);
  return {
    ...line,
    limits: {
      ...line.limits,
      bucketsMax: limits.buckets_max,
      exemplarsMax: limits.exemplars_max,
      /** Different series of an application within an hour; undefined = no bound. */
      seriesMax: limits.series_max,
    },
  };
};

const toLedger = (file: YamlFile, content: LedgerFile, streams: readonly StreamDefinition[]) => {
  const stream = namedStream(file, ['stream'], content.stream, streams);
  if (!stream.subjects.includes(ledgerSubject))
    refuse(
      file,
      ['stream'],
      `stream ${stream.name} does not have the subject ${ledgerSubject}`,
      `Its subjects are ${stream.subjects.join(', ')}`,
    );
  return {
    stream,
    ...checkTransfer(file, content.transfer, stream),
    /** How long a stop waits until messages in hand are written; NATS redelivers the rest. */
    drainMs: content.transfer.drain_ms,
  };
};

export type MetricsPipeline = ReturnType<typeof toMetrics>;
export type TracesPipeline = ReturnType<typeof toTraces>;
export type LogsPipeline = ReturnType<typeof toLogs>;
export type OtelMetricsPipeline = ReturnType<typeof toOtelMetrics>;
export type LedgerPipeline = ReturnType<typeof toLedger>;

export type Pipelines = {
  readonly streams: readonly StreamDefinition[];
  readonly metrics: MetricsPipeline;
  readonly traces: TracesPipeline;
  readonly logs: LogsPipeline;
  readonly otel_metrics: OtelMetricsPipeline;
  readonly ledger: LedgerPipeline;
};

/** Days that the store keeps the items of each signal that ClickHouse stores. */
export const retentionIn = (
  pipelines: Pick<Pipelines, ApplicationPipeline>,
): Record<ApplicationPipeline, number | undefined> => ({
  traces: pipelines.traces.retentionDays,
  logs: pipelines.logs.retentionDays,
  otel_metrics: pipelines.otel_metrics.retentionDays,
});

const filesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw settingFault(
      folder,
      `the folder cannot be read (${errorText(error)})`,
      'Correct TIDEMARK_PIPELINES or unset it',
    );
  }
};

const knownFiles = [
  'ledger.yaml',
  'logs.yaml',
  'metrics.yaml',
  'otel_metrics.yaml',
  'streams.yaml',
  'traces.yaml',
];

/** The file that makes a ConfigMap of the folder, and the entries beside the files of a mounted one. */
const isOfKubernetes = (name: string): boolean => name === 'kustomization.yaml' || name.startsWith('..');

const refuseUnknownFiles = (folder: string): void => {
  for (const name of filesIn(folder)) {
    if (knownFiles.includes(basename(name)) || isOfKubernetes(name)) continue;
    throw settingFault(
      join(folder, name),
      'unknown pipeline file',
      `Remove it; the known files are ${knownFiles.join(', ')}`,
    );
  }
};

type Staged = { readonly stages?: unknown };
type StagedFile = { readonly receiver?: Staged; readonly transfer: Staged };

/** Where a file lists stages. Files of earlier versions do, and had to list the program's own. */
const stagesIn = (file: YamlFile, content: StagedFile): string[] =>
  (['receiver', 'transfer'] as const)
    .filter((part) => content[part]?.stages !== undefined)
    .map((part) => `${file.placeOf([part, 'stages'])} /${part}/stages`);

/** One line on stderr, in the form of the roles' logs, which do not exist yet. */
const warnInLog = (warning: string): void => createLog('config', 'warn').warn({}, warning);

/**
 * Reads and checks the pipeline files: shape first, then what the parts demand of each other. Throws a permanent Fault
 * `config_invalid` with file, line, pointer, reason and remedy. `replicas` is the number of copies of every stream, where the
 * settings give one. A folder of a version without logs or metrics of OpenTelemetry has the program's own for them. `warn` receives a text for each key without effect.
 */
export const loadPipelines = (folder: string, replicas?: number, warn = warnInLog): Pipelines => {
  refuseUnknownFiles(folder);
  // The folder of a version without this signal.
  const orOwn = (name: string) =>
    parseYamlFile(join(existsSync(join(folder, name)) ? folder : ownPipelinesFolder, name));
  const [streamsFile, metricsFile, tracesFile, logsFile, otelMetricsFile, ledgerFile] = [
    parseYamlFile(join(folder, 'streams.yaml')),
    parseYamlFile(join(folder, 'metrics.yaml')),
    parseYamlFile(join(folder, 'traces.yaml')),
    orOwn('logs.yaml'),
    orOwn('otel_metrics.yaml'),
    parseYamlFile(join(folder, 'ledger.yaml')),
  ];
  const streams = toStreams(checkFile(streamsFileSchema, streamsFile), replicas);
  refuseOverlaps(streamsFile, streams);
  const staged: string[] = [];
  const line = <Schema extends z.ZodType<StagedFile>, Line>(
    file: YamlFile,
    schema: Schema,
    toLine: (file: YamlFile, content: z.output<Schema>, streams: readonly StreamDefinition[]) => Line,
  ): Line => {
    const content = checkFile(schema, file);
    staged.push(...stagesIn(file, content));
    return toLine(file, content, streams);
  };
  const metrics = line(metricsFile, metricsFileSchema, toMetrics);
  const traces = line(tracesFile, tracesFileSchema, toTraces);
  const logs = line(logsFile, logsFileSchema, toLogs);
  const otel_metrics = line(otelMetricsFile, otelMetricsFileSchema, toOtelMetrics);
  const ledger = line(ledgerFile, ledgerFileSchema, toLedger);
  const path = ['receiver', 'publish', 'stream'];
  refuseShared([
    { file: metricsFile, path, ...metrics },
    { file: tracesFile, path, ...traces },
    { file: logsFile, path, ...logs },
    { file: otelMetricsFile, path, ...otel_metrics },
    { file: ledgerFile, path: ['stream'], ...ledger },
  ]);
  if (staged.length > 0) warn(`${staged.join(', ')}: a list of stages has no effect. Delete it`);
  const received = [metrics, traces, logs, otel_metrics].map(({ consumer }) => consumer.stream);
  return {
    streams: streams.map((stream) =>
      received.includes(stream.name) ? { ...stream, isAtomic: true } : stream,
    ),
    metrics,
    traces,
    logs,
    otel_metrics,
    ledger,
  };
};

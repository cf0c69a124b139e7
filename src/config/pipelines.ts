import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorText } from '../model/fault.ts';
import type { TimePolicy } from '../model/time.ts';
import { checkTransfer, refuse, requireStages } from './pipeline-checks.ts';
import type { BreakerDefinition, ConsumerDefinition, StreamDefinition } from './pipeline-definitions.ts';
import type { LedgerFile, LineFile, MetricsFile, StreamsFile, TracesFile } from './pipeline-files.ts';
import { checkFile, compileSchemas } from './schemas.ts';
import { parseBytes, settingFault } from './settings.ts';
import { parseYamlFile, type YamlFile } from './yaml-file.ts';

export type { BreakerDefinition, ConsumerDefinition, StreamDefinition };

/** How a receiver publishes. `awayMs`: how long a publish waits for a lost connection. */
export type PublishDefinition = {
  readonly subject: string;
  readonly shards: number;
  readonly deadlineMs: number;
  readonly awayMs: number;
};

/** What a receiver takes of any body. */
type BodyDefinition = {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
  /** Inflated bytes for each on the wire, of a large body. */
  readonly inflateRatioMax: number;
  /** Objects, arrays, members and elements of a JSON body. */
  readonly elementsMax: number;
};

/** What runs for custom metrics. Sizes are bytes. */
export type MetricsPipeline = {
  readonly limits: BodyDefinition & {
    readonly pointsMax: number;
    readonly metricsMax: number;
    readonly dimensionsMax: number;
  };
  readonly time: TimePolicy;
  readonly publish: PublishDefinition;
  readonly consumer: ConsumerDefinition;
  readonly pullBytesMax: number;
  readonly rowsPerWriteMax: number;
  /** Writes begin at least this far apart, unless a whole one's rows are waiting, ms. */
  readonly writeIntervalMs: number;
  readonly storeTimeoutMs: number;
  /** How long a table may fail while QuestDB is available, before its points are dead-lettered. */
  readonly tableWaitMs: number;
  readonly breaker: BreakerDefinition;
};

/** What runs for traces. Sizes are bytes. */
export type TracesPipeline = {
  readonly limits: BodyDefinition & {
    readonly spansMax: number;
    readonly attributesMax: number;
    readonly eventsMax: number;
    readonly linksMax: number;
    readonly valueBytesMax: number;
  };
  readonly time: TimePolicy;
  /** Days that the store keeps a span, counted from its start; undefined = for ever. */
  readonly retentionDays: number | undefined;
  readonly publish: PublishDefinition;
  readonly consumer: ConsumerDefinition;
  readonly duplicateWindowMs: number;
  readonly pullBytesMax: number;
  readonly rowsPerWriteMax: number;
  readonly writeIntervalMs: number;
  readonly guard: 'suspect' | 'always';
  readonly storeTimeoutMs: number;
  readonly breaker: BreakerDefinition;
};

/** What runs for the records of outcomes, refusals and examples. Sizes are bytes. */
export type LedgerPipeline = {
  readonly stream: StreamDefinition;
  readonly consumer: ConsumerDefinition;
  readonly pullBytesMax: number;
  readonly rowsPerWriteMax: number;
  readonly writeIntervalMs: number;
  readonly storeTimeoutMs: number;
  /** How long stopping waits for what is held to be written, ms; the rest comes again. */
  readonly drainMs: number;
  readonly breaker: BreakerDefinition;
};

export type Pipelines = {
  readonly streams: readonly StreamDefinition[];
  readonly metrics: MetricsPipeline;
  readonly traces: TracesPipeline;
  readonly ledger: LedgerPipeline;
};

/** The stages the program has, in the order in which it runs them: a file that says otherwise would describe another program. */
const stages = {
  metrics: {
    receiver: ['admit', 'inflate', 'authorize', 'decode', 'rules', 'name_columns', 'encode', 'publish'],
    transfer: ['read', 'validate_time', 'gather', 'write', 'settle'],
  },
  traces: {
    receiver: ['admit', 'inflate', 'authorize', 'decode', 'rules', 'fill_dimensions', 'encode', 'publish'],
    transfer: ['read', 'validate_time', 'gather', 'guard', 'write', 'settle'],
  },
  ledger: { transfer: ['read', 'gather', 'write', 'settle'] },
} as const;

/** As files of programs before say it: points were decoded before anybody was authorized. */
const earlierStages: Readonly<Record<'metrics' | 'traces', readonly string[]>> = {
  metrics: ['admit', 'inflate', 'decode', 'authorize', 'rules', 'name_columns', 'encode', 'publish'],
  traces: stages.traces.receiver,
};

/** The one subject of stream LEDGER that items' records, refusals and examples are published under. */
const ledgerSubject = 'ledger.>';

const toStreams = (content: StreamsFile, replicas: number | undefined): StreamDefinition[] =>
  Object.entries(content.streams).map(([name, stream]) => ({
    name,
    subjects: stream.subjects,
    retention: stream.retention,
    discard: stream.discard ?? 'new',
    bytesMax: parseBytes(stream.bytes_max) ?? 0,
    duplicateWindowMs: stream.duplicate_window_seconds * 1000,
    replicas: replicas ?? stream.replicas,
    consumer: stream.consumer && {
      name: stream.consumer.name,
      stream: name,
      ackWaitMs: stream.consumer.ack_wait_seconds * 1000,
      ackPendingMax: stream.consumer.ack_pending_max,
    },
  }));

const windowMs = (seconds: number | 'off'): number | undefined =>
  seconds === 'off' ? undefined : seconds * 1000;

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

/** What both signals demand of their parts together; answers what follows from it. */
const checkLine = (
  file: YamlFile,
  content: LineFile,
  signal: 'metrics' | 'traces',
  streams: readonly StreamDefinition[],
) => {
  const { receiver, transfer } = content;
  requireStages(file, 'receiver', receiver.stages, stages[signal].receiver, earlierStages[signal]);
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
      aheadMsMax: windowMs(receiver.time.ahead_seconds_max),
      ageMsMax: windowMs(receiver.time.age_seconds_max),
    },
    publish: {
      subject: receiver.publish.subject,
      shards: receiver.publish.shards,
      deadlineMs: receiver.publish.deadline_ms,
      awayMs: receiver.publish.away_ms,
    },
    duplicateWindowMs: stream.duplicateWindowMs,
    ...checkTransfer(file, transfer, stages[signal].transfer, stream),
  };
};

const inflateRatioDefault = 600;

const bodyLimits = ({ receiver: { limits } }: LineFile, elementsDefault: number): BodyDefinition => ({
  bodyBytesMax: parseBytes(limits.body_bytes_max) ?? 0,
  inflatedBytesMax: parseBytes(limits.inflated_bytes_max) ?? 0,
  inflateRatioMax: limits.inflate_ratio_max ?? inflateRatioDefault,
  elementsMax: limits.elements_max ?? elementsDefault,
});

const toMetrics = (
  file: YamlFile,
  content: MetricsFile,
  streams: readonly StreamDefinition[],
): MetricsPipeline => ({
  ...checkLine(file, content, 'metrics', streams),
  tableWaitMs: (content.transfer.table_wait_seconds ?? 60) * 1000,
  limits: {
    ...bodyLimits(content, 80 * content.receiver.limits.points_max),
    pointsMax: content.receiver.limits.points_max,
    metricsMax: content.receiver.limits.metric_columns_max,
    dimensionsMax: content.receiver.limits.dimension_columns_max,
  },
});

const toTraces = (
  file: YamlFile,
  content: TracesFile,
  streams: readonly StreamDefinition[],
): TracesPipeline => ({
  ...checkLine(file, content, 'traces', streams),
  limits: {
    ...bodyLimits(content, 160 * content.receiver.limits.spans_max),
    spansMax: content.receiver.limits.spans_max,
    attributesMax: content.receiver.limits.attributes_max,
    eventsMax: content.receiver.limits.events_max,
    linksMax: content.receiver.limits.links_max,
    valueBytesMax: parseBytes(content.receiver.limits.value_bytes_max) ?? 0,
  },
  retentionDays: content.transfer.retention_days === 'off' ? undefined : content.transfer.retention_days,
  // A new leader of a stream may not know how often a message was delivered.
  guard: streamOf(file, content, streams).replicas > 1 ? 'always' : content.transfer.guard,
});

const toLedger = (
  file: YamlFile,
  content: LedgerFile,
  streams: readonly StreamDefinition[],
): LedgerPipeline => {
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
    ...checkTransfer(file, content.transfer, stages.ledger.transfer, stream),
    drainMs: content.transfer.drain_ms,
  };
};

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

const knownFiles = ['ledger.yaml', 'metrics.yaml', 'streams.yaml', 'traces.yaml'];

/**
 * Reads and checks `pipelines/` against `schemas/`: shape first, then what the parts demand of each other. Throws a permanent
 * Fault `config_invalid` with file, line, pointer, reason and remedy. `replicas` is the number of copies of every stream, where
 * the settings say one.
 */
export const loadPipelines = (
  pipelinesFolder: string,
  schemasFolder: string,
  replicas?: number,
): Pipelines => {
  const ajv = compileSchemas(schemasFolder);
  for (const name of filesIn(pipelinesFolder)) {
    if (!knownFiles.includes(basename(name))) {
      throw settingFault(
        join(pipelinesFolder, name),
        'unknown pipeline file',
        `Remove it; the known files are ${knownFiles.join(', ')}`,
      );
    }
  }
  const streamsFile = parseYamlFile(join(pipelinesFolder, 'streams.yaml'));
  const streams = toStreams(checkFile<StreamsFile>(ajv, 'streams.schema.json', streamsFile), replicas);
  const metricsFile = parseYamlFile(join(pipelinesFolder, 'metrics.yaml'));
  const metrics = toMetrics(
    metricsFile,
    checkFile<MetricsFile>(ajv, 'pipeline-metrics.schema.json', metricsFile),
    streams,
  );
  const tracesFile = parseYamlFile(join(pipelinesFolder, 'traces.yaml'));
  const traces = toTraces(
    tracesFile,
    checkFile<TracesFile>(ajv, 'pipeline-traces.schema.json', tracesFile),
    streams,
  );
  const ledgerFile = parseYamlFile(join(pipelinesFolder, 'ledger.yaml'));
  const ledger = toLedger(
    ledgerFile,
    checkFile<LedgerFile>(ajv, 'pipeline-ledger.schema.json', ledgerFile),
    streams,
  );
  const received = [metrics.consumer.stream, traces.consumer.stream];
  return {
    streams: streams.map((stream) =>
      received.includes(stream.name) ? { ...stream, isAtomic: true } : stream,
    ),
    metrics,
    traces,
    ledger,
  };
};

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf } from '../model/fault.ts';
import type { TimePolicy } from '../model/time.ts';
import { checkFile, compileSchemas } from './schemas.ts';
import { parseBytes, settingFault } from './settings.ts';
import { parseYamlFile, type YamlFile } from './yaml-file.ts';

/** A stream of the bus and its durable consumer. Sizes are bytes, times milliseconds. */
export type StreamDefinition = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly retention: 'workqueue' | 'limits';
  /** What gives way when the stream is full: the message that comes (its publisher is refused) or the oldest one. */
  readonly discard: 'new' | 'old';
  readonly bytesMax: number;
  readonly duplicateWindowMs: number;
  readonly replicas: number;
  readonly consumer: ConsumerDefinition | undefined;
};

export type ConsumerDefinition = {
  readonly name: string;
  readonly stream: string;
  readonly ackWaitMs: number;
  readonly ackPendingMax: number;
};

/** How a receiver publishes. `awayMs`: how long a publish waits for a lost connection. */
export type PublishDefinition = {
  readonly subject: string;
  readonly shards: number;
  readonly deadlineMs: number;
  readonly awayMs: number;
};

/** When a consumer stops because too much of what it writes goes to the dead letters. Counted in items. */
export type BreakerDefinition = {
  /** Items set aside with none stored in between. */
  readonly inARowMax: number;
  /** Share of the last `shareItemsMin` items or more, 0 to 1. */
  readonly shareMax: number;
  readonly shareItemsMin: number;
  /** Until one batch is tried again, ms. */
  readonly pauseMs: number;
};

/** What runs for custom metrics. Sizes are bytes. */
export type MetricsPipeline = {
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly inflatedBytesMax: number;
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
  /** How long a table may fail while others take rows before it is set aside. */
  readonly tableWaitMs: number;
  readonly breaker: BreakerDefinition;
};

/** What runs for traces. Sizes are bytes. */
export type TracesPipeline = {
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly inflatedBytesMax: number;
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

export type Pipelines = {
  readonly streams: readonly StreamDefinition[];
  readonly metrics: MetricsPipeline;
  readonly traces: TracesPipeline;
};

type StreamsFile = {
  streams: Record<
    string,
    {
      subjects: string[];
      retention: 'workqueue' | 'limits';
      discard?: 'new' | 'old';
      bytes_max: string;
      duplicate_window_seconds: number;
      replicas: number;
      consumer?: { name: string; ack_wait_seconds: number; ack_pending_max: number };
    }
  >;
};

/** What the files of both signals have in common. */
type LineFile = {
  receiver: {
    stages: string[];
    limits: { body_bytes_max: string; inflated_bytes_max: string };
    time: { ahead_seconds_max: number | 'off'; age_seconds_max: number | 'off' };
    publish: { stream: string; subject: string; shards: number; deadline_ms: number; away_ms: number };
  };
  transfer: {
    consumer: string;
    stages: string[];
    pull_bytes_max: string;
    rows_per_write_max: number;
    write_interval_ms: number;
    store: string;
    store_timeout_ms: number;
    breaker?: {
      dead_letters_in_a_row_max?: number;
      dead_letters_share_max?: number;
      share_items_min?: number;
      pause_seconds?: number;
    };
  };
};

type MetricsFile = LineFile & {
  transfer: { table_wait_seconds?: number };
  receiver: { limits: { points_max: number; metric_columns_max: number; dimension_columns_max: number } };
};

type TracesFile = LineFile & {
  receiver: {
    limits: {
      spans_max: number;
      attributes_max: number;
      events_max: number;
      links_max: number;
      value_bytes_max: string;
    };
  };
  transfer: { guard: 'suspect' | 'always'; retention_days: number | 'off' };
};

/** The stages the program has, in the order in which it runs them: a file that says otherwise would describe another program. */
const stages = {
  metrics: {
    receiver: ['admit', 'inflate', 'decode', 'authorize', 'rules', 'name_columns', 'encode', 'publish'],
    transfer: ['read', 'validate_time', 'gather', 'write', 'settle'],
  },
  traces: {
    receiver: ['admit', 'inflate', 'authorize', 'decode', 'rules', 'fill_dimensions', 'encode', 'publish'],
    transfer: ['read', 'validate_time', 'gather', 'guard', 'write', 'settle'],
  },
} as const;

/** Largest message a receiver publishes; a pull that asks for less than one message stalls for ever. */
const pullBytes = { least: 16 * 2 ** 20, most: 32 * 2 ** 20 };

const refuse = (file: YamlFile, path: readonly string[], reason: string, remedy: string): never => {
  throw settingFault(`${file.placeOf(path)} /${path.join('/')}`, reason, remedy);
};

const toStreams = (content: StreamsFile): StreamDefinition[] =>
  Object.entries(content.streams).map(([name, stream]) => ({
    name,
    subjects: stream.subjects,
    retention: stream.retention,
    discard: stream.discard ?? 'new',
    bytesMax: parseBytes(stream.bytes_max) ?? 0,
    duplicateWindowMs: stream.duplicate_window_seconds * 1000,
    replicas: stream.replicas,
    consumer: stream.consumer && {
      name: stream.consumer.name,
      stream: name,
      ackWaitMs: stream.consumer.ack_wait_seconds * 1000,
      ackPendingMax: stream.consumer.ack_pending_max,
    },
  }));

const windowMs = (seconds: number | 'off'): number | undefined =>
  seconds === 'off' ? undefined : seconds * 1000;

const requireStages = (
  file: YamlFile,
  part: 'receiver' | 'transfer',
  given: readonly string[],
  own: readonly string[],
): void => {
  if (given.join() === own.join()) return;
  refuse(
    file,
    [part, 'stages'],
    `these are not the stages of this ${part} in their order`,
    `Write [${own.join(', ')}]`,
  );
};

const streamOf = (
  file: YamlFile,
  { receiver }: LineFile,
  streams: readonly StreamDefinition[],
): StreamDefinition => {
  const { stream: name, subject } = receiver.publish;
  const stream = streams.find((candidate) => candidate.name === name);
  if (stream === undefined) {
    const names = streams.map((each) => each.name).join(', ');
    return refuse(file, ['receiver', 'publish', 'stream'], 'there is no such stream', `Use one of ${names}`);
  }
  if (!stream.subjects.includes(`${subject}.>`)) {
    refuse(
      file,
      ['receiver', 'publish', 'subject'],
      `stream ${name} does not take ${subject}.>`,
      `Its subjects are ${stream.subjects.join(', ')}`,
    );
  }
  return stream;
};

const toBreaker = ({
  dead_letters_in_a_row_max: inARowMax = 1_000,
  dead_letters_share_max: shareMax = 0.2,
  share_items_min: shareItemsMin = 10_000,
  pause_seconds: pauseSeconds = 60,
}: LineFile['transfer']['breaker'] = {}): BreakerDefinition => ({
  inARowMax,
  shareMax,
  shareItemsMin,
  pauseMs: pauseSeconds * 1000,
});

/** What both signals demand of their parts together; answers what follows from it. */
const checkLine = (
  file: YamlFile,
  content: LineFile,
  signal: keyof typeof stages,
  streams: readonly StreamDefinition[],
) => {
  const { receiver, transfer } = content;
  requireStages(file, 'receiver', receiver.stages, stages[signal].receiver);
  requireStages(file, 'transfer', transfer.stages, stages[signal].transfer);
  const stream = streamOf(file, content, streams);
  const { consumer } = stream;
  if (consumer === undefined || consumer.name !== transfer.consumer) {
    return refuse(
      file,
      ['transfer', 'consumer'],
      `stream ${stream.name} has no such consumer`,
      `Use ${consumer?.name ?? 'a stream with a consumer'}`,
    );
  }
  if (stream.duplicateWindowMs <= receiver.publish.deadline_ms) {
    refuse(
      file,
      ['receiver', 'publish', 'deadline_ms'],
      `the last try of a publish may come when stream ${stream.name} has forgotten the first: its duplicate window is ${stream.duplicateWindowMs} ms`,
      'Make it smaller, or duplicate_window_seconds larger',
    );
  }
  if (consumer.ackWaitMs <= transfer.store_timeout_ms) {
    refuse(
      file,
      ['transfer', 'store_timeout_ms'],
      `a write may outlast the ack wait of ${consumer.ackWaitMs} ms, and its messages would be written by two workers`,
      'Make it smaller, or ack_wait_seconds larger',
    );
  }
  const pullBytesMax = parseBytes(transfer.pull_bytes_max) ?? 0;
  if (pullBytesMax < pullBytes.least || pullBytesMax > pullBytes.most) {
    refuse(
      file,
      ['transfer', 'pull_bytes_max'],
      'a pull below 16MiB can stall on the largest message, one far above 32MiB gets the connection cut',
      'Choose between 16MiB and 32MiB',
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
    consumer,
    duplicateWindowMs: stream.duplicateWindowMs,
    pullBytesMax,
    rowsPerWriteMax: transfer.rows_per_write_max,
    writeIntervalMs: transfer.write_interval_ms,
    storeTimeoutMs: transfer.store_timeout_ms,
    breaker: toBreaker(transfer.breaker),
  };
};

const bodyLimits = ({ receiver }: LineFile) => ({
  bodyBytesMax: parseBytes(receiver.limits.body_bytes_max) ?? 0,
  inflatedBytesMax: parseBytes(receiver.limits.inflated_bytes_max) ?? 0,
});

const toMetrics = (
  file: YamlFile,
  content: MetricsFile,
  streams: readonly StreamDefinition[],
): MetricsPipeline => ({
  ...checkLine(file, content, 'metrics', streams),
  tableWaitMs: (content.transfer.table_wait_seconds ?? 60) * 1000,
  limits: {
    ...bodyLimits(content),
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
    ...bodyLimits(content),
    spansMax: content.receiver.limits.spans_max,
    attributesMax: content.receiver.limits.attributes_max,
    eventsMax: content.receiver.limits.events_max,
    linksMax: content.receiver.limits.links_max,
    valueBytesMax: parseBytes(content.receiver.limits.value_bytes_max) ?? 0,
  },
  retentionDays: content.transfer.retention_days === 'off' ? undefined : content.transfer.retention_days,
  guard: content.transfer.guard,
});

const filesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw settingFault(
      folder,
      `the folder cannot be read (${messageOf(error)})`,
      'Correct TIDEMARK_PIPELINES or unset it',
    );
  }
};

const knownFiles = ['metrics.yaml', 'streams.yaml', 'traces.yaml'];

/**
 * Reads and checks `pipelines/` against `schemas/`: shape first, then what the parts demand of each other. Throws a permanent
 * Fault `config_invalid` with file, line, pointer, reason and remedy.
 */
export const loadPipelines = (pipelinesFolder: string, schemasFolder: string): Pipelines => {
  const ajv = compileSchemas(schemasFolder);
  for (const name of filesIn(pipelinesFolder)) {
    if (!knownFiles.includes(basename(name))) {
      throw settingFault(
        join(pipelinesFolder, name),
        'no part of the program reads this file',
        `Remove it; there are ${knownFiles.join(', ')}`,
      );
    }
  }
  const streamsFile = parseYamlFile(join(pipelinesFolder, 'streams.yaml'));
  const streams = toStreams(checkFile<StreamsFile>(ajv, 'streams.schema.json', streamsFile));
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
  return { streams, metrics, traces };
};

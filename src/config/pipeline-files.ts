import { z } from 'zod';
import { parseBytes } from './setting-kinds.ts';

// The files of pipelines/, each declared once: `make docs` writes the JSON Schemas in schemas/ from these.

const whole = (least: number, most: number, reason = `must be a whole number from ${least} to ${most}`) =>
  z.int(reason).min(least, reason).max(most, reason);

const text = z.string('must be text');

const choice = <T extends string | number>(...values: readonly [T, ...T[]]) =>
  z.literal(values, values.length === 1 ? 'must be the only choice' : 'must be one of the choices');

/** A form allows more digits than a number has. */
const isCountable = (written: string): boolean => parseBytes(written) !== undefined;

const sizeText =
  'must be a size: digits followed by KiB, MiB or GiB, or by nothing for bytes, up to 8388607GiB';

const sizeWritten = z
  .string(sizeText)
  .regex(/^[0-9]{1,12}(KiB|MiB|GiB)?$/, { error: sizeText, abort: true })
  .refine(isCountable, sizeText)
  .transform((written) => parseBytes(written) ?? 0);

/** Bytes, written as `512`, `64KiB`, `16MiB` or `2GiB`; YAML reads the first as a number. */
const size = z
  .union([sizeWritten, whole(0, Number.MAX_SAFE_INTEGER, sizeText)], sizeText)
  .meta({ id: 'size', description: sizeText });

const windowText = 'must be off, or a whole number of seconds from 0';

/** A window of time, ms; undefined = no bound. */
const window = z
  .union([z.literal('off'), whole(0, Number.MAX_SAFE_INTEGER, windowText)], windowText)
  .meta({ id: 'window', description: windowText })
  .transform((seconds) => (seconds === 'off' ? undefined : seconds * 1000));

const retentionText = 'must be off, or a whole number of days from 1 to 18250';

/** Files of earlier versions list the stages. */
const stages = z
  .unknown()
  .optional()
  .meta({ deprecated: true, description: 'Without effect: the program has one order. Delete it' });

/** Lower bound: the largest message that a receiver publishes. A pull that requests less than one message stalls for ever. */
const pullBytes = { least: 16 * 2 ** 20, most: 32 * 2 ** 20 };

const breaker = z
  .strictObject({
    dead_letters_in_a_row_max: whole(1, 1_000_000_000)
      .default(1_000)
      .meta({ description: 'With none stored in between' }),
    dead_letters_share_max: z
      .number('must be a number above 0, up to 1')
      .gt(0, 'must be a number above 0, up to 1')
      .max(1, 'must be a number above 0, up to 1')
      .default(0.2)
      .meta({ description: 'Of the last share_items_min items or more; 1 = no limit' }),
    share_items_min: whole(1, 1_000_000_000).default(10_000),
    pause_seconds: whole(1, 86_400).default(60),
  })
  .meta({
    id: 'breaker',
    description:
      'The consumer stops when this many items go to the dead letters, and tries one batch after each pause',
  });

/** What every file declares about its consumer. */
const transfer = {
  consumer: text,
  stages,
  pull_bytes_max: size.refine(
    (bytes) => bytes >= pullBytes.least && bytes <= pullBytes.most,
    'must be from 16MiB to 32MiB: a smaller pull can stall on the largest message, and NATS closes the connection on a far larger one',
  ),
  rows_per_write_max: whole(1, 500_000),
  write_interval_ms: whole(0, 10_000).meta({
    description:
      'Least time between the starts of two writes, unless the rows of a whole write are waiting; 0 = none',
  }),
  write_interval_ms_max: whole(0, 20_000).optional().meta({
    description:
      'Limit to which write_interval_ms grows while writes take most of the time, so that they become larger; that of ledger.yaml also while lines come without a pause. Default: it does not grow',
  }),
  store_timeout_ms: whole(500, 600_000),
  breaker: breaker.prefault({}),
};

/** What the receivers of both signals share; files of earlier versions name no ratio and no elements. */
const receiver = {
  stages,
  time: z.strictObject({ ahead_seconds_max: window, age_seconds_max: window }),
  publish: z.strictObject({
    stream: text,
    subject: text.regex(/^[a-z]+$/, 'must be small letters'),
    shards: whole(1, 1024),
    deadline_ms: whole(100, 120_000),
    away_ms: whole(0, 120_000),
  }),
};

const bodyLimits = {
  body_bytes_max: size,
  inflated_bytes_max: size,
  inflate_ratio_max: whole(10, 1_000_000).default(600),
  elements_max: whole(1_000, 100_000_000).optional(),
};

/** pipelines/metrics.yaml. */
export const metricsFileSchema = z
  .strictObject({
    pipeline: choice('metrics'),
    receiver: z.strictObject({
      kind: choice('push'),
      ...receiver,
      limits: z.strictObject({
        ...bodyLimits,
        points_max: whole(1, 1_000_000),
        metric_columns_max: whole(1, 1_500),
        dimension_columns_max: whole(1, 500),
      }),
    }),
    transfer: z.strictObject({
      ...transfer,
      store: choice('questdb'),
      table_wait_seconds: whole(1, 86_400).default(60).meta({
        description: 'How long a table may fail while QuestDB lives before its points go to the dead letters',
      }),
    }),
  })
  .meta({ title: 'pipelines/metrics.yaml: the line of custom metrics' });

/** What the transfer part of every signal in ClickHouse declares. */
const clickhouseTransfer = {
  ...transfer,
  store: choice('clickhouse'),
  guard: choice('suspect', 'always'),
  retention_days: z
    .union([z.literal('off'), whole(1, 18_250, retentionText)], retentionText)
    .meta({ description: retentionText })
    .transform((days) => (days === 'off' ? undefined : days)),
};

/** The file of a signal in ClickHouse, with these limits of its receiver. */
const otlpFile = <Name extends string, Limits extends z.ZodRawShape>(
  name: Name,
  limits: Limits,
  signal: string,
) =>
  z
    .strictObject({
      pipeline: choice(name),
      receiver: z.strictObject({ kind: choice('otlp'), ...receiver, limits: z.strictObject(limits) }),
      transfer: z.strictObject(clickhouseTransfer),
    })
    .meta({ title: `pipelines/${name}.yaml: the line of ${signal}` });

/** pipelines/traces.yaml. */
export const tracesFileSchema = otlpFile(
  'traces',
  {
    ...bodyLimits,
    spans_max: whole(1, 1_000_000),
    attributes_max: whole(1, 10_000),
    events_max: whole(1, 10_000),
    links_max: whole(1, 10_000),
    value_bytes_max: size,
  },
  'traces',
);

/** pipelines/logs.yaml. */
export const logsFileSchema = otlpFile(
  'logs',
  {
    ...bodyLimits,
    records_max: whole(1, 1_000_000),
    attributes_max: whole(1, 10_000),
    value_bytes_max: size,
  },
  'logs',
);

const seriesText = 'must be off, or a whole number from 1 to 1000000';

/** pipelines/otel_metrics.yaml. */
export const otelMetricsFileSchema = otlpFile(
  'otel_metrics',
  {
    ...bodyLimits,
    data_points_max: whole(1, 1_000_000),
    attributes_max: whole(1, 10_000),
    value_bytes_max: size,
    buckets_max: whole(1, 100_000),
    exemplars_max: whole(1, 10_000),
    series_max: z
      .union([z.literal('off'), whole(1, 1_000_000, seriesText)], seriesText)
      .meta({ description: seriesText })
      .transform((series) => (series === 'off' ? undefined : series)),
  },
  'metrics of OpenTelemetry',
);

/** pipelines/ledger.yaml. */
export const ledgerFileSchema = z
  .strictObject({
    pipeline: choice('ledger'),
    stream: text,
    transfer: z.strictObject({
      ...transfer,
      store: choice('clickhouse'),
      drain_ms: whole(0, 60_000).meta({
        description: 'How long a stop waits for the writes of held messages; NATS delivers the others again',
      }),
    }),
  })
  .meta({ title: 'pipelines/ledger.yaml: the line of outcomes, refusals and samples' });

const streamSubject = text.regex(
  /^[a-z]+(\.([a-z0-9]+|\*))*(\.>)?$/,
  'must be a subject of small letters and digits, with * and > as wildcards',
);

const budgetText = 'must be a size in KiB, MiB or GiB, from 1KiB to 8388607GiB';

const stream = z.strictObject({
  subjects: z.array(streamSubject, 'must be a list of subjects').min(1, 'must have at least one subject'),
  retention: choice('workqueue', 'limits'),
  discard: choice('new', 'old').default('new'),
  bytes_max: z
    .string(budgetText)
    // NATS takes 0 for no limit.
    .regex(/^(?=0*[1-9])[0-9]{1,12}(KiB|MiB|GiB)$/, { error: budgetText, abort: true })
    .refine(isCountable, budgetText)
    .transform((written) => parseBytes(written) ?? 0),
  duplicate_window_seconds: whole(1, 86_400),
  replicas: choice(1, 3, 5),
  consumer: z
    .strictObject({
      name: choice('questdb', 'clickhouse', 'ledger'),
      ack_wait_seconds: whole(2, 3_600),
      ack_pending_max: whole(1, 1_000_000),
    })
    .optional(),
});

/** The stream holds acknowledged items: when it is full it refuses new messages, and never drops its oldest ones. */
const refusing = stream.extend({ discard: choice('new').default('new') }).meta({ id: 'refusing' });

/** The stream of a consumer, which removes what it has stored: else it would fill up while the store takes everything. */
const queue = refusing
  .extend({ retention: z.literal('workqueue', 'must be workqueue, so that stored messages are removed') })
  .meta({ id: 'queue' });

/** A stream that files of earlier versions do not name. */
const ofTraces = queue
  .optional()
  .meta({ description: "Default: the program's own, with the replicas of TRACES" });

/** pipelines/streams.yaml. */
export const streamsFileSchema = z
  .strictObject({
    streams: z.strictObject({
      METRICS: queue,
      TRACES: queue,
      LOGS: ofTraces,
      OTEL_METRICS: ofTraces,
      LEDGER: queue,
      DEADLETTER: refusing,
      AUDIT: stream,
    }),
  })
  .meta({ title: 'pipelines/streams.yaml: the streams of the bus' });

export type MetricsFile = z.output<typeof metricsFileSchema>;
export type TracesFile = z.output<typeof tracesFileSchema>;
export type LogsFile = z.output<typeof logsFileSchema>;
export type OtelMetricsFile = z.output<typeof otelMetricsFileSchema>;
export type LedgerFile = z.output<typeof ledgerFileSchema>;
export type StreamsFile = z.output<typeof streamsFileSchema>;
/** What the files of all signals share. */
export type LineFile = Pick<MetricsFile | TracesFile | LogsFile | OtelMetricsFile, 'receiver' | 'transfer'>;
/** What every file declares about its consumer. */
export type TransferPart = (MetricsFile | TracesFile | LogsFile | OtelMetricsFile | LedgerFile)['transfer'];

/** The JSON Schema of each file, by its name in schemas/, as editors and other programs read it. */
export const pipelineJsonSchemas = (): Readonly<Record<string, object>> =>
  Object.fromEntries(
    Object.entries({
      'pipeline-metrics': metricsFileSchema,
      'pipeline-traces': tracesFileSchema,
      'pipeline-logs': logsFileSchema,
      'pipeline-otel_metrics': otelMetricsFileSchema,
      'pipeline-ledger': ledgerFileSchema,
      streams: streamsFileSchema,
    }).map(([name, schema]) => [
      `${name}.schema.json`,
      { $id: `${name}.schema.json`, ...z.toJSONSchema(schema, { io: 'input' }) },
    ]),
  );

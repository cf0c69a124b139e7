/**
 * A signal: what its items are called, who owns them and the stream that carries them. Its decoder, rules and table are named where they
 * are used; everything else asks this declaration (architecture 1.3).
 */
export type Signal = {
  /** The stream of its messages. Further QuestDB instances have streams of their own, called `<stream>-<instance>`. */
  readonly stream: string;
  /** The column of its owner in every table of the account; the other one is 0. */
  readonly owner: 'data_id' | 'app_id';
  /** Its items, in the plural. */
  readonly items: string;
  /** The kind of its messages, in their header. */
  readonly kind: string;
  /** Its tables in ClickHouse. A part of a message names its table where there are several. */
  readonly tables?: readonly string[];
};

/** The signals by pipeline. */
export const signals = {
  metrics: { stream: 'METRICS', owner: 'data_id', items: 'points', kind: 'metrics' },
  traces: { stream: 'TRACES', owner: 'app_id', items: 'spans', kind: 'spans', tables: ['otel_traces'] },
  logs: { stream: 'LOGS', owner: 'app_id', items: 'log records', kind: 'logs', tables: ['otel_logs'] },
  otel_metrics: {
    stream: 'OTEL_METRICS',
    owner: 'app_id',
    items: 'data points',
    kind: 'data_points',
    tables: [
      'otel_metrics_gauge',
      'otel_metrics_sum',
      'otel_metrics_histogram',
      'otel_metrics_exponential_histogram',
      'otel_metrics_summary',
    ],
  },
} as const satisfies Readonly<Record<string, Signal>>;

export type Pipeline = keyof typeof signals;

/** Every pipeline, in the order in which answers list them. */
export const pipelines = ['metrics', 'traces', 'logs', 'otel_metrics'] as const satisfies readonly Pipeline[];

/** Those whose items belong to an application: each has tables of its own in ClickHouse. */
export const applicationPipelines = ['traces', 'logs', 'otel_metrics'] as const satisfies readonly Pipeline[];

export type ApplicationPipeline = (typeof applicationPipelines)[number];

/** The name of a table with items of applications. */
export type ItemTableName = (typeof signals)[ApplicationPipeline]['tables'][number];

/** Whether the items of this pipeline belong to an application, and not to a data id. */
export const isOfApplications = (pipeline: Pipeline): pipeline is ApplicationPipeline =>
  signals[pipeline].owner === 'app_id';

/** An owner as the tables of the account name it. */
export const ownerColumns = (pipeline: Pipeline, owner: number): { data_id: number; app_id: number } =>
  isOfApplications(pipeline) ? { data_id: 0, app_id: owner } : { data_id: owner, app_id: 0 };

/** The same in code. */
export const ownerIds = (pipeline: Pipeline, owner: number): { dataId: number; appId: number } =>
  isOfApplications(pipeline) ? { dataId: 0, appId: owner } : { dataId: owner, appId: 0 };

/** The pipeline of a stream; undefined for a stream that carries no items (LEDGER, DEADLETTER, AUDIT). */
export const pipelineOfStream = (stream: string): Pipeline | undefined =>
  pipelines.find((pipeline) => {
    const name = signals[pipeline].stream;
    return stream === name || stream.startsWith(`${name}-`);
  });

/** Whether the items of a stream belong to applications. */
export const isStreamOfApplications = (stream: string): boolean =>
  applicationPipelines.some((pipeline) => pipeline === pipelineOfStream(stream));

/** A value for each pipeline. */
export const byPipeline = <V>(of: (pipeline: Pipeline) => V): Record<Pipeline, V> => ({
  metrics: of('metrics'),
  traces: of('traces'),
  logs: of('logs'),
  otel_metrics: of('otel_metrics'),
});

/** SQL: conditions on the rows of one data id, and of one application. */
export type OwnerConditions = { readonly dataId: string; readonly appId: string };

/** Those of tables without a column `pipeline`. */
export const ownerIdConditions = {
  dataId: 'data_id = {dataId:Int64}',
  appId: 'app_id = {appId:Int64}',
} as const satisfies OwnerConditions;

/** Those of tables with one: an application in all of its pipelines. */
export const ownerConditions = {
  dataId: "pipeline = 'metrics' AND data_id = {dataId:Int64}",
  appId: `pipeline IN (${applicationPipelines.map((name) => `'${name}'`).join(', ')}) AND app_id = {appId:Int64}`,
} as const satisfies OwnerConditions;

/** SQL: the pipeline of the column `stream`, which names no stream but those of items. */
export const pipelineOfStreamColumn = `multiIf(${applicationPipelines
  .map((name) => `stream = '${signals[name].stream}', '${name}'`)
  .join(', ')}, 'metrics')`;

/** SQL: the stream of the column `pipeline`; one name stands for all streams of a signal. */
export const streamOfPipeline = `multiIf(${applicationPipelines
  .map((name) => `pipeline = '${name}', '${signals[name].stream}'`)
  .join(', ')}, '${signals.metrics.stream}')`;

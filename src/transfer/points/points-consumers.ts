import { consumerOfInstance, ofInstance } from '../../config/instance-streams.ts';
import type { MetricsPipeline } from '../../config/pipelines.ts';
import type { Durability, QuestdbAddress } from '../../config/settings.ts';
import type { Placements } from '../../directory/placements.ts';
import type { Purges } from '../../directory/purges.ts';
import { counted } from '../../model/counted.ts';
import { createAppliedCheck } from '../../stores/questdb/applied.ts';
import { createQuestdbSql } from '../../stores/questdb/sql.ts';
import { listed } from '../../stores/questdb/table-states.ts';
import { createQuestdbWriter } from '../../stores/questdb/writer.ts';
import type { TransferMetrics } from '../../telemetry/transfer-metrics.ts';
import type { MetricsEnvelope } from '../../wire/metrics-envelope.ts';
import { type ConsumerDependencies, type RunningConsumer, startConsumer } from '../consumer.ts';
import type { Sink } from '../sink.ts';
import type { FailingTable } from './known-tables.ts';
import { createPartitionedSink, type StrayFailures } from './partitioned-sink.ts';
import { createPointsSink } from './points-sink.ts';
import { createTableHealth } from './table-health.ts';
import { startTableWatch } from './table-watch.ts';
import { createWaitingMessages } from './waiting-messages.ts';
import { batchWriterOf } from './write-batch.ts';

type Common = Omit<ConsumerDependencies<MetricsEnvelope>, 'sink'>;

/** The consumers of points, one for each QuestDB instance. Problems name their instance where there are several. */
export type PointsLine = Omit<RunningConsumer, 'wideProblem'> & {
  /** The tables that are failing or unavailable. */
  readonly tablesProblem: string | undefined;
  /** Commits that do not survive a power cut although they shall. */
  readonly durabilityProblem: string | undefined;
  /** Tables on instances that no setting names: their rows wait in the stream. */
  readonly placementProblem: string | undefined;
  /** Begins to take messages: not before the purges and the placements are read. */
  start(): void;
};

export type PointsLineOptions = {
  readonly pipeline: MetricsPipeline;
  /** The first one is `default`. */
  readonly instances: readonly QuestdbAddress[];
  readonly durability: Durability;
  readonly purges: Purges;
  readonly placements: Placements;
};

const figuresEveryMs = 2_000;
const tableRetryMs = 5_000;
const tableProbeMs = 30_000;

/** A wall clock that is set ahead would make tables unavailable at once. */
const steady = (): number => performance.now();

/** The largest number of tables in figures, those with the most waiting messages: more would fill the memory of Prometheus. */
const tablesInFiguresMax = 20;

const seconds = (ms: number): number => Math.round(ms / 1000);

/** Tables that take no rows, for `/readyz`. */
const failingText = (failing: readonly FailingTable[]): string[] => {
  const told = failing.map(({ table, why, isUnavailable, messages, oldestMs }) => ({
    name: table,
    isUnavailable,
    why:
      messages === 0 ? why : `${why}; ${counted(messages, 'message')}, the oldest ${seconds(oldestMs)} s old`,
  }));
  return [
    ...listed(
      'takes no rows, its messages wait',
      told.filter(({ isUnavailable }) => !isUnavailable),
    ),
    ...listed(
      'takes no rows, its points go to the dead letters',
      told.filter(({ isUnavailable }) => isUnavailable),
    ),
  ];
};

/** Sets the figures of messages that wait, by table. */
const createWaitingFigures = (
  questdb: string,
  metrics: Pick<TransferMetrics, 'tableMessagesWaiting' | 'tableOldestMessage'>,
): ((failing: readonly FailingTable[]) => void) => {
  let told: readonly string[] = [];
  return (failing) => {
    const shown = failing.filter(({ messages }) => messages > 0).slice(0, tablesInFiguresMax);
    for (const table_id of told) {
      metrics.tableMessagesWaiting.remove({ questdb, table_id });
      metrics.tableOldestMessage.remove({ questdb, table_id });
    }
    for (const { table: table_id, messages, oldestMs } of shown) {
      metrics.tableMessagesWaiting.set({ questdb, table_id }, messages);
      metrics.tableOldestMessage.set({ questdb, table_id }, oldestMs / 1000);
    }
    told = shown.map(({ table }) => table);
  };
};

/** At most one log line in this time about rows that wait for another instance. */
const waitToldEveryMs = 60_000;

type Instance = {
  readonly name: string;
  readonly sink: Sink<MetricsEnvelope>;
  readonly watch: ReturnType<typeof startTableWatch>;
  readonly tablesProblem: string | undefined;
  close(): Promise<void>;
};

/** One writer, one watch and one sink for the tables on this instance. */
const openInstance = (
  { name, url }: QuestdbAddress,
  { pipeline, durability, purges, placements }: PointsLineOptions,
  { log, metrics }: Common,
): Instance => {
  const label = { pipeline: ofInstance('metrics', name) };
  const writer = createQuestdbWriter({ url, timeoutMs: pipeline.storeTimeoutMs });
  const sql = createQuestdbSql({ url });
  const applied = createAppliedCheck({ sql, connections: () => writer.connections });
  const watch = startTableWatch({
    instance: name,
    sql,
    durability,
    metrics,
    onWell: (tables) => health.seenWell(tables),
    onGone: () => writer.renew(),
  });
  const health = createTableHealth({
    applied,
    watch,
    waiting: createWaitingMessages(steady),
    waitingMax: Math.max(1, Math.floor(pipeline.consumer.ackPendingMax / 2)),
    waitMs: pipeline.tableWaitMs,
    retryMs: Math.min(tableRetryMs, pipeline.tableWaitMs),
    probeMs: Math.min(tableProbeMs, pipeline.tableWaitMs),
    now: steady,
    onWait: (table, why) =>
      log.error({ questdb: name, table, why }, 'QuestDB does not take rows of a table; its messages wait'),
    onSetAside: (table, why) =>
      log.error(
        { questdb: name, table, why },
        'the table is unavailable; its points go to the dead letters as table_unavailable',
      ),
    onBack: (table) => log.info({ questdb: name, table }, 'the table takes rows again'),
    onCount: (count) => metrics.tablesSetAside.set(label, count),
  });
  const sink = createPointsSink(batchWriterOf(writer, sql), purges, health, {
    onUnclassified: (code) => metrics.unclassified.inc({ ...label, code }),
    isOurs: (dataId) => placements.instanceOf(dataId) === name,
  });
  const tellWaiting = createWaitingFigures(name, metrics);
  const figures = setInterval(() => tellWaiting(health.failing()), figuresEveryMs).unref();
  return {
    name,
    sink: { ...sink, label: label.pipeline },
    watch,
    get tablesProblem() {
      const problems = [...failingText(health.failing()), watch.problem, applied.problem];
      return problems.filter((text) => text !== undefined).join('; ') || undefined;
    },
    close: async () => {
      clearInterval(figures);
      await watch.stop();
      await Promise.all([writer.close(), sql.close()]);
    },
  };
};

/** The problems of several instances as one text, without the name of a single one. */
const joined = <T extends { readonly name: string }>(
  all: readonly T[],
  whyOf: (one: T) => string | undefined,
): string | undefined => {
  const whys = all.flatMap((one) => {
    const why = whyOf(one);
    return why === undefined ? [] : [all.length === 1 ? why : `${one.name}: ${why}`];
  });
  return whys.length === 0 ? undefined : whys.join('; ');
};

const unknownText = (unknown: ReadonlyMap<string, number>): string | undefined =>
  unknown.size === 0
    ? undefined
    : `${[...unknown].map(([name, tables]) => `${tables} tables lie on ${name}`).join(', ')}: TIDEMARK_QUESTDB_URLS names no such instance, their rows wait`;

/** METRICS -> validate time -> QuestDB, once for each instance: an unavailable one delays no rows of another. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its problems are one getter each.
export const openPointsLine = (options: PointsLineOptions, common: Common): PointsLine => {
  const { pipeline, placements, purges } = options;
  const { log } = common;
  const instances = options.instances.map((address) => openInstance(address, options, common));
  const names = instances.map(({ name }) => name);
  const sinks = new Map(instances.map(({ name, sink }) => [name, sink]));
  const running: { name: string; consumer: RunningConsumer }[] = [];
  const toldAt = new Map<string, number>();

  const onWait = (instance: string, why: string): void => {
    const now = steady();
    if (now - (toldAt.get(instance) ?? Number.NEGATIVE_INFINITY) < waitToldEveryMs) return;
    toldAt.set(instance, now);
    log.error({ questdb: instance, why }, 'rows of tables on this QuestDB instance wait');
  };

  let lastUnknown: string | undefined;
  const tellUnknown = (): void => {
    const text = unknownText(placements.unknown(names, purges.has));
    if (text !== undefined && text !== lastUnknown) log.error({}, text);
    lastUnknown = text;
  };
  const timer = setInterval(tellUnknown, 5_000).unref();

  const isAway = (instance: string): boolean =>
    running.some(({ name, consumer }) => name === instance && consumer.storeProblem !== undefined);

  return {
    start: () => {
      tellUnknown();
      const failures: StrayFailures = new Map();
      for (const { name, sink } of instances) {
        const routed = createPartitionedSink(sink, {
          home: name,
          sinks,
          instanceOf: placements.instanceOf,
          isAway,
          onWait,
          failures,
          now: steady,
        });
        const consumer = consumerOfInstance(pipeline.consumer, name);
        running.push({
          name,
          consumer: startConsumer({ ...pipeline, consumer }, { ...common, sink: routed }),
        });
      }
    },
    get storeProblem() {
      return joined(running, ({ consumer }) => consumer.storeProblem);
    },
    get ledgerProblem() {
      return running.find(({ consumer }) => consumer.ledgerProblem !== undefined)?.consumer.ledgerProblem;
    },
    get newerVersion() {
      return running.find(({ consumer }) => consumer.newerVersion !== undefined)?.consumer.newerVersion;
    },
    get breakerWhy() {
      return joined(running, ({ consumer }) => consumer.breakerWhy);
    },
    get deadLetterProblem() {
      return joined(running, ({ consumer }) => consumer.deadLetterProblem);
    },
    get tablesProblem() {
      return joined(instances, ({ tablesProblem }) => tablesProblem);
    },
    get durabilityProblem() {
      return joined(instances, ({ watch }) => watch.durabilityProblem);
    },
    get placementProblem() {
      return unknownText(placements.unknown(names, purges.has));
    },
    resetBreaker: () => {
      for (const { consumer } of running) consumer.resetBreaker();
    },
    stop: async () => {
      clearInterval(timer);
      await Promise.all(running.map(({ consumer }) => consumer.stop()));
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
};

import { type AckWait, startAckWait } from '../../bus/ack-wait.ts';
import type { Bus } from '../../bus/connection.ts';
import type { KvBucket } from '../../bus/kv.ts';
import type { LogsPipeline, OtelMetricsPipeline, TracesPipeline } from '../../config/pipelines.ts';
import type { ApplicationPipeline } from '../../model/signals.ts';
import { createBlockWriter } from '../../stores/clickhouse/block-writer.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { itemTablesOf } from '../../stores/clickhouse/item-tables.ts';
import { logLastingFault } from '../../telemetry/lasting-fault.ts';
import { type ConsumerDependencies, type RunningConsumer, startConsumer } from '../consumer.ts';
import { createBlocksSink } from './blocks-sink.ts';
import { createFence } from './fence.ts';
import { startLateLooks } from './late-looks.ts';
import { type OwedMerges, startOwedMerges } from './owed-merges.ts';
import type { WrittenTable } from './piece-inserts.ts';
import { createTablePauses } from './table-pauses.ts';

type Common = Omit<ConsumerDependencies<unknown>, 'sink'>;

export type BlocksLineOptions = {
  readonly pipeline: ApplicationPipeline;
  readonly definition: TracesPipeline | LogsPipeline | OtelMetricsPipeline;
  /** Epoch of this process. */
  readonly boot: number;
  /** Has the days that need a merge. */
  readonly system: KvBucket;
};

/** The running consumer of a signal whose items belong to applications. */
export type BlocksLine = {
  readonly pipeline: ApplicationPipeline;
  readonly consumer: RunningConsumer;
  /** The tables that take no rows while others of the signal do. */
  readonly tablesProblem: string | undefined;
  /** Those of each of its tables. */
  readonly merges: { stop(): void };
};

const openFence = (
  bus: Bus,
  definition: BlocksLineOptions['definition'],
  ackWait: AckWait,
  log: Common['log'],
) =>
  createFence(bus, {
    onAckWait: ackWait.note,
    stream: definition.consumer.stream,
    consumer: definition.consumer.name,
    duplicateWindowMs: definition.duplicateWindowMs,
    now: () => performance.now(),
    fault: logLastingFault(
      log,
      { stream: definition.consumer.stream },
      {
        began: 'the fence is not read yet; the guard is on for every insert',
        ended:
          'the fence is read; the guard is off again for messages that cannot have been delivered before',
      },
    ),
  });

/** Its stream -> validate time -> guard -> its tables in ClickHouse. */
export const startBlocksLine = (
  { pipeline, definition, boot, system }: BlocksLineOptions,
  clickhouse: Clickhouse,
  common: Common,
): BlocksLine => {
  const { bus, log, metrics, elapsed } = common;
  const { stream } = definition.consumer;
  const label = { pipeline };
  const ackWait = startAckWait(bus, definition.consumer);
  const fence = openFence(bus, definition, ackWait, log);
  const owed: OwedMerges[] = [];
  const tables = itemTablesOf(pipeline).map((table): WrittenTable => {
    const writer = createBlockWriter(clickhouse, table, { insertMsMax: definition.storeTimeoutMs });
    const merges = startOwedMerges({
      table,
      bucket: system,
      merge: writer.optimizeDay,
      onMerged: () => metrics.optimised.inc(label),
      log,
    });
    owed.push(merges);
    return { table, writer, onOverlap: merges.owe };
  });
  const late = startLateLooks({ tables, bucket: system, log });
  const pauses =
    tables.length === 1
      ? undefined
      : createTablePauses({
          now: () => performance.now(),
          onChange: (table, why) =>
            why === undefined
              ? log.info({ ...label, table }, 'the table takes rows again')
              : log.error(
                  { ...label, table, why },
                  'ClickHouse does not take rows of a table; its messages wait',
                ),
        });
  const sink = createBlocksSink(
    tables,
    fence,
    { pipeline, stream, boot, ackWaitMs: ackWait.now, elapsed, guard: definition.guard, pauses },
    {
      onGuarded: (killed) => {
        metrics.guarded.inc(label);
        metrics.killedQueries.inc(label, killed);
        if (killed > 0) log.warn({ ...label, killed }, 'killed inserts of an earlier attempt');
      },
      onUnanswered: late.owe,
      onUnclassified: (code) => metrics.unclassified.inc({ ...label, code }),
    },
  );
  const stop = (): void => {
    late.stop();
    for (const merges of owed) merges.stop();
  };
  return {
    pipeline,
    consumer: startConsumer(definition, { ...common, sink, ackWait }),
    get tablesProblem() {
      return pauses?.problem;
    },
    merges: { stop },
  };
};

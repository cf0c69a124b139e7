import { type Bus, connectBusWhenUp } from '../bus/connection.ts';
import { type KvBucket, openKvBucket } from '../bus/kv.ts';
import { createPublisher } from '../bus/publisher.ts';
import { ensureTopology, type RefusedStreams, retryStreams } from '../bus/topology.ts';
import { withInstances } from '../config/instance-streams.ts';
import {
  type LedgerPipeline,
  loadPipelines,
  type StreamDefinition,
  type TracesPipeline,
} from '../config/pipelines.ts';
import { engineUrls, natsTarget, questdbInstances, type Settings } from '../config/settings.ts';
import { createDeadLetters, type DeadLetters } from '../dead-letters/dead-letters.ts';
import { takeEpoch } from '../directory/epoch.ts';
import { buckets, systemKeys } from '../directory/keys.ts';
import { startPlacements } from '../directory/placements.ts';
import { type Purges, startPurges } from '../directory/purges.ts';
import { createElapsed } from '../model/elapsed.ts';
import { errorText } from '../model/fault.ts';
import { createLedger, type Ledger } from '../outcomes/ledger.ts';
import { openLedgerFeed } from '../outcomes/ledger-feed.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { stopSignal, whenStopped } from '../runtime/stop-signal.ts';
import { untilDone } from '../runtime/until-done.ts';
import { type Clickhouse, createClickhouse } from '../stores/clickhouse/client.ts';
import { createLedgerWriter } from '../stores/clickhouse/ledger-writer.ts';
import { createSpanWriter } from '../stores/clickhouse/span-writer.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { createTransferMetrics, type TransferMetrics } from '../telemetry/metrics.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { type BatchTraces, createBatchTraces } from './batch-traces.ts';
import { type RunningConsumer, startConsumer } from './consumer.ts';
import { type FillAlarm, startFillAlarm } from './ledger/ledger-alarm.ts';
import { createLedgerSink } from './ledger/ledger-sink.ts';
import { type OrphanSweep, startOrphanSweep } from './orphan-sweep.ts';
import { openPointsLine, type PointsLine } from './points/points-consumers.ts';
import { createTransferSamples, looksLikeToken, type TransferSamples } from './samples.ts';
import { createFence } from './spans/fence.ts';
import { type OwedMerges, startOwedMerges } from './spans/owed-merges.ts';
import { createSpansSink } from './spans/spans-sink.ts';

type Common = {
  readonly bus: Bus;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly elapsed: () => number;
  /** Where tracing is on. */
  readonly traces: BatchTraces | undefined;
};

/** TRACES -> validate time -> guard -> ClickHouse. */
const startTraces = (
  pipeline: TracesPipeline,
  clickhouse: Clickhouse,
  { boot, system }: { readonly boot: number; readonly system: KvBucket },
  common: Common,
): { consumer: RunningConsumer; merges: OwedMerges } => {
  const { bus, log, metrics } = common;
  const { stream, name, ackWaitMs } = pipeline.consumer;
  const { elapsed } = common;
  const label = { pipeline: 'traces' };
  const fence = createFence(bus, {
    stream,
    consumer: name,
    duplicateWindowMs: pipeline.duplicateWindowMs,
    now: () => performance.now(),
    onFault: (error) =>
      log.warn({ error: errorText(error) }, 'the fence is not read yet; the guard is on for every insert'),
  });
  const writer = createSpanWriter(clickhouse, { insertMsMax: pipeline.storeTimeoutMs });
  const merges = startOwedMerges({
    bucket: system,
    merge: writer.optimizeDay,
    onMerged: () => metrics.optimised.inc(label),
    log,
  });
  const sink = createSpansSink(
    writer,
    fence,
    { stream, boot, ackWaitMs, elapsed, guard: pipeline.guard },
    {
      onGuarded: (killed) => {
        metrics.guarded.inc(label);
        metrics.killedQueries.inc(label, killed);
        if (killed > 0) log.warn({ killed }, 'killed inserts of an earlier attempt');
      },
      onOverlap: merges.owe,
      onUnclassified: (code) => metrics.unclassified.inc({ ...label, code }),
    },
  );
  return { consumer: startConsumer(pipeline, { ...common, sink }), merges };
};

const startLedgerAlarm = ({ name, bytesMax }: StreamDefinition, { bus, metrics, log }: Common): FillAlarm => {
  metrics.ledgerBytesMax.set(bytesMax);
  return startFillAlarm(bus, {
    stream: name,
    bytesMax,
    log,
    onFill: (bytes) => metrics.ledgerBytes.set(bytes),
  });
};

/** LEDGER -> ClickHouse. */
const startLedger = (pipeline: LedgerPipeline, clickhouse: Clickhouse, common: Common): RunningConsumer =>
  startConsumer(pipeline, {
    ...common,
    sink: createLedgerSink(createLedgerWriter(clickhouse, pipeline.storeTimeoutMs)),
  });

/** The consumers that stand still because too much went to the dead letters, and why. */
const breakerWhy = ({
  points,
  spans,
}: {
  readonly points?: PointsLine;
  readonly spans?: RunningConsumer;
}): string | undefined => {
  const whys = [
    ['metrics', points?.breakerWhy],
    ['traces', spans?.breakerWhy],
  ].flatMap(([pipeline, why]) => (why === undefined ? [] : [`${pipeline}: ${why}`]));
  return whys.length === 0 ? undefined : whys.join('; ');
};

/**
 * A consumer process (architecture 2.2): METRICS to QuestDB and TRACES to ClickHouse, dead letters and outcomes beside them. Any number of
 * them share the consumers. Runs until SIGTERM or SIGINT, then writes and settles what it holds. Throws a permanent Fault for
 * settings that cannot be used.
 */
export const runTransfer = async (settings: Settings): Promise<void> => {
  const instances = questdbInstances(settings);
  const {
    metrics: metricsPipeline,
    traces,
    ledger: ledgerPipeline,
    streams,
  } = withInstances(
    loadPipelines(settings.pipelinesFolder, settings.nats.replicas),
    instances.map(({ name }) => name),
  );
  const log = createLog('transfer', settings.logLevel);
  const tracing = await openTracing(settings, 'transfer', log);
  const stop = stopSignal();
  const metrics = createTransferMetrics();
  const running: {
    bus?: Bus;
    refused?: RefusedStreams;
    purges?: Purges;
    points?: PointsLine;
    spans?: RunningConsumer;
    outcomes?: RunningConsumer;
    alarm?: FillAlarm;
    sweep?: OrphanSweep;
  } = {};
  const newer = (): string | undefined => {
    const version =
      running.points?.newerVersion ?? running.spans?.newerVersion ?? running.outcomes?.newerVersion;
    return version === undefined ? undefined : `version ${version} is newer than this program`;
  };
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.transfer.opsPort,
    variable: 'TIDEMARK_TRANSFER_OPS_PORT',
    registry: metrics.registry,
    checks: {
      nats: () => {
        if (running.bus === undefined || running.spans === undefined) return 'not connected yet';
        return running.bus.connected ? undefined : 'the connection to NATS is lost';
      },
      records: () => (running.purges?.isReady === true ? undefined : 'the purges are not read yet'),
      questdb: () => running.points?.storeProblem,
      questdb_tables: () => running.points?.tablesProblem,
      questdb_durability: () => running.points?.durabilityProblem,
      questdb_streams: () => running.refused?.problem,
      questdb_placements: () => running.points?.placementProblem,
      clickhouse: () => running.spans?.storeProblem,
      ledger: () => running.points?.ledgerProblem ?? running.spans?.ledgerProblem,
      envelope: newer,
      breaker: () => breakerWhy(running),
      deadletter: () => running.points?.deadLetterProblem ?? running.spans?.deadLetterProblem,
    },
    // Items are stored all the same: their outcomes wait in LEDGER.
    warnings: {
      outcomes: () => running.outcomes?.storeProblem,
      outcomes_breaker: () => running.outcomes?.breakerWhy,
      outcomes_deadletter: () => running.outcomes?.deadLetterProblem,
      ledger: () => running.alarm?.warning,
    },
  });

  const bus = await connectBusWhenUp(natsTarget(settings), 'tidemark-transfer', stop, (error) =>
    log.warn({ error: errorText(error) }, 'waiting for NATS'),
  );
  running.bus = bus;
  bus.onDisconnect(() => log.warn({}, 'NATS connection lost'));
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  const { boot, system, records, refused } = await untilDone(
    async () => {
      const refusedStreams = await ensureTopology(bus, streams);
      const [systemBucket, bucket] = await Promise.all([
        openKvBucket(bus, buckets.system),
        openKvBucket(bus, buckets.records),
      ]);
      const number = await takeEpoch(systemBucket, Date.now());
      return { boot: number, system: systemBucket, records: bucket, refused: refusedStreams };
    },
    stop,
    (error) => log.warn({ error: errorText(error) }, 'waiting for JetStream'),
  );

  running.refused = retryStreams(bus, streams, refused, log);
  const publisher = createPublisher(bus, metricsPipeline.publish);
  const feed = openLedgerFeed({ bus, metrics, isCredential: looksLikeToken, boot: () => boot, log });
  const common: Common = {
    bus,
    deadLetters: createDeadLetters(publisher),
    ledger: createLedger(publisher, boot),
    samples: createTransferSamples(feed.samples),
    metrics,
    log,
    elapsed: createElapsed(),
    traces: tracing === undefined ? undefined : createBatchTraces(tracing),
  };
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  // An operator lets consumers go on in every process by putting this key.
  const resumes = system.watch(
    ({ key }) => {
      if (key === systemKeys.resume('metrics')) running.points?.resetBreaker();
      if (key === systemKeys.resume('traces')) running.spans?.resetBreaker();
      if (key === systemKeys.resume('ledger')) running.outcomes?.resetBreaker();
    },
    () => {},
    systemKeys.resume('*'),
  );
  const purges = startPurges(records);
  running.purges = purges;
  const placements = startPlacements(records);
  const points = openPointsLine(
    { pipeline: metricsPipeline, instances, durability: settings.durability, purges, placements },
    common,
  );
  running.points = points;
  running.alarm = startLedgerAlarm(ledgerPipeline.stream, common);
  running.sweep = startOrphanSweep(bus, {
    consumers: streams.flatMap(({ consumer }) => consumer ?? []),
    onRemoved: (stream, messages) => metrics.orphanedMessages.inc({ stream }, messages),
    log,
  });
  running.outcomes = startLedger(ledgerPipeline, clickhouse, common);
  const { consumer: spans, merges } = startTraces(traces, clickhouse, { boot, system }, common);
  running.spans = spans;
  // A point of a purged data id must not get into a table that is there still.
  await Promise.race([Promise.all([purges.whenReady, placements.whenReady]), whenStopped(stop)]);
  if (!stop.aborted) {
    points.start();
    log.info({ ops: ops.port }, 'transfer reads messages');
  }

  await whenStopped(stop);
  log.info({}, 'transfer stops');
  merges.stop();
  await Promise.all([points.stop(), spans.stop(), running.outcomes.stop()]);
  await feed.stop();
  running.alarm.stop();
  running.sweep.stop();
  running.refused.stop();
  resumes.stop();
  purges.stop();
  placements.stop();
  publisher.close();
  await clickhouse.close();
  await bus.close();
  await tracing?.stop();
  await ops.stop();
};

import type { Bus } from '../bus/connection.ts';
import { findKvBucket } from '../bus/kv.ts';
import { createPublisher } from '../bus/publisher.ts';
import { startPulse } from '../bus/pulse-publisher.ts';
import { openRoleBus } from '../bus/role-bus.ts';
import { startServerClock } from '../bus/server-clock.ts';
import { readServerTimeMs } from '../bus/stream-state.ts';
import { type StreamWatch, watchStreams } from '../bus/stream-watch.ts';
import { findTopology, retryStreams } from '../bus/topology.ts';
import { ofInstance, pipelinesOf } from '../config/instance-streams.ts';
import type { LedgerPipeline, Pipelines, StreamDefinition } from '../config/pipelines.ts';
import { engineUrls, type QuestdbAddress, questdbInstances, type Settings } from '../config/settings.ts';
import { createDeadLetters, type DeadLetters } from '../dead-letters/dead-letters.ts';
import { takeEpoch } from '../directory/epoch.ts';
import { buckets } from '../directory/keys.ts';
import { startPlacements } from '../directory/placements.ts';
import { startPurges } from '../directory/purges.ts';
import { createElapsed } from '../model/elapsed.ts';
import { errorText } from '../model/fault.ts';
import { applicationPipelines, signals } from '../model/signals.ts';
import { createLedger, type Ledger } from '../outcomes/ledger.ts';
import { openLedgerFeed } from '../outcomes/ledger-feed.ts';
import { type Checks, createChecks, type Readiness } from '../runtime/checks.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { type Parts, runRole } from '../runtime/run-role.ts';
import { whenStopped } from '../runtime/stop-signal.ts';
import { untilDone } from '../runtime/until-done.ts';
import { type Clickhouse, createClickhouse } from '../stores/clickhouse/client.ts';
import { createLedgerWriter } from '../stores/clickhouse/ledger-writer.ts';
import { createRoleLog, type Log } from '../telemetry/log.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { createTransferFigures } from '../telemetry/pulse-figures.ts';
import { createTransferMetrics, type TransferMetrics } from '../telemetry/transfer-metrics.ts';
import { type BatchTraces, createBatchTraces } from './batch-traces.ts';
import { type BlocksLine, startBlocksLine } from './blocks/blocks-line.ts';
import { type RunningConsumer, startConsumer } from './consumer.ts';
import type { KeptMessagesOptions } from './kept-messages.ts';
import { type FillAlarm, startFillAlarm } from './ledger/ledger-alarm.ts';
import { createLedgerSink } from './ledger/ledger-sink.ts';
import { type OrphanSweep, startOrphanSweep } from './orphan-sweep.ts';
import { openPointsLine, type PointsLine } from './points/points-consumers.ts';
import { watchResumes } from './resumes.ts';
import { createTransferSamples, looksLikeToken, type TransferSamples } from './samples.ts';
import { startTransferAtZero } from './zero-counters.ts';

type Common = {
  readonly bus: Bus;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly now: () => number;
  readonly elapsed: () => number;
  /** Undefined where tracing is off. */
  readonly traces: BatchTraces | undefined;
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

/** The consumers of this process. */
type Consumers = {
  readonly points: PointsLine;
  /** Of each signal whose items belong to applications. */
  readonly blocks: readonly BlocksLine[];
  readonly outcomes: RunningConsumer;
};

/** The consumers that stall because too many items went to the dead letters, and why. */
const breakerWhy = ({ points, blocks }: Consumers): string | undefined => {
  const whys = [
    ['metrics', points.breakerWhy],
    ...blocks.map(({ pipeline, consumer }) => [pipeline, consumer.breakerWhy]),
  ].flatMap(([pipeline, why]) => (why === undefined ? [] : [`${pipeline}: ${why}`]));
  return whys.length === 0 ? undefined : whys.join('; ');
};

/** The first problem of these consumers. */
const firstOf = (
  blocks: Consumers['blocks'],
  problemOf: (consumer: RunningConsumer) => string | undefined,
): string | undefined => blocks.map(({ consumer }) => problemOf(consumer)).find((why) => why !== undefined);

/** The signals whose messages of many days wait, and how much of them is being written. */
const manyDaysWhy = (blocks: Consumers['blocks']): string | undefined => {
  const whys = blocks.flatMap(({ pipeline, consumer: { wideProblem } }) =>
    wideProblem === undefined ? [] : [`${signals[pipeline].items}: ${wideProblem}`],
  );
  return whys.length === 0 ? undefined : whys.join('; ');
};

const newerText = ({ points, blocks, outcomes }: Consumers): string | undefined => {
  const all = [points, ...blocks.map(({ consumer }) => consumer), outcomes];
  const version = all.map(({ newerVersion }) => newerVersion).find((newer) => newer !== undefined);
  return version === undefined ? undefined : `version ${version} is newer than this program`;
};

/** The checks of the process itself while it starts, in their order. */
const startingChecks = {
  nats: 'not connected yet',
  records: 'the purges are not read yet',
  consumers: 'the consumers are starting',
};

/**
 * What it works without as far as it can: messages wait in the streams, and those of one store, table or stream delay no other. Where
 * outcomes have no way to ClickHouse, items are stored all the same.
 */
const startingDegraded = {
  nats: undefined,
  streams: undefined,
  questdb: undefined,
  questdb_tables: undefined,
  questdb_durability: undefined,
  questdb_streams: undefined,
  questdb_placements: undefined,
  clickhouse: undefined,
  ledger: undefined,
  envelope: undefined,
  breaker: undefined,
  deadletter: undefined,
  outcomes: undefined,
  outcomes_breaker: undefined,
  outcomes_deadletter: undefined,
  ledger_fill: undefined,
  many_days: undefined,
  nats_rights: undefined,
  watches: undefined,
};

type Ready = {
  readonly checks: Checks<keyof typeof startingChecks>;
  readonly degraded: Checks<keyof typeof startingDegraded>;
  readonly readiness: Readiness;
  /** The operations port. */
  readonly port: number;
};

const openOps = async (settings: Settings, metrics: TransferMetrics, parts: Parts): Promise<Ready> => {
  const checks = createChecks(startingChecks);
  const degraded = createChecks(startingDegraded);
  const readiness = { checks: checks.all, degraded: degraded.all };
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.transfer.opsPort,
    variable: 'TIDEMARK_TRANSFER_OPS_PORT',
    registry: metrics.registry,
    readiness,
  });
  parts.add('operations port', () => ops.stop());
  return { checks, degraded, readiness, port: ops.port };
};

const checkConsumers = ({ degraded }: Ready, consumers: Consumers): void => {
  const { points, blocks, outcomes } = consumers;
  degraded.set({
    questdb: () => points.storeProblem,
    questdb_tables: () => points.tablesProblem,
    questdb_durability: () => points.durabilityProblem,
    questdb_placements: () => points.placementProblem,
    clickhouse: () =>
      firstOf(blocks, ({ storeProblem }) => storeProblem) ??
      blocks.map(({ tablesProblem }) => tablesProblem).find((why) => why !== undefined),
    ledger: () => points.ledgerProblem ?? firstOf(blocks, ({ ledgerProblem }) => ledgerProblem),
    envelope: () => newerText(consumers),
    breaker: () => breakerWhy(consumers),
    deadletter: () =>
      points.deadLetterProblem ?? firstOf(blocks, ({ deadLetterProblem }) => deadLetterProblem),
    many_days: () => manyDaysWhy(blocks),
    outcomes: () => outcomes.storeProblem,
    outcomes_breaker: () => outcomes.breakerWhy,
    outcomes_deadletter: () => outcomes.deadLetterProblem,
  });
};

type Given = {
  readonly settings: Settings;
  readonly instances: readonly QuestdbAddress[];
  readonly pipelines: Pipelines;
  readonly log: Log;
};

const findEveryMs = 1_000;

const findStreams = (bus: Bus, streams: readonly StreamDefinition[]) =>
  findTopology(bus, streams, 'streams and consumers');

/** The connection with its streams, its buckets and the epoch of this process. */
const openBus = async (
  { settings, pipelines, log }: Given,
  { checks, degraded }: Ready,
  parts: Parts,
  stop: AbortSignal,
) => {
  const bus = await openRoleBus('transfer', { settings, log }, parts, stop, (why) =>
    checks.set({ nats: () => why }),
  );
  degraded.set({ nats_rights: () => bus.refused });
  const { boot, system, records, refused, clock } = await untilDone(
    async () => {
      // Metadata creates them after the streams.
      const [systemBucket, bucket] = await Promise.all([
        findKvBucket(bus, buckets.system),
        findKvBucket(bus, buckets.records),
      ]);
      const refusedStreams = await findStreams(bus, pipelines.streams);
      const readTime = () => readServerTimeMs(bus, pipelines.ledger.stream.name);
      // What may fail comes first: each try that takes an epoch spends one.
      await readTime();
      const number = await takeEpoch(systemBucket, Date.now());
      const clock = await startServerClock(readTime);
      return { boot: number, system: systemBucket, records: bucket, refused: refusedStreams, clock };
    },
    stop,
    (error) => {
      const why = errorText(error);
      checks.set({ nats: () => `transfer is starting: ${why}` });
      log.warn({ error: why }, 'waiting for JetStream');
    },
  );
  const refusedStreams = retryStreams(bus, pipelines.streams, refused, log, {
    retryMs: findEveryMs,
    ensure: findStreams,
  });
  parts.add('refused streams', () => refusedStreams.stop());
  parts.add('clock of NATS', () => clock.stop());
  return { bus, boot, system, records, refusedStreams, now: clock.now };
};

/** By pipeline: what a resume by hand does. */
const resetsOf = ({ points, blocks, outcomes }: Consumers): ReadonlyMap<string, () => void> =>
  new Map([
    ['metrics', () => points.resetBreaker()],
    ...blocks.map(({ pipeline, consumer }) => [pipeline, () => consumer.resetBreaker()] as const),
    ['ledger', () => outcomes.resetBreaker()],
  ]);

const startSweep = (
  bus: Bus,
  { streams, ledger }: Pipelines,
  { metrics, ...deps }: KeptMessagesOptions & Pick<Common, 'metrics' | 'log'>,
): OrphanSweep =>
  startOrphanSweep(bus, {
    ...deps,
    consumers: streams.flatMap(({ consumer }) => consumer ?? []),
    ledger: ledger.consumer,
    onRemoved: (stream, messages) => metrics.orphanedMessages.inc({ stream }, messages),
    onStuck: (stream, messages) => metrics.stuckMessages.set({ stream }, messages),
  });

const openMetrics = (instances: Given['instances']): TransferMetrics => {
  const metrics = createTransferMetrics();
  const points = instances.map(({ name }) => ofInstance('metrics', name));
  startTransferAtZero(metrics, points);
  return metrics;
};

/** Follows the streams that this role reads and writes. */
const followStreams = (
  { pipelines, log }: Given,
  { bus, refusedStreams }: Pick<Awaited<ReturnType<typeof openBus>>, 'bus' | 'refusedStreams'>,
  parts: Parts,
): StreamWatch => {
  const watch = watchStreams(bus, {
    streams: pipelines.streams.filter(({ discard }) => discard === 'new'),
    hasConsumers: true,
    isLeftOut: refusedStreams.has,
    log,
  });
  parts.add('watch of streams', () => watch.stop());
  return watch;
};

/** The others may wait 27 s for a store that hangs, the consumer of LEDGER as long; a role has 50 s for all. */
const behindMsMax = 20_000;

/**
 * A part that stops once those registered after it have stopped, and begins to at the latest `behindMsMax` after the call of what this
 * answers. A stop of the consumers leaves lines in LEDGER, which nobody puts into ClickHouse while no transfer runs.
 */
const stopBehind = (parts: Parts, name: string, stop: () => Promise<void>): (() => void) => {
  let stopping: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const stopOnce = (): Promise<void> => {
    clearTimeout(timer);
    stopping ??= stop();
    return stopping;
  };
  parts.add(name, stopOnce);
  return () => {
    // The part reports an error of it.
    timer = setTimeout(() => void stopOnce().catch(() => {}), behindMsMax).unref();
  };
};

/** From the operations port to the consumers: each part needs those before it, and stops before them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: wiring: each part stands on those before it.
const startTransfer = async (given: Given, parts: Parts, stop: AbortSignal): Promise<void> => {
  const { settings, instances, pipelines, log } = given;
  const metrics = openMetrics(instances);
  const ready = await openOps(settings, metrics, parts);
  const { checks, degraded, readiness } = ready;
  const tracing = await openTracing(settings, 'transfer', log);
  parts.add('tracing', () => tracing?.stop());
  const { bus, boot, system, records, refusedStreams, now } = await openBus(given, ready, parts, stop);
  degraded.set({
    nats: () => (bus.connected ? undefined : 'the connection to NATS is lost'),
    watches: () => bus.watchTroubles.problem,
  });
  const pulse = { bus, readiness, figures: createTransferFigures(metrics) };
  parts.add('pulse', startPulse({ ...pulse, role: 'transfer' }).stop);
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  parts.add('ClickHouse client', () => clickhouse.close());
  const publisher = createPublisher(bus, pipelines.metrics.publish);
  parts.add('publisher', () => publisher.close());
  const placements = startPlacements(records);
  parts.add('placements', () => placements.stop());
  const purges = startPurges(records);
  parts.add('purges', () => purges.stop());
  const sweep = startSweep(bus, pipelines, { clickhouse, publisher, metrics, log });
  parts.add('sweep of orphaned messages', () => sweep.stop());
  const feed = openLedgerFeed({ bus, metrics, isCredential: looksLikeToken, boot: () => boot, log });
  parts.add('LEDGER feed', () => feed.stop());
  const common: Common = {
    bus,
    deadLetters: createDeadLetters(publisher),
    ledger: createLedger(publisher, boot),
    samples: createTransferSamples(feed.samples),
    metrics,
    log,
    now,
    elapsed: createElapsed(),
    traces: tracing === undefined ? undefined : createBatchTraces(tracing),
  };
  const alarm = startLedgerAlarm(pipelines.ledger.stream, common);
  parts.add('alarm of LEDGER', () => alarm.stop());

  const outcomes = startLedger(pipelines.ledger, clickhouse, common);
  const stopLedgerLater = stopBehind(parts, 'consumer of LEDGER', () => outcomes.stop());
  // Pulls end and held messages settle, in all of these consumers at the same time.
  const consumers = parts.together();
  const points = openPointsLine(
    { pipeline: pipelines.metrics, instances, durability: settings.durability, purges, placements },
    common,
  );
  consumers.add('consumers of points', () => points.stop());
  const blocks = applicationPipelines.map((pipeline) => {
    const options = { pipeline, definition: pipelines[pipeline], boot, system };
    const line = startBlocksLine(options, clickhouse, common);
    consumers.add(`consumer of ${signals[pipeline].items}`, () => line.consumer.stop());
    parts.add(`owed merges of ${signals[pipeline].items}`, () => line.merges.stop());
    return line;
  });
  parts.add('consumers', stopLedgerLater);
  const running: Consumers = { points, blocks, outcomes };
  const resumes = watchResumes(system, resetsOf(running));
  parts.add('watch of resumed consumers', () => resumes.stop());
  const streams = followStreams(given, { bus, refusedStreams }, parts);
  checks.set({
    nats: () => bus.notAccepted,
    records: () => (purges.isReady ? undefined : 'the purges are not read yet'),
    consumers: () => (stop.aborted ? 'the consumers are stopping' : undefined),
  });
  degraded.set({ streams: () => streams.problem, questdb_streams: () => refusedStreams.problem });
  degraded.set({ ledger_fill: () => alarm.problem });
  checkConsumers(ready, running);

  // A point of a purged data id must not reach a table that still exists.
  await Promise.race([Promise.all([purges.whenReady, placements.whenReady]), whenStopped(stop)]);
  if (stop.aborted) return;
  points.start();
  log.info({ ops: ready.port }, 'transfer reads messages');
};

/**
 * A consumer process (architecture 2): METRICS to QuestDB, TRACES, LOGS and OTEL_METRICS to ClickHouse, dead letters and outcomes beside them. Any
 * number of them share the consumers. Runs until SIGTERM or SIGINT, then writes and settles the held messages. Throws a permanent
 * Fault for unusable settings.
 */
export const runTransfer = async (settings: Settings): Promise<void> => {
  const instances = questdbInstances(settings);
  const pipelines = pipelinesOf(settings, settings.nats.replicas);
  const log = createRoleLog('transfer', settings.logLevel);
  await runRole({ name: 'transfer', log }, (parts, stop) =>
    startTransfer({ settings, instances, pipelines, log }, parts, stop),
  );
};

import { setTimeout as delay } from 'node:timers/promises';
import { createBatchPublisher } from '../bus/batch-publisher.ts';
import type { Bus } from '../bus/connection.ts';
import { findKvBucket, type KvBucket } from '../bus/kv.ts';
import { createPublisher, type PublisherOptions } from '../bus/publisher.ts';
import { startPulse } from '../bus/pulse-publisher.ts';
import { openRoleBus } from '../bus/role-bus.ts';
import { type StreamWatch, watchStreams } from '../bus/stream-watch.ts';
import { checkBatches, findTopology, type RefusedStreams, retryStreams } from '../bus/topology.ts';
import { pipelinesOf } from '../config/instance-streams.ts';
import { memoryWarning } from '../config/memory-need.ts';
import type { Pipelines, StreamDefinition } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { type Directory, startDirectory } from '../directory/directory.ts';
import { takeEpoch } from '../directory/epoch.ts';
import { buckets } from '../directory/keys.ts';
import { startLastSeen } from '../directory/last-seen.ts';
import { ruleDefaults } from '../directory/rules.ts';
import { isTrusted, type TrustedProxies } from '../http/client-address.ts';
import { createConnectionCount } from '../http/connections.ts';
import { errorText } from '../model/fault.ts';
import { type Pipeline, pipelines as pipelineNames } from '../model/signals.ts';
import { openLedgerFeed } from '../outcomes/ledger-feed.ts';
import type { PublishersBook } from '../outcomes/publishers-book.ts';
import { openPublishersBook } from '../outcomes/publishers-feed.ts';
import { createChecks } from '../runtime/checks.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { type Parts, runRole } from '../runtime/run-role.ts';
import { openTlsFiles, tlsPathsOf } from '../runtime/tls-files.ts';
import { trustedProxiesOf } from '../runtime/trusted-proxies.ts';
import { untilDone } from '../runtime/until-done.ts';
import { createIngressMetrics, type IngressMetrics } from '../telemetry/ingress-metrics.ts';
import { logLastingFault } from '../telemetry/lasting-fault.ts';
import { createRoleLog, type Log } from '../telemetry/log.ts';
import { memoryLimitBytes } from '../telemetry/memory-limit.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { createIngressFigures } from '../telemetry/pulse-figures.ts';
import { createFailureLimit } from './failures.ts';
import { createBytesInFlight } from './http/admission.ts';
import type { Listening } from './http/receiver-server.ts';
import { type BaseCounter, createBaseCounter } from './identity.ts';
import { createLargeBodies } from './large-bodies/large-bodies.ts';
import { createReportChannel } from './rates/channel.ts';
import { startRateExchange } from './rates/exchange.ts';
import type { RateLimiter } from './rates/limiter.ts';
import { createReasonLinks } from './reason-links.ts';
import { openReceivers, type ReceiverParts } from './receivers.ts';
import type { Publishers } from './request-publisher.ts';
import { createRequestTraces } from './request-traces.ts';
import { type SeriesGate, startSeriesGate } from './series/series-gate.ts';
import { startIngressAtZero } from './zero-counters.ts';

const openPublishers = (
  parts: Parts,
  bus: Bus,
  book: PublishersBook,
  options: PublisherOptions,
): Publishers => {
  const single = createPublisher(bus, options);
  parts.add('publisher', () => single.close());
  const batches = createBatchPublisher(bus, single, options);
  parts.add('publisher of batches', () => batches.close());
  return { single, batches, book };
};

/** The streams that items of this process go to, by subject; undefined for an instance that no setting names. */
const streamOfSubject = ({ streams }: Pipelines, subject: string): string | undefined => {
  const all = `${subject.slice(0, subject.lastIndexOf('.'))}.>`;
  return streams.find(({ subjects }) => subjects.includes(all))?.name;
};

/** Whether a stream for this subject exists, as far as this process can know. */
const streamsKnown =
  (pipelines: Pipelines, refused: RefusedStreams, watch: StreamWatch) =>
  (subject: string): boolean => {
    const name = streamOfSubject(pipelines, subject);
    return name !== undefined && !refused.has(name) && !watch.isMissing(name);
  };

/** Follows the streams that this role writes to. */
const followStreams = (
  bus: Bus,
  { streams }: Pipelines,
  refused: RefusedStreams,
  log: Log,
  parts: Parts,
): StreamWatch => {
  const watch = watchStreams(bus, {
    streams: streams.filter(({ consumer }) => consumer !== undefined),
    hasConsumers: false,
    isLeftOut: refused.has,
    log,
  });
  parts.add('watch of streams', () => watch.stop());
  return watch;
};

const findEveryMs = 1_000;

const findStreams = (bus: Bus, streams: readonly StreamDefinition[]) => findTopology(bus, streams, 'streams');

const openBuckets = async (
  bus: Bus,
  streams: readonly StreamDefinition[],
  stop: AbortSignal,
  onWait: (why: string) => void,
) =>
  untilDone(
    async () => {
      // Metadata creates them after the streams.
      const [records, columns, system] = await Promise.all([
        findKvBucket(bus, buckets.records),
        findKvBucket(bus, buckets.columns),
        findKvBucket(bus, buckets.system),
      ]);
      const refused = await findStreams(bus, streams);
      await checkBatches(bus, streams);
      return { records, columns, system, refused };
    },
    stop,
    (error) => onWait(errorText(error)),
  );

const startingText = (bases: BaseCounter, directory: Directory): string | undefined => {
  if (!bases.isReady) return 'the receiver is starting: it has no epoch yet';
  return directory.isReady ? undefined : 'the receiver is starting: it has not read the records yet';
};

/** A trouble that lasts is better answered with its reason: all receivers have it. */
const silentMsMax = 10_000;
const lookEveryMs = 20;

/** Resolves when `starting` gives no reason any more, or after `msMax`. Rejects with the reason of `stop` when that fires first. */
const untilStarted = async (
  starting: () => string | undefined,
  stop: AbortSignal,
  msMax = Number.POSITIVE_INFINITY,
): Promise<void> => {
  const endsAt = performance.now() + msMax;
  while (starting() !== undefined && performance.now() < endsAt) {
    stop.throwIfAborted();
    // The next turn throws the reason of the signal.
    await delay(lookEveryMs, undefined, { signal: stop }).catch(() => undefined);
  }
};

/** A connection that comes back within `awayMs` was not away: requests wait for it. */
const awayText = ({ disconnectedSince }: Bus, awayMs: number): string | undefined =>
  disconnectedSince !== undefined && performance.now() - disconnectedSince > awayMs
    ? 'NATS is not connected'
    : undefined;

/** The options of both receivers for listening. Throws a permanent Fault for unusable certificate files. */
const listeningOf = (
  { ingress }: Settings,
  trustedProxies: TrustedProxies,
  metrics: IngressMetrics,
  log: Log,
): Omit<Listening, 'bases' | 'inFlight'> => {
  const paths = tlsPathsOf('TIDEMARK_INGRESS_TLS', ingress);
  return {
    limits: ingress,
    connections: createConnectionCount({
      ...ingress,
      isExempt: (address) => isTrusted(trustedProxies, address),
    }),
    tls: paths === undefined ? undefined : openTlsFiles(paths, ingress.headersTimeoutMs, metrics, log),
    metrics,
  };
};

type Given = {
  readonly settings: Settings;
  readonly pipelines: Pipelines;
  readonly trustedProxies: TrustedProxies;
  readonly log: Log;
};

/** The answer of an operations port until the parts behind the checks have started. */
const openOps = async ({ settings }: Given, metrics: IngressMetrics, parts: Parts) => {
  const checks = createChecks({ receiver: 'the receiver is starting', nats: 'not connected yet' });
  const degraded = createChecks({
    nats: undefined,
    nats_rights: undefined,
    streams: undefined,
    questdb_streams: undefined,
    records: undefined,
    watches: undefined,
  });
  const readiness = { checks: checks.all, degraded: degraded.all };
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.ingress.opsPort,
    variable: 'TIDEMARK_INGRESS_OPS_PORT',
    registry: metrics.registry,
    readiness,
  });
  parts.add('operations port', () => ops.stop());
  return { checks, degraded, readiness, port: ops.port };
};

const openRates = (bus: Bus, log: Log, parts: Parts): RateLimiter => {
  const texts = {
    began: 'no exchange of rates with other receivers: the shares of max_rate stay as they are',
    ended: 'rates are exchanged with other receivers again',
  };
  const rates = startRateExchange(createReportChannel(bus, logLastingFault(log, {}, texts)));
  parts.add('exchange of rates', () => rates.stop());
  return rates.limiter;
};

const openDirectory = (
  { pipelines, log }: Given,
  { records, columns }: { readonly records: KvBucket; readonly columns: KvBucket },
  parts: Parts,
): Directory => {
  const directory = startDirectory({
    records,
    columns,
    defaults: ruleDefaults(pipelines),
    now: Date.now,
    onInvalid: (key, error) =>
      log.error({ key, error: errorText(error) }, 'a record cannot be read: its owner gets 503'),
  });
  parts.add('directory', () => directory.stop());
  const lastSeen = startLastSeen(directory, columns, (error) =>
    log.warn({ error: errorText(error) }, 'last_seen of columns was not written'),
  );
  parts.add('last_seen of columns', () => lastSeen.stop());
  return directory;
};

const openSeriesGate = (metrics: IngressMetrics, log: Log, parts: Parts): SeriesGate => {
  const { gate, stop } = startSeriesGate({
    now: performance.now.bind(performance),
    onFull: (appId, seriesMax, held) =>
      log.warn(
        { app_id: appId, series_max: seriesMax, series: held },
        'an application has reached series_max: data points of new series are dropped as too_many_series',
      ),
    onHeld: (held) => metrics.series.set(held),
  });
  parts.add('series gate', stop);
  return gate;
};

/** From the operations port to the receivers: each part needs those before it, and stops before them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: wiring: each part stands on those before it.
const startIngress = async (given: Given, parts: Parts, stop: AbortSignal): Promise<void> => {
  const { settings, pipelines, trustedProxies, log } = given;
  const metrics = createIngressMetrics();
  startIngressAtZero(metrics);
  metrics.bytesInFlightMax.set(settings.ingress.bytesInFlightMax);
  const listening = listeningOf(settings, trustedProxies, metrics, log);
  parts.add('TLS files', () => listening.tls?.stop());
  const { checks, degraded, readiness, port: ops } = await openOps(given, metrics, parts);
  const tracing = await openTracing(settings, 'ingress', log);
  parts.add('tracing', () => tracing?.stop());
  const bus = await openRoleBus('ingress', given, parts, stop, (why) => checks.set({ nats: () => why }));
  const pulse = { bus, readiness, figures: createIngressFigures(metrics) };
  parts.add('pulse', startPulse({ ...pulse, role: 'ingress' }).stop);
  checks.set({ nats: () => bus.notAccepted });
  degraded.set({ nats_rights: () => bus.refused, watches: () => bus.watchTroubles.problem });
  const limiter = openRates(bus, log, parts);
  const { records, columns, system, ...opened } = await openBuckets(bus, pipelines.streams, stop, (why) => {
    checks.set({ receiver: () => `the receiver is starting: ${why}` });
    log.warn({ error: why }, 'waiting for JetStream');
  });
  const refusedStreams = retryStreams(bus, pipelines.streams, opened.refused, log, {
    retryMs: findEveryMs,
    ensure: findStreams,
  });
  parts.add('refused streams', () => refusedStreams.stop());
  const streamWatch = followStreams(bus, pipelines, refusedStreams, log, parts);
  degraded.set({ streams: () => streamWatch.problem, questdb_streams: () => refusedStreams.problem });
  const directory = openDirectory(given, { records, columns }, parts);
  degraded.set({ records: () => directory.unreadable });
  const bases = createBaseCounter(
    () => takeEpoch(system, Date.now()),
    (why) => log.warn({ error: why }, 'no epoch yet'),
  );
  const starting = () => startingText(bases, directory);
  const unready = (awayMs: number) => starting() ?? awayText(bus, awayMs);
  const { isCredential } = directory;
  const life = () => bases.boot;
  const feed = openLedgerFeed({ bus, metrics, isCredential, boot: life, log });
  parts.add('LEDGER feed', () => feed.stop());
  const { book, usage, ...bookFeed } = openPublishersBook({ bus, metrics, life, isCredential, log });
  parts.add("publishers' book", () => bookFeed.stop());
  const streamsThere = {
    hasStream: streamsKnown(pipelines, refusedStreams, streamWatch),
    lookAgain: streamWatch.look,
  };
  const publishersOf = (pipeline: Pipeline) =>
    openPublishers(parts, bus, book, { ...pipelines[pipeline].publish, ...streamsThere });
  const large = createLargeBodies(log);
  parts.add('large bodies', () => large.close());
  const series = openSeriesGate(metrics, log, parts);
  const inFlight = createBytesInFlight(settings.ingress.bytesInFlightMax, (held) =>
    metrics.bytesInFlight.set(held),
  );
  const common: ReceiverParts = {
    directory,
    bases,
    inFlight,
    limiter,
    failures: createFailureLimit({
      failuresMax: settings.ingress.addressFailuresMax,
      trustedProxies,
      now: performance.now.bind(performance),
    }),
    large,
    series,
    metrics,
    listening: { ...listening, bases, inFlight },
    accounting: { ...feed, metrics, trustedProxies },
    usage,
    log,
    unready,
    maxRateDefault: settings.maxRateDefault,
    links: createReasonLinks(settings.docsUrl),
    traces: tracing === undefined ? undefined : createRequestTraces(tracing),
  };

  checks.set({ receiver: () => starting() ?? 'the receiver is starting: it does not listen yet' });
  // A connection that is refused goes to another receiver; a request that is refused has failed.
  await untilStarted(starting, stop, silentMsMax);
  await openReceivers(given, publishersOf, columns, common, parts);
  // Finished spans may go to this process itself: they leave while it still accepts requests.
  parts.add('finished spans', () => tracing?.flush());
  const awayMs = Math.max(...pipelineNames.map((pipeline) => pipelines[pipeline].publish.awayMs));
  degraded.set({ nats: () => awayText(bus, awayMs) });
  checks.set({ receiver: () => (stop.aborted ? 'the receiver is stopping' : starting()) });
  const why = starting();
  if (why !== undefined) log.warn({ error: why }, 'ingress listens, and refuses every request for now');
  await untilStarted(starting, stop);
  const { pushPort, otlpPort, grpcPort } = settings.ingress;
  log.info(
    { push: pushPort, otlp: otlpPort, grpc: grpcPort, ops, tls: listening.tls !== undefined },
    'ingress accepts requests',
  );
};

/**
 * The receivers (architecture 2): sender -> push on 10205 -> METRICS, exporter -> OTLP on 4318 and 4317 -> TRACES, LOGS, OTEL_METRICS. Runs until SIGTERM or
 * SIGINT, then answers the requests in hand and ends. Throws a permanent Fault for unusable settings and occupied ports.
 */
export const runIngress = async (settings: Settings): Promise<void> => {
  const pipelines = pipelinesOf(settings, settings.nats.replicas);
  const trustedProxies = trustedProxiesOf(
    'TIDEMARK_INGRESS_TRUSTED_PROXIES',
    settings.ingress.trustedProxies,
  );
  const log = createRoleLog('ingress', settings.logLevel);
  const small = memoryWarning(settings, pipelines, memoryLimitBytes());
  if (small !== undefined) log.warn({ error: small }, 'little memory for the limits of this process');
  await runRole({ name: 'ingress', log }, (parts, stop) =>
    startIngress({ settings, pipelines, trustedProxies, log }, parts, stop),
  );
};

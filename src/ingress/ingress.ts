import type { Server } from 'node:http';
import { createBatchPublisher } from '../bus/batch-publisher.ts';
import { type Bus, connectBusWhenUp } from '../bus/connection.ts';
import { type KvBucket, openKvBucket } from '../bus/kv.ts';
import { createPublisher } from '../bus/publisher.ts';
import { checkBatches, ensureTopology, type RefusedStreams, retryStreams } from '../bus/topology.ts';
import { withInstances } from '../config/instance-streams.ts';
import { loadPipelines, type Pipelines, type StreamDefinition } from '../config/pipelines.ts';
import { natsTarget, questdbInstances, type Settings, settingFault } from '../config/settings.ts';
import { createColumnNames } from '../directory/column-names.ts';
import { type Directory, startDirectory } from '../directory/directory.ts';
import { takeEpoch } from '../directory/epoch.ts';
import { buckets } from '../directory/keys.ts';
import { startLastSeen } from '../directory/last-seen.ts';
import { ruleDefaults } from '../directory/rules.ts';
import { createConnectionCount } from '../http/connections.ts';
import { errorText } from '../model/fault.ts';
import { openLedgerFeed } from '../outcomes/ledger-feed.ts';
import { listenFault } from '../runtime/listen-fault.ts';
import { startOpsServer } from '../runtime/ops-server.ts';
import { stopSignal, whenStopped } from '../runtime/stop-signal.ts';
import { untilDone } from '../runtime/until-done.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { createIngressMetrics, type IngressMetrics } from '../telemetry/metrics.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { createFailureLimit, type FailureLimit } from './failures.ts';
import { type BytesInFlight, createBytesInFlight } from './http/admission.ts';
import { isTrusted, parseTrustedProxies, type TrustedProxies } from './http/client-address.ts';
import type { Listening } from './http/receiver-server.ts';
import { openTlsFiles, tlsPathsOf } from './http/tls-files.ts';
import { type BaseCounter, createBaseCounter } from './identity.ts';
import { createLargeBodies, type LargeBodies } from './large-bodies/large-bodies.ts';
import type { CredentialNames } from './otlp/credential.ts';
import { createOtlpHandler } from './otlp/handler.ts';
import { createSpanPublisher } from './otlp/publish.ts';
import { createReadTraces } from './otlp/read.ts';
import { createOtlpServer } from './otlp/server.ts';
import { createEncodePush } from './push/encode-anywhere.ts';
import { createPushHandler } from './push/handler.ts';
import { createPushPublisher } from './push/publish.ts';
import { createPushServer } from './push/server.ts';
import { createReportChannel } from './rates/channel.ts';
import { startRateExchange } from './rates/exchange.ts';
import type { RateLimiter } from './rates/limiter.ts';
import { createRefusalRecorder, type RefusalRecorderDependencies } from './refusal-recorder.ts';
import { createRequestTraces, type RequestTraces } from './request-traces.ts';

/** What both receivers share. */
type Common = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly limiter: RateLimiter;
  readonly failures: FailureLimit;
  readonly large: LargeBodies;
  readonly metrics: IngressMetrics;
  readonly listening: Listening;
  readonly accounting: RefusalRecorderDependencies;
  readonly log: Log;
  /** Why nothing can be taken now, for a bus that has been away longer than this. */
  readonly unready: (awayMs: number) => string | undefined;
  readonly maxRateDefault: number;
  /** Where tracing is on. */
  readonly traces: RequestTraces | undefined;
};

type Receiver = { readonly server: Server; close(): void };

const onDefect =
  (log: Log) =>
  (error: unknown): void =>
    log.error(
      { error: errorText(error), stack: error instanceof Error ? error.stack : '' },
      'an internal error',
    );

/** Whether there is a stream for this subject, as far as is known: not for one of an instance that no setting names. */
const streamsKnown =
  ({ streams }: Pipelines, refused: RefusedStreams) =>
  (subject: string): boolean => {
    const all = `${subject.slice(0, subject.lastIndexOf('.'))}.>`;
    return streams.some(({ name, subjects }) => subjects.includes(all) && !refused.has(name));
  };

/** Push -> METRICS. */
const createPushReceiver = (
  pipeline: Pipelines['metrics'],
  columns: KvBucket,
  hasStream: (subject: string) => boolean,
  common: Common,
): Receiver => {
  const { bus, directory, metrics, listening, accounting, log, traces } = common;
  const recorder = createRefusalRecorder('push', accounting);
  const options = { ...pipeline.publish, hasStream };
  const single = createPublisher(bus, options);
  const batches = createBatchPublisher(bus, single, options);
  const handle = createPushHandler({
    ...common,
    recorder,
    registerColumnNames: createColumnNames(columns, directory, Date.now),
    encode: createEncodePush(common.large),
    publisher: createPushPublisher({ single, batches }, pipeline.publish, metrics, traces),
    unready: () => common.unready(pipeline.publish.awayMs),
    now: Date.now,
    limits: pipeline.limits,
    deadlineMs: pipeline.publish.deadlineMs,
  });
  const traced = traces === undefined ? handle : traces.around('/v2/push/', handle);
  return {
    server: createPushServer(traced, listening, recorder, onDefect(log)),
    close: () => {
      batches.close();
      single.close();
    },
  };
};

/** OTLP -> TRACES. */
const createOtlpReceiver = (
  pipeline: Pipelines['traces'],
  trustedProxies: TrustedProxies,
  credentialNames: CredentialNames,
  common: Common,
): Receiver => {
  const { bus, metrics, listening, accounting, log, traces } = common;
  const recorder = createRefusalRecorder('otlp', accounting);
  const single = createPublisher(bus, pipeline.publish);
  const batches = createBatchPublisher(bus, single, pipeline.publish);
  const handle = createOtlpHandler({
    ...common,
    recorder,
    publisher: createSpanPublisher({ single, batches }, pipeline.publish, metrics, traces),
    unready: () => common.unready(pipeline.publish.awayMs),
    now: Date.now,
    bodyLimits: pipeline.limits,
    deadlineMs: pipeline.publish.deadlineMs,
    trustedProxies,
    credentialNames,
    read: createReadTraces(common.large, credentialNames.attributes, pipeline.limits.elementsMax),
  });
  const traced = traces === undefined ? handle : traces.around('/v1/traces', handle);
  return {
    server: createOtlpServer(traced, listening, recorder, credentialNames.headers, onDefect(log)),
    close: () => {
      batches.close();
      single.close();
    },
  };
};

const listen = (server: Server, host: string, port: number, variable: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenFault(error, port, variable)));
    server.listen(port, host, resolve);
  });

/** Stops taking connections and resolves when the requests at hand are answered. */
const drain = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    // A connection that was busy at first is closed once it is idle, so that keep-alive cannot hold up the stop.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });

const openBuckets = async (
  bus: Bus,
  streams: readonly StreamDefinition[],
  stop: AbortSignal,
  onWait: (why: string) => void,
) =>
  untilDone(
    async () => {
      const refused = await ensureTopology(bus, streams);
      await checkBatches(bus, streams);
      const [records, columns, system] = await Promise.all([
        openKvBucket(bus, buckets.records),
        openKvBucket(bus, buckets.columns),
        openKvBucket(bus, buckets.system),
      ]);
      return { records, columns, system, refused };
    },
    stop,
    (error) => onWait(errorText(error)),
  );

const createUnready =
  (bus: Bus, bases: BaseCounter, directory: Directory) =>
  (awayMs: number): string | undefined => {
    if (!bases.isReady) return 'the receiver is starting: it has no epoch yet';
    if (!directory.isReady) return 'the receiver is starting: it has not read the records yet';
    const since = bus.disconnectedSince;
    return since !== undefined && performance.now() - since > awayMs ? 'NATS is not connected' : undefined;
  };

const trustedProxiesOf = ({ ingress }: Settings): TrustedProxies => {
  const parsed = parseTrustedProxies(ingress.trustedProxies);
  if ('proxies' in parsed) return parsed.proxies;
  throw settingFault(
    'TIDEMARK_INGRESS_TRUSTED_PROXIES',
    `${parsed.wrong} is not an IP address or a network`,
    'Write addresses and networks like 10.0.0.0/8, 192.168.1.7',
  );
};

/** What both receivers listen with. Throws a permanent Fault for certificate files that cannot be used. */
const listeningOf = (
  { ingress }: Settings,
  trustedProxies: TrustedProxies,
  metrics: IngressMetrics,
  log: Log,
): Listening => {
  const paths = tlsPathsOf(ingress);
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

/**
 * The receivers (architecture 2.1): producer -> push on 10205 -> METRICS, exporter -> OTLP on 4318 -> TRACES. Runs until SIGTERM
 * or SIGINT, then answers what it holds and ends. Throws a permanent Fault for settings that cannot be used and ports that are
 * taken.
 */
export const runIngress = async (settings: Settings): Promise<void> => {
  const pipelines = withInstances(
    loadPipelines(settings.pipelinesFolder, settings.nats.replicas),
    questdbInstances(settings).map(({ name }) => name),
  );
  const trustedProxies = trustedProxiesOf(settings);
  const log = createLog('ingress', settings.logLevel);
  const tracing = await openTracing(settings, 'ingress', log);
  const stop = stopSignal();
  const metrics = createIngressMetrics();
  const listening = listeningOf(settings, trustedProxies, metrics, log);
  const checks = {
    receiver: (): string | undefined => 'the receiver is starting',
    nats: (): string | undefined => 'not connected yet',
  };
  const warnings = { questdb_streams: (): string | undefined => undefined };
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.ingress.opsPort,
    variable: 'TIDEMARK_INGRESS_OPS_PORT',
    registry: metrics.registry,
    checks: { receiver: () => checks.receiver(), nats: () => checks.nats() },
    warnings: { questdb_streams: () => warnings.questdb_streams() },
  });

  const bus = await connectBusWhenUp(natsTarget(settings), 'tidemark-ingress', stop, (error) =>
    log.warn({ error: errorText(error) }, 'waiting for NATS'),
  );
  checks.nats = () => (bus.connected ? undefined : 'the connection to NATS is lost');
  bus.onDisconnect(() => log.warn({}, 'NATS connection lost'));
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  const rates = startRateExchange(
    createReportChannel(bus, (error) =>
      log.warn(
        { error: errorText(error) },
        'no exchange of rates with other receivers: the shares of max_rate stay as they are',
      ),
    ),
  );
  const { records, columns, system, ...opened } = await openBuckets(bus, pipelines.streams, stop, (why) => {
    checks.receiver = () => `the receiver is starting: ${why}`;
    log.warn({ error: why }, 'waiting for JetStream');
  });
  const refusedStreams = retryStreams(bus, pipelines.streams, opened.refused, log);
  warnings.questdb_streams = () => refusedStreams.problem;
  const directory = startDirectory({
    records,
    columns,
    defaults: ruleDefaults(pipelines),
    now: Date.now,
    onInvalid: (key, error) =>
      log.error({ key, error: errorText(error) }, 'a record is malformed and ignored'),
  });
  const lastSeen = startLastSeen(directory, columns, (error) =>
    log.warn({ error: errorText(error) }, 'last_seen of columns was not written'),
  );
  const bases = createBaseCounter(
    () => takeEpoch(system, Date.now()),
    (why) => log.warn({ error: why }, 'no epoch yet'),
  );
  const unready = createUnready(bus, bases, directory);
  const inFlight = createBytesInFlight(settings.ingress.bytesInFlightMax, (held) =>
    metrics.bytesInFlight.set(held),
  );
  const { maxRateDefault } = settings;
  const { limiter } = rates;
  const { isCredential } = directory;
  const feed = openLedgerFeed({ bus, metrics, isCredential, boot: () => bases.boot, log });
  const accounting = { ...feed, metrics, trustedProxies };
  const failures = createFailureLimit({
    failuresMax: settings.ingress.addressFailuresMax,
    trustedProxies,
    now: performance.now.bind(performance),
  });
  const large = createLargeBodies(log);
  const shared = {
    bus,
    directory,
    bases,
    inFlight,
    limiter,
    failures,
    large,
    metrics,
    listening,
    accounting,
  };
  const traces = tracing === undefined ? undefined : createRequestTraces(tracing);
  const common: Common = { ...shared, log, unready, maxRateDefault, traces };

  const hasStream = streamsKnown(pipelines, refusedStreams);
  const push = createPushReceiver(pipelines.metrics, columns, hasStream, common);
  const { tokenHeaders: headers, tokenAttributes: attributes } = settings.ingress;
  const otlp = createOtlpReceiver(pipelines.traces, trustedProxies, { headers, attributes }, common);
  const { pushHost, pushPort, otlpHost, otlpPort } = settings.ingress;
  await listen(push.server, pushHost, pushPort, 'TIDEMARK_INGRESS_PUSH_PORT');
  await listen(otlp.server, otlpHost, otlpPort, 'TIDEMARK_INGRESS_OTLP_PORT');
  checks.receiver = () => (stop.aborted ? 'the receiver is stopping' : unready(0));
  log.info(
    { push: pushPort, otlp: otlpPort, ops: ops.port, tls: listening.tls !== undefined },
    'ingress accepts requests',
  );

  await whenStopped(stop);
  log.info({}, 'ingress stops');
  listening.tls?.stop();
  // They may go to this process itself.
  await tracing?.flush();
  await Promise.all([drain(push.server), drain(otlp.server)]);
  await large.close();
  await Promise.all([rates.stop(), feed.stop()]);
  lastSeen.stop();
  refusedStreams.stop();
  directory.stop();
  push.close();
  otlp.close();
  await bus.close();
  await tracing?.stop();
  await ops.stop();
};

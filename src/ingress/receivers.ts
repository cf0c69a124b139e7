import type { Server } from 'node:http';
import type { KvBucket } from '../bus/kv.ts';
import type { Pipelines } from '../config/pipelines.ts';
import type { Settings } from '../config/settings.ts';
import { createColumnNames } from '../directory/column-names.ts';
import type { Directory } from '../directory/directory.ts';
import { bodyPatience, drain } from '../http/limited-server.ts';
import { errorText } from '../model/fault.ts';
import type { Pipeline } from '../model/signals.ts';
import type { UsageBook } from '../outcomes/usage-book.ts';
import { listen } from '../runtime/listen.ts';
import type { Parts } from '../runtime/run-role.ts';
import type { IngressMetrics } from '../telemetry/ingress-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { FailureLimit } from './failures.ts';
import { createGrpcServer, type GrpcServer } from './grpc/server.ts';
import type { BytesInFlight } from './http/admission.ts';
import type { Listening } from './http/receiver-server.ts';
import type { BaseCounter } from './identity.ts';
import type { LargeBodies } from './large-bodies/large-bodies.ts';
import type { CredentialNames } from './otlp/credential.ts';
import { createOtlpHandler } from './otlp/handler.ts';
import { createItemsPublisher } from './otlp/publish.ts';
import { createReadItems } from './otlp/read.ts';
import { createOtlpServer } from './otlp/server.ts';
import { type OtlpPipeline, otlpPipelines, otlpSignals } from './otlp/signals.ts';
import { createEncodePush } from './push/encode-anywhere.ts';
import { createPushHandler } from './push/handler.ts';
import { createPushPublisher } from './push/publish.ts';
import { createPushServer } from './push/server.ts';
import type { RateLimiter } from './rates/limiter.ts';
import type { ReasonLinks } from './reason-links.ts';
import { createRefusalRecorder, type RefusalRecorderDependencies } from './refusal-recorder.ts';
import { idOfDefect } from './request-id.ts';
import type { Publishers } from './request-publisher.ts';
import type { RequestTraces } from './request-traces.ts';
import type { SeriesGate } from './series/series-gate.ts';
import { createUsageRecorder } from './usage-recorder.ts';

/** What all receivers share. */
export type ReceiverParts = {
  readonly directory: Directory;
  readonly bases: BaseCounter;
  readonly inFlight: BytesInFlight;
  readonly limiter: RateLimiter;
  readonly failures: FailureLimit;
  readonly large: LargeBodies;
  readonly series: SeriesGate;
  readonly metrics: IngressMetrics;
  readonly listening: Listening;
  readonly accounting: RefusalRecorderDependencies;
  readonly usage: UsageBook;
  readonly log: Log;
  /** Why the receiver can accept nothing now, for a bus that has been away longer than this. */
  readonly unready: (awayMs: number) => string | undefined;
  readonly maxRateDefault: number;
  readonly links: ReasonLinks;
  /** Undefined where tracing is off. */
  readonly traces: RequestTraces | undefined;
};

const onDefect =
  (log: Log) =>
  (error: unknown): void =>
    log.error(
      {
        request: idOfDefect(error),
        error: errorText(error),
        stack: error instanceof Error ? error.stack : '',
      },
      'an internal error',
    );

/** Push -> METRICS. */
const createPushReceiver = (
  pipeline: Pipelines['metrics'],
  publishers: Publishers,
  columns: KvBucket,
  corsOrigin: string | undefined,
  common: ReceiverParts,
): Server => {
  const { directory, metrics, listening, accounting, log, traces } = common;
  const recorder = createRefusalRecorder('push', 'metrics', accounting);
  const handle = createPushHandler({
    ...common,
    recorder,
    usage: createUsageRecorder('metrics', common.usage, accounting.trustedProxies),
    registerColumnNames: createColumnNames(columns, directory, Date.now),
    encode: createEncodePush(common.large),
    publisher: createPushPublisher(publishers, pipeline.publish, metrics, traces),
    unready: () => common.unready(pipeline.publish.awayMs),
    now: Date.now,
    limits: pipeline.limits,
    deadlineMs: pipeline.publish.deadlineMs,
  });
  const traced = traces === undefined ? handle : traces.around('/v2/push/', handle);
  return createPushServer(traced, listening, recorder, corsOrigin, common.links, onDefect(log));
};

/** One signal of OTLP -> its stream, over HTTP and over gRPC. */
const createOtlpDoors = (
  name: OtlpPipeline,
  pipeline: Pipelines[OtlpPipeline],
  publishers: Publishers,
  credentialNames: CredentialNames,
  common: ReceiverParts,
) => {
  const { metrics, accounting, traces } = common;
  const { trustedProxies } = accounting;
  const { limits, publish } = pipeline;
  const signal = otlpSignals[name];
  const shared = {
    ...common,
    signal,
    usage: createUsageRecorder(name, common.usage, trustedProxies),
    publisher: createItemsPublisher(signal, publishers, publish, metrics, traces),
    unready: () => common.unready(publish.awayMs),
    now: Date.now,
    limits,
    deadlineMs: publish.deadlineMs,
    trustedProxies,
    credentialNames,
    read: createReadItems(name, common.large, credentialNames.attributes, limits.elementsMax, common.series),
  };
  const doorOf = (receiver: 'otlp' | 'grpc', route: string) => {
    const recorder = createRefusalRecorder(receiver, name, accounting);
    const handle = createOtlpHandler({ ...shared, receiver, recorder });
    return { signal, recorder, handle: traces === undefined ? handle : traces.around(route, handle) };
  };
  return {
    http: doorOf('otlp', signal.path),
    grpc: { ...doorOf('grpc', signal.exportPath), messageBytesMax: limits.bodyBytesMax },
  };
};

/** OTLP -> the streams of its signals, over HTTP and over gRPC. */
const createOtlpReceivers = (
  { pipelines, settings: { ingress } }: Given,
  publishersOf: (pipeline: OtlpPipeline) => Publishers,
  common: ReceiverParts,
): { readonly http: Server; readonly grpc: GrpcServer } => {
  const { listening, accounting, links, log } = common;
  const credentialNames = { headers: ingress.tokenHeaders, attributes: ingress.tokenAttributes };
  const doors = otlpPipelines.map((name) =>
    createOtlpDoors(name, pipelines[name], publishersOf(name), credentialNames, common),
  );
  const awayMs = Math.max(...otlpPipelines.map((name) => pipelines[name].publish.awayMs));
  const recorderOf = (receiver: 'otlp' | 'grpc') => createRefusalRecorder(receiver, 'traces', accounting);
  return {
    http: createOtlpServer(
      doors.map(({ http }) => http),
      listening,
      recorderOf('otlp'),
      credentialNames.headers,
      links,
      onDefect(log),
    ),
    grpc: createGrpcServer({
      listening,
      exports: new Map(doors.map(({ grpc }) => [grpc.signal.exportPath, grpc])),
      recorder: recorderOf('grpc'),
      connectionAgeMsMax: ingress.grpcConnectionAgeMsMax,
      unready: () => common.unready(awayMs),
      links,
      onDefect: onDefect(log),
    }),
  };
};

/** With the time for bodies that still arrive, and that of the parts that end after the receivers, it is below the 50 s of a role. */
const drainMsMax = 35_000;

/**
 * Listens on all ports. They stop together: no new connections; open ones get `Connection: close` with their next answer over HTTP,
 * and GOAWAY over gRPC.
 */
const listenOnAll = async (
  { ingress }: Settings,
  { push, otlp, grpc }: { readonly push: Server; readonly otlp: Server; readonly grpc: GrpcServer },
  parts: Parts,
): Promise<void> => {
  const { pushHost, pushPort, otlpHost, otlpPort, grpcPort } = ingress;
  const drainMs = Math.min(ingress.drainMs, drainMsMax);
  const servers = parts.together();
  await listen(push, {
    host: pushHost,
    port: pushPort,
    portVariable: 'TIDEMARK_INGRESS_PUSH_PORT',
    hostVariable: 'TIDEMARK_INGRESS_PUSH_HOST or TIDEMARK_BIND_HOST',
  });
  servers.add('push receiver', () => drain(push, drainMs));
  const onOtlp = {
    host: otlpHost,
    hostVariable: 'TIDEMARK_INGRESS_OTLP_HOST or TIDEMARK_BIND_HOST',
  };
  await listen(otlp, { ...onOtlp, port: otlpPort, portVariable: 'TIDEMARK_INGRESS_OTLP_PORT' });
  servers.add('OTLP receiver', () => drain(otlp, drainMs));
  if (grpcPort === undefined) return;
  await listen(grpc.server, { ...onOtlp, port: grpcPort, portVariable: 'TIDEMARK_INGRESS_GRPC_PORT' });
  const { laggardsMs, allMs } = bodyPatience;
  const patience = { laggardsMs: drainMs + laggardsMs, allMs: drainMs + allMs };
  servers.add('OTLP receiver over gRPC', () => grpc.drain(patience));
};

type Given = { readonly settings: Settings; readonly pipelines: Pipelines };

/** Makes the receivers and listens. */
export const openReceivers = async (
  { settings, pipelines }: Given,
  publishersOf: (pipeline: Pipeline) => Publishers,
  columns: KvBucket,
  common: ReceiverParts,
  parts: Parts,
): Promise<void> => {
  const push = createPushReceiver(
    pipelines.metrics,
    publishersOf('metrics'),
    columns,
    settings.ingress.pushCorsOrigin,
    common,
  );
  const { http, grpc } = createOtlpReceivers({ settings, pipelines }, publishersOf, common);
  await listenOnAll(settings, { push, otlp: http, grpc }, parts);
};

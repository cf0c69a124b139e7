import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { Directory } from '../../../src/directory/directory.ts';
import { ruleDefaults } from '../../../src/directory/rules.ts';
import { parseTrustedProxies } from '../../../src/http/client-address.ts';
import { createConnectionCount } from '../../../src/http/connections.ts';
import type { Incoming } from '../../../src/http/incoming.ts';
import type { HttpLimits } from '../../../src/http/limited-server.ts';
import { createFailureLimit } from '../../../src/ingress/failures.ts';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import type { Reply } from '../../../src/ingress/http/reply.ts';
import type { BaseCounter } from '../../../src/ingress/identity.ts';
import { createLargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createOtlpHandler } from '../../../src/ingress/otlp/handler.ts';
import type { ItemsPublisher } from '../../../src/ingress/otlp/publish.ts';
import { createReadItems } from '../../../src/ingress/otlp/read.ts';
import { createOtlpServer } from '../../../src/ingress/otlp/server.ts';
import { type OtlpPipeline, otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { createRateLimiter } from '../../../src/ingress/rates/limiter.ts';
import { noLinks } from '../../../src/ingress/reason-links.ts';
import type { RefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { SeriesGate } from '../../../src/ingress/series/series-gate.ts';
import { countedBase } from '../../../src/model/uid.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

/** The write token of the one application. */
export const doorToken = 'a'.repeat(32);
export const doorAppId = 7;

const otlpPipelines = ['traces', 'logs', 'otel_metrics'] as const;
const pipelines = loadPipelines('pipelines', 1);
const defaults = ruleDefaults(pipelines).application;
const parsed = parseTrustedProxies('');
if ('wrong' in parsed) throw new Error(parsed.wrong);
const { proxies } = parsed;
const credentialNames = { headers: ['x-mon-token'], attributes: ['mon.data.token'] };

export type OtlpDoorOptions = {
  readonly limits?: Partial<HttpLimits>;
  readonly seriesMax?: number;
  readonly publish?: ItemsPublisher['publish'];
};

/** A refused request, as it is recorded. */
export type RecordedRefusal = { readonly reason: string; readonly owner: number; readonly items: number };

const directoryOf = (seriesMax: number | undefined): Directory => {
  const { otel_metrics: rules } = defaults;
  const application = {
    ...{ appId: doorAppId, bizId: 2, isEnabled: true, maxRate: 0, deduplicate: false, fillDimensions: false },
    rules: { ...defaults, otel_metrics: seriesMax === undefined ? rules : { ...rules, seriesMax } },
    identityCredential: undefined,
  };
  const find = (token: string) => (token === doorToken ? application : undefined);
  return {
    isReady: true,
    identityKey: undefined,
    source: () => undefined,
    authorize: async () => undefined,
    authorizeApplication: async (token) => find(token),
    application: find,
    isCredential: () => false,
    applyRegistry: () => undefined,
    takeLastSeen: () => [],
    stop: () => {},
  };
};

const createBases = (): BaseCounter => {
  let taken = 0;
  return {
    isReady: true,
    boot: 1,
    take: (items) => {
      taken += items;
      return countedBase(1, taken - items);
    },
  };
};

/** The lines of all signals of OTLP in this process, and their receiver over HTTP: all but the stores and the bus. */
export const openOtlpDoor = async ({ seriesMax, publish, limits }: OtlpDoorOptions = {}) => {
  const metrics = createIngressMetrics();
  const refused: RecordedRefusal[] = [];
  const recorder: RefusalRecorder = {
    refused: (reason, owner = 0, items = 0) => refused.push({ reason, owner, items }),
    refusedConnection: () => {},
    refusedItems: () => {},
    repeated: () => {},
    lost: () => {},
    wants: () => false,
    wantsRefused: () => false,
    sample: () => {},
  };
  const now = performance.now.bind(performance);
  const large = createLargeBodies({ error: () => {} });
  const gate = new SeriesGate({ now, onFull: () => {}, onHeld: () => {} });
  const bases = createBases();
  const shared = {
    directory: directoryOf(seriesMax),
    ...{ bases, trustedProxies: proxies, credentialNames, metrics, recorder, links: noLinks },
    publisher: { publish: publish ?? (async () => false) },
    inFlight: createBytesInFlight(2 ** 30, () => {}),
    failures: createFailureLimit({ failuresMax: 0, trustedProxies: proxies, now }),
    limiter: createRateLimiter(),
    usage: { accepted: () => {}, acceptedOf: () => {} },
    unready: () => undefined,
    now: Date.now,
    deadlineMs: 60_000,
    maxRateDefault: 0,
  };
  const handlerOf = (pipeline: OtlpPipeline, receiver: 'otlp' | 'grpc') => {
    const { limits: ownLimits } = pipelines[pipeline];
    return createOtlpHandler({
      ...shared,
      ...{ receiver, signal: otlpSignals[pipeline], limits: ownLimits },
      read: createReadItems(pipeline, large, credentialNames.attributes, ownLimits.elementsMax, gate),
    });
  };
  const grpc = new Map<OtlpPipeline, (request: Incoming) => Promise<Reply>>(
    otlpPipelines.map((pipeline) => [pipeline, handlerOf(pipeline, 'grpc')]),
  );
  const handled: Promise<unknown>[] = [];
  const server = createOtlpServer(
    otlpPipelines.map((pipeline) => {
      const line = handlerOf(pipeline, 'otlp');
      const handle = (request: Incoming): Promise<Reply> => {
        const reply = line(request);
        handled.push(reply);
        return reply;
      };
      return { signal: otlpSignals[pipeline], handle, recorder };
    }),
    {
      limits: {
        ...{ headersTimeoutMs: 0, requestTimeoutMs: 0, idleTimeoutMs: 0, stallTimeoutMs: 0 },
        headerBytesMax: 16_384,
        ...limits,
      },
      ...{ metrics, bases, tls: undefined },
      connections: createConnectionCount({
        ...{ connectionsMax: 0, addressConnectionsMax: 0, isExempt: () => false },
      }),
    },
    ...([recorder, credentialNames.headers, noLinks] as const),
    (error) => {
      throw error;
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    refused,
    gate,
    /** The line of a signal behind its receiver over gRPC. */
    lineOfGrpc: (pipeline: OtlpPipeline) => grpc.get(pipeline),
    /** Requests answered, by status. */
    answered: async (): Promise<Record<string, number>> => {
      const { values } = await metrics.requests.get();
      return Object.fromEntries(values.map(({ labels, value }) => [String(labels.status), value]));
    },
    post: (pipeline: OtlpPipeline, body: unknown): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${otlpSignals[pipeline].path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': doorToken },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    /** Resolves once each line is through with its requests, those among them whose connections it ends. */
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.allSettled(handled);
      await large.close();
    },
  };
};

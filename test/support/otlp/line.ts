import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { ApplicationSource } from '../../../src/directory/applications.ts';
import { ruleDefaults } from '../../../src/directory/rules.ts';
import { parseTrustedProxies } from '../../../src/http/client-address.ts';
import { createFailureLimit } from '../../../src/ingress/failures.ts';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import type { Reply } from '../../../src/ingress/http/reply.ts';
import { createLargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createOtlpHandler } from '../../../src/ingress/otlp/handler.ts';
import { createReadItems } from '../../../src/ingress/otlp/read.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { createRateLimiter } from '../../../src/ingress/rates/limiter.ts';
import { noLinks } from '../../../src/ingress/reason-links.ts';
import { SeriesGate } from '../../../src/ingress/series/series-gate.ts';
import { countedBase } from '../../../src/model/uid.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

const pipelines = loadPipelines(join(import.meta.dirname, '../../../pipelines'), 1);

/** The header field and the resource attribute of a token. */
const tokenHeader = 'x-mon-token';
export const tokenAttribute = 'mon.data.token';

/** An enabled application with the defaults of everything. */
export const applicationOf = (appId: number): ApplicationSource => ({
  appId,
  bizId: 2,
  isEnabled: true,
  maxRate: 0,
  rules: ruleDefaults(pipelines).application,
  deduplicate: false,
  identityCredential: undefined,
  fillDimensions: false,
});

export type LineOptions = {
  readonly receiver: 'otlp' | 'grpc';
  /** Applications in memory, by token. */
  readonly known: ReadonlyMap<string, ApplicationSource>;
  /** Reads a token that is not in memory. */
  readonly lookUp: (token: string) => Promise<ApplicationSource | undefined>;
  readonly deadlineMs?: number;
};

const nothing = (): void => {};

/** The line of traces, with a bus that stores everything; the application of a token comes from the options. */
export const openLine = ({ receiver, known, lookUp, deadlineMs = 5_000 }: LineOptions) => {
  const parsed = parseTrustedProxies('');
  if ('wrong' in parsed) throw new Error(parsed.wrong);
  const trustedProxies = parsed.proxies;
  const now = performance.now.bind(performance);
  const large = createLargeBodies({ error: nothing });
  const { limits } = pipelines.traces;
  const series = new SeriesGate({ now, onFull: nothing, onHeld: nothing });
  return createOtlpHandler({
    ...{ signal: otlpSignals.traces, receiver, trustedProxies, limits, deadlineMs },
    directory: {
      ...{ isReady: true, identityKey: undefined },
      application: (token) => known.get(token),
      authorizeApplication: async (token) => known.get(token) ?? lookUp(token),
      authorize: async () => undefined,
      source: () => undefined,
      applyRegistry: () => undefined,
      isCredential: () => false,
      takeLastSeen: () => [],
      stop: nothing,
    },
    credentialNames: { headers: [tokenHeader], attributes: [tokenAttribute] },
    read: createReadItems('traces', large, [tokenAttribute], limits.elementsMax, series),
    publisher: { publish: async () => false },
    bases: { isReady: true, boot: 1, take: () => countedBase(1, 0) },
    inFlight: createBytesInFlight(2 ** 30, nothing),
    // Without time no failure expires, however slow the machine is.
    failures: createFailureLimit({ failuresMax: 20, trustedProxies, now: () => 0 }),
    limiter: createRateLimiter(),
    metrics: createIngressMetrics(),
    recorder: {
      ...{ refused: nothing, refusedConnection: nothing, refusedItems: nothing },
      ...{ repeated: nothing, lost: nothing, sample: nothing },
      wants: () => false,
      wantsRefused: () => false,
    },
    usage: { accepted: nothing, acceptedOf: nothing },
    links: noLinks,
    unready: () => undefined,
    now: Date.now,
    maxRateDefault: 0,
  });
};

/** A request of one address in JSON, over a connection of its own. */
export const jsonRequest = (body: unknown, token?: string): IncomingMessage => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' });
  const request = new IncomingMessage(socket);
  request.headers['content-type'] = 'application/json';
  if (token !== undefined) request.headers[tokenHeader] = token;
  request.push(JSON.stringify(body));
  request.push(null);
  return request;
};

/** The status of an answer, over gRPC the one that it would have over HTTP. */
export const statusOf = ({ refused, status }: Reply): number => refused?.status ?? status;

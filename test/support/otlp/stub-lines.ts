import { join } from 'node:path';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { ApplicationSource } from '../../../src/directory/applications.ts';
import type { Directory } from '../../../src/directory/directory.ts';
import { ruleDefaults } from '../../../src/directory/rules.ts';
import { parseTrustedProxies } from '../../../src/http/client-address.ts';
import type { Incoming } from '../../../src/http/incoming.ts';
import { createFailureLimit } from '../../../src/ingress/failures.ts';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import type { Reply } from '../../../src/ingress/http/reply.ts';
import type { BaseCounter } from '../../../src/ingress/identity.ts';
import { createLargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createOtlpHandler } from '../../../src/ingress/otlp/handler.ts';
import type { ItemsPublisher } from '../../../src/ingress/otlp/publish.ts';
import { createReadItems } from '../../../src/ingress/otlp/read.ts';
import { type OtlpPipeline, otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { createRateLimiter } from '../../../src/ingress/rates/limiter.ts';
import { noLinks } from '../../../src/ingress/reason-links.ts';
import type { RefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { SeriesGate } from '../../../src/ingress/series/series-gate.ts';
import { countedBase } from '../../../src/model/uid.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

const pipelines = loadPipelines(join(import.meta.dirname, '../../../pipelines'), 1);

/** The header field and the resource attribute of a token. */
export const tokenHeader = 'x-mon-token';
export const tokenAttribute = 'mon.data.token';

/** An enabled application with the defaults of everything. */
export const applicationOf = (appId: number): ApplicationSource => ({
  ...{ appId, bizId: 2, isEnabled: true, maxRate: 0, deduplicate: false, fillDimensions: false },
  rules: ruleDefaults(pipelines).application,
  identityCredential: undefined,
});

type Find = (token: string) => ApplicationSource | undefined;

/** `known`: applications in memory; `lookUp` reads those that are not. */
export const directoryOf = (
  known: Find,
  lookUp: Directory['authorizeApplication'] = async () => undefined,
): Directory => ({
  ...{ isReady: true, identityKey: undefined, unreadable: undefined },
  application: known,
  authorizeApplication: async (token, isKnown) => known(token) ?? lookUp(token, isKnown),
  authorize: async () => undefined,
  source: () => undefined,
  applyRegistry: () => undefined,
  isCredential: () => false,
  takeLastSeen: () => [],
  stop: () => {},
});

const recorderOf = (refused: RefusalRecorder['refused'] = () => {}): RefusalRecorder => ({
  refused,
  refusedConnection: () => {},
  refusedItems: () => {},
  repeated: () => {},
  lost: () => {},
  wants: () => false,
  wantsRefused: () => false,
  sample: () => {},
});

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

export type StubLinesOptions = {
  readonly directory: Directory;
  readonly onRefused?: RefusalRecorder['refused'];
  /** By default everything is stored. */
  readonly publish?: ItemsPublisher['publish'];
  /** Failures of one address that are let through, for ever; 0 = no limit. */
  readonly failuresMax?: number;
  readonly deadlineMs?: number;
  /** By which bodies are slow, ms. */
  readonly now?: () => number;
};

/** The lines of OTLP with their real readers and limits: all but the directory, the recorder, the stores and the bus. */
export const createStubLines = ({
  directory,
  onRefused,
  publish = async () => false,
  failuresMax = 0,
  deadlineMs = 60_000,
  now,
}: StubLinesOptions) => {
  const parsed = parseTrustedProxies('');
  if ('wrong' in parsed) throw new Error(parsed.wrong);
  const trustedProxies = parsed.proxies;
  const metrics = createIngressMetrics();
  const recorder = recorderOf(onRefused);
  const bases = createBases();
  const large = createLargeBodies({ error: () => {} });
  const inFlight = createBytesInFlight(2 ** 30, () => {}, now);
  const gate = new SeriesGate({
    now: performance.now.bind(performance),
    onFull: () => {},
    onHeld: () => {},
  });
  const shared = {
    ...{ directory, bases, trustedProxies, metrics, recorder, deadlineMs, links: noLinks },
    credentialNames: { headers: [tokenHeader], attributes: [tokenAttribute] },
    publisher: { publish },
    inFlight,
    // Without time no failure expires, however slow the machine is.
    failures: createFailureLimit({ failuresMax, trustedProxies, now: () => 0 }),
    limiter: createRateLimiter(),
    usage: { accepted: () => {}, acceptedOf: () => {} },
    unready: () => undefined,
    now: Date.now,
    maxRateDefault: 0,
  };
  const lineOf = (
    pipeline: OtlpPipeline,
    receiver: 'otlp' | 'grpc',
  ): ((request: Incoming) => Promise<Reply>) => {
    const { limits } = pipelines[pipeline];
    return createOtlpHandler({
      ...shared,
      ...{ receiver, signal: otlpSignals[pipeline], limits },
      read: createReadItems(pipeline, large, [tokenAttribute], limits.elementsMax, gate),
    });
  };
  return { lineOf, gate, inFlight, metrics, recorder, bases, close: () => large.close() };
};

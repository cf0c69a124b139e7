import type { AddressInfo } from 'node:net';
import { createConnectionCount } from '../../../src/http/connections.ts';
import type { Incoming } from '../../../src/http/incoming.ts';
import type { BodyPatience, Certificate, HttpLimits } from '../../../src/http/limited-server.ts';
import type { HandleExport } from '../../../src/ingress/grpc/call.ts';
import { createGrpcServer } from '../../../src/ingress/grpc/server.ts';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import { readBody } from '../../../src/ingress/http/body.ts';
import { refusedReply } from '../../../src/ingress/otlp/refusal.ts';
import { successReply } from '../../../src/ingress/otlp/reply.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { noLinks } from '../../../src/ingress/reason-links.ts';
import type { RefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { Refused } from '../../../src/ingress/refused.ts';
import { countedBase } from '../../../src/model/uid.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

export const messageBytesMax = 65_536;

/** A request as the line got it. */
export type Seen = { readonly request: Incoming; readonly body: Buffer };

export type DoorOptions = {
  readonly limits?: Partial<HttpLimits>;
  readonly connectionsMax?: number;
  readonly ageMsMax?: number;
  readonly tls?: Certificate;
  readonly unready?: () => string | undefined;
  /** By which bodies are slow, ms. */
  readonly now?: () => number;
  /** The answer to a read request; without one it is success. */
  readonly answer?: (seen: Seen) => ReturnType<HandleExport>;
};

/** A receiver over gRPC whose line only reads the bodies. */
export type Door = {
  readonly address: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** Reasons of requests that were refused before the line, and of connections that were ended. */
  readonly refused: readonly string[];
  ended(reason: string): Promise<number>;
  /** Open ones. */
  connections(): Promise<number>;
  drain(patience?: BodyPatience): Promise<void>;
};

const countOf = async (
  counter: ReturnType<typeof createIngressMetrics>['connectionsEnded'],
  reason: string,
): Promise<number> => (await counter.get()).values.find(({ labels }) => labels.reason === reason)?.value ?? 0;

export const openDoor = async (options: DoorOptions = {}): Promise<Door> => {
  const { answer, tls, connectionsMax = 0 } = options;
  const metrics = createIngressMetrics();
  const seen: Seen[] = [];
  const refused: string[] = [];
  const inFlight = createBytesInFlight(2 ** 30, () => {}, options.now);
  const limits = {
    headersTimeoutMs: 0,
    requestTimeoutMs: 0,
    idleTimeoutMs: 0,
    stallTimeoutMs: 0,
    headerBytesMax: 16_384,
    ...options.limits,
  };
  const bodyLimits = {
    bodyBytesMax: messageBytesMax,
    inflatedBytesMax: 4 * messageBytesMax,
    inflateRatioMax: 1000,
  };
  const handle: HandleExport = async (request) => {
    const body = await readBody(request, bodyLimits, inFlight);
    if ('reason' in body) {
      const why =
        body instanceof Refused
          ? body
          : new Refused(body.reason === 'unwanted' ? 'internal' : body.reason, body.detail);
      return refusedReply('protobuf', why);
    }
    body.release();
    const read = { request, body: body.bytes };
    seen.push(read);
    return (await answer?.(read)) ?? successReply('protobuf');
  };
  const recorder: RefusalRecorder = {
    refused: (reason) => refused.push(reason),
    refusedConnection: () => {},
    refusedItems: () => {},
    repeated: () => {},
    lost: () => {},
    wants: () => false,
    wantsRefused: () => false,
    sample: () => {},
  };
  const door = createGrpcServer({
    listening: {
      limits,
      metrics,
      inFlight,
      bases: { isReady: true, boot: 1, take: () => countedBase(1, 0) },
      tls: tls === undefined ? undefined : { ...tls, reload: () => {}, stop: () => {} },
      connections: createConnectionCount({ connectionsMax, addressConnectionsMax: 0, isExempt: () => false }),
    },
    exports: new Map([[otlpSignals.traces.exportPath, { handle, recorder, messageBytesMax }]]),
    recorder,
    connectionAgeMsMax: options.ageMsMax ?? 0,
    unready: options.unready ?? (() => undefined),
    links: noLinks,
    onDefect: () => {},
  });
  await new Promise<void>((resolve) => door.server.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = door.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    address: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    seen,
    refused,
    connections: async () =>
      (await metrics.connections.get()).values.reduce((sum, { value }) => sum + value, 0),
    ended: (reason) => countOf(metrics.connectionsEnded, reason),
    drain: (patience = { laggardsMs: 600_000, allMs: 600_000 }) => door.drain(patience),
  };
};

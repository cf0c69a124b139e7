import { createConnectionCount } from '../../../src/http/connections.ts';
import type { Incoming } from '../../../src/http/incoming.ts';
import { type BodyPatience, drain, type HttpLimits } from '../../../src/http/limited-server.ts';
import type { Reply } from '../../../src/ingress/http/reply.ts';
import type { ItemsPublisher } from '../../../src/ingress/otlp/publish.ts';
import { createOtlpServer } from '../../../src/ingress/otlp/server.ts';
import { type OtlpPipeline, otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { noLinks } from '../../../src/ingress/reason-links.ts';
import { applicationOf, createStubLines, directoryOf, tokenHeader } from './stub-lines.ts';

/** The write token of the one application. */
export const doorToken = 'a'.repeat(32);
export const doorAppId = 7;

const otlpPipelines = ['traces', 'logs', 'otel_metrics'] as const;

export type OtlpDoorOptions = {
  readonly limits?: Partial<HttpLimits>;
  readonly seriesMax?: number;
  readonly publish?: ItemsPublisher['publish'];
  /** By which bodies are slow, ms. */
  readonly now?: () => number;
};

/** A refused request, as it is recorded. */
export type RecordedRefusal = { readonly reason: string; readonly owner: number; readonly items: number };

const doorApplication = (seriesMax: number | undefined) => {
  const application = applicationOf(doorAppId);
  if (seriesMax === undefined) return application;
  const { rules } = application;
  return { ...application, rules: { ...rules, otel_metrics: { ...rules.otel_metrics, seriesMax } } };
};

/** The lines of all signals of OTLP in this process, and their receiver over HTTP: all but the stores and the bus. */
export const openOtlpDoor = async ({ seriesMax, publish, limits, now }: OtlpDoorOptions = {}) => {
  const refused: RecordedRefusal[] = [];
  const application = doorApplication(seriesMax);
  const lines = createStubLines({
    directory: directoryOf((token) => (token === doorToken ? application : undefined)),
    onRefused: (reason, owner = 0, items = 0) => refused.push({ reason, owner, items }),
    ...(publish === undefined ? {} : { publish }),
    ...(now === undefined ? {} : { now }),
  });
  const { metrics, recorder, bases, gate, inFlight } = lines;
  const grpc = new Map(otlpPipelines.map((pipeline) => [pipeline, lines.lineOf(pipeline, 'grpc')]));
  const handled: Promise<unknown>[] = [];
  const server = createOtlpServer(
    otlpPipelines.map((pipeline) => {
      const line = lines.lineOf(pipeline, 'otlp');
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
      ...{ metrics, bases, inFlight, tls: undefined },
      connections: createConnectionCount({
        ...{ connectionsMax: 0, addressConnectionsMax: 0, isExempt: () => false },
      }),
    },
    ...([recorder, [tokenHeader], noLinks] as const),
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
    /** Connections ended, by reason. */
    ended: async (): Promise<Record<string, number>> => {
      const { values } = await metrics.connectionsEnded.get();
      return Object.fromEntries(
        values.filter(({ value }) => value > 0).map(({ labels, value }) => [String(labels.reason), value]),
      );
    },
    post: (pipeline: OtlpPipeline, body: unknown): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${otlpSignals[pipeline].path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': doorToken },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    /** Cuts idle connections at once, and what still arrives later. */
    drain: (patience: BodyPatience): Promise<void> => drain(server, 0, patience),
    /** Resolves once each line is through with its requests, those among them whose connections it ends. */
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.allSettled(handled);
      await lines.close();
    },
  };
};

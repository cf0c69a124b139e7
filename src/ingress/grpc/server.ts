import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { BodyPatience } from '../../http/limited-server.ts';
import { stopping } from '../http/broken-body.ts';
import type { Listening } from '../http/receiver-server.ts';
import type { ReasonLinks } from '../reason-links.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { Refused } from '../refused.ts';
import { ownIdHeaders } from '../request-id.ts';
import { answerHttp, answerStatus } from './answer.ts';
import { createServeCall, type ExportMethod } from './call.ts';
import type { Connection } from './connection.ts';
import { createHealth, healthPaths } from './health.ts';
import { createHttp2Listener, type Http2Listener } from './listener.ts';
import { statusOf } from './status.ts';
import { WaitingCalls } from './waiting-calls.ts';

export type GrpcOptions = {
  readonly listening: Listening;
  /** The export services: their methods by path (`/<service>/Export`). */
  readonly exports: ReadonlyMap<string, ExportMethod>;
  /** Of calls to none of them. */
  readonly recorder: RefusalRecorder;
  /** The longest life of a connection, ms; 0 = no limit. */
  readonly connectionAgeMsMax: number;
  /** Why the receiver can accept nothing now, or undefined. */
  readonly unready: () => string | undefined;
  /** Where to read about the reason of a refusal. */
  readonly links: ReasonLinks;
  readonly onDefect: (error: unknown) => void;
};

/** A receiver over gRPC. */
export type GrpcServer = Pick<Http2Listener, 'server'> & {
  /** As of Http2Listener; messages that have not arrived are refused later, as bodies are over HTTP. */
  drain(patience: BodyPatience): Promise<void>;
};

const name = 'grpc';
const sweepMs = 50;

const serviceOf = (path: string): string => path.slice(1, path.lastIndexOf('/'));

const isGrpc = (contentType: string | undefined): boolean =>
  contentType === 'application/grpc' || /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType ?? '');

/** Longer paths are shown by their beginning. */
const shownPathMax = 100;

const unimplemented = (path: string, known: Iterable<string>): Refused =>
  new Refused(
    'path_unknown',
    `there is no method ${path.slice(0, shownPathMax)}: this receiver has ${[...known].join(', ')}`,
  );

/** The size of header fields, names and values in turn, as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2). */
const sizeOf = (fields: readonly string[]): number => {
  let size = 16 * fields.length;
  for (const text of fields) size += text.length;
  return size;
};

const fieldsMax = 100;

const metadataRefused = (detail: string): Refused => new Refused('protocol_error', detail, { status: 431 });
const tooManyFields = metadataRefused(`the metadata has too many fields: the limit is ${fieldsMax}`);
const tooLargeFields = (most: number): Refused =>
  metadataRefused(`the metadata is too large: the limit is ${most} bytes`);

/** What a call is counted by: the status that the same answer has over HTTP. */
const countAnswers = ({ metrics }: Listening) => {
  const stored = metrics.requests.labels(name, '200');
  const classes = ['2xx', '4xx', '5xx'] as const;
  const [succeeded, refused, failed] = classes.map((each) => metrics.requestSeconds.labels(name, each));
  return (status: number, seconds: number): void => {
    if (status === 200) stored.inc();
    else metrics.requests.inc({ receiver: name, status: String(status) });
    (status < 400 ? succeeded : status < 500 ? refused : failed)?.observe(seconds);
  };
};

/**
 * The receiver of OTLP over gRPC (OTLP/gRPC): unary exports, and the health service. What holds for a request over HTTP holds for a call:
 * limits, refusals, identity, and the answer after the PubAck.
 */
export const createGrpcServer = (options: GrpcOptions): GrpcServer => {
  const { listening, exports, recorder, unready } = options;
  const { metrics, limits, bases } = listening;
  const answered = countAnswers(listening);
  const waiting = new WaitingCalls();
  const health = createHealth({
    waiting,
    services: new Set([...exports.keys()].map(serviceOf)),
    unready,
    links: options.links,
  });
  const call = { ...options, answered, bases, limits: { ...limits, waiting } };
  const methods = new Map([...exports].map(([path, method]) => [path, createServeCall(call, method)]));

  const refuse = (stream: ServerHttp2Stream, refused: Refused): void => {
    recorder.refused(refused.reason);
    answered(refused.status, 0);
    answerStatus(stream, statusOf(refused, options.links), { ...ownIdHeaders(bases), ...refused.headers });
  };

  const serve = async (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    fields: readonly string[],
    connection: Connection,
  ): Promise<void> => {
    const { ':method': method, ':path': path = '', 'content-type': contentType } = headers;
    if (method !== 'POST') return answerHttp(stream, 405, 'gRPC uses POST');
    if (!isGrpc(contentType)) return answerHttp(stream, 415, 'this port speaks gRPC: send application/grpc');
    if (fields.length > 2 * fieldsMax) return refuse(stream, tooManyFields);
    if (sizeOf(fields) > limits.headerBytesMax) return refuse(stream, tooLargeFields(limits.headerBytesMax));
    const serveCall = methods.get(path);
    const { peer } = connection;
    if (serveCall !== undefined) return serveCall(stream, headers, peer);
    if (path === healthPaths.check) return health.check({ stream, headers, peer });
    if (path === healthPaths.watch) return health.watch({ stream, headers, peer }, connection);
    refuse(stream, unimplemented(path, methods.keys()));
  };

  const listener = createHttp2Listener({
    ...listening,
    limits: { ...limits, ageMsMax: options.connectionAgeMsMax },
    events: {
      serve: (stream, headers, fields, connection) =>
        serve(stream, headers, fields, connection).catch(options.onDefect),
      onEnded: (reason) => metrics.connectionsEnded.inc({ receiver: name, reason }),
    },
    onConnections: (by) => metrics.connections.inc({ receiver: name }, by),
  });
  return {
    server: listener.server,
    drain: ({ laggardsMs, allMs }) => {
      health.stop();
      const begunAt = performance.now();
      const sweep = setInterval(() => {
        const since = performance.now() - begunAt;
        if (since >= allMs) waiting.refuseAll(stopping, () => false);
        else if (since >= laggardsMs) {
          const inPace = listening.inFlight.inPace();
          waiting.refuseAll(stopping, (call) => inPace.has(call) || call.isUnread);
        }
      }, sweepMs);
      return listener.drain(laggardsMs).finally(() => clearInterval(sweep));
    },
  };
};

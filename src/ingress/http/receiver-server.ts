import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { awaitsContinue } from '../../http/expect-continue.ts';
import { createLimitedServer, type Limits } from '../../http/limited-server.ts';
import { createPieceCheck } from '../../http/piece-check.ts';
import { type Broken, hostResponse, type ProtocolStatus } from '../../http/protocol-errors.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';
import type { IngressMetrics } from '../../telemetry/ingress-metrics.ts';
import type { BaseCounter } from '../identity.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { type Headers, Refused, retryAfter } from '../refused.ts';
import { idHeaders, idOfDefect, ownIdHeaders } from '../request-id.ts';
import type { BytesInFlight } from './admission.ts';
import { type BrokenBodies, brokenRefusal, createBrokenBodies } from './broken-body.ts';
import { createHotRoute } from './hot-route.ts';
import type { Reply } from './reply.ts';

/** The options of both receivers for listening. */
export type Listening = Limits & {
  readonly metrics: IngressMetrics;
  readonly tls: TlsFiles | undefined;
  /** The ids of requests that never reach the line. */
  readonly bases: BaseCounter;
  readonly inFlight: Pick<BytesInFlight, 'inPace'>;
};

/** The requests of one signal. */
export type Route = {
  readonly paths: readonly string[];
  /** The detail of the refusal of another method than POST. */
  readonly wrongMethod: string;
  /** Answers a POST to one of the paths; rejects for a defect of the program. */
  readonly handle: (request: IncomingMessage) => Promise<Reply>;
  readonly recorder: RefusalRecorder;
};

/** The differences between the two receivers over HTTP. */
export type Receiver = {
  readonly name: 'push' | 'otlp';
  readonly routes: readonly Route[];
  /** The answer to a request that never reaches the line; without `request` where none could be read. */
  readonly refuse: (refused: Refused, request?: IncomingMessage) => Reply;
  /** What a client of HTTP/2, as of gRPC, has to send instead. */
  readonly http2Remedy: string;
  /** Whether its senders send again after a 408. */
  readonly retries408: boolean;
  /** The answer to a defect of the program. */
  readonly defect: Refused;
  /** Header fields of every answer. */
  readonly headers: Headers;
  /** Header fields of the answer to OPTIONS, where the receiver allows it. */
  readonly preflight?: Headers;
};

type Env = { Bindings: HttpBindings };

/** How long the receiver reads the rest of a body that it refused before its end. */
const restMs = 10_000;

/**
 * Resolves once the body has arrived, or its sender has disconnected, is too slow or sends pieces that are too short. A connection that must close is closed with
 * the answer: a close in mid-body would cost the sender the answer.
 */
const bodyIsThere = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, restMs);
    const isTooFine = createPieceCheck();
    const onData = ({ length }: Buffer): void => {
      if (isTooFine(length)) done();
    };
    function done(): void {
      clearTimeout(timer);
      request.off('data', onData).off('end', done).off('close', done).off('error', done);
      resolve();
    }
    request.on('data', onData).once('end', done).once('close', done).once('error', done).resume();
  });

/** Whether the rest of the body comes: a client may wait for 100 Continue before it sends any, but it need not. */
const isOnItsWay = (request: IncomingMessage): boolean =>
  !request.complete && (request.readableLength > 0 || !awaitsContinue(request));

const write = (
  response: ServerResponse,
  { status, contentType, headers, body }: Reply,
  fixed: readonly string[],
): void => {
  const length = String(Buffer.byteLength(body));
  const fields = ['Content-Type', contentType, ...fixed, ...Object.entries(headers).flat()];
  response.writeHead(status, [...fields, 'Content-Length', length]);
  // Without a body, `end` alone sends the head, in one piece.
  if (body.length === 0) response.end();
  else response.end(body);
};

/** Of a request that breaks off, also while the rest of its body is awaited, the server takes the answer and writes it. */
const send = async (
  { incoming, outgoing }: HttpBindings,
  reply: Reply,
  fixed: readonly string[],
  brokenBodies: BrokenBodies,
): Promise<void> => {
  if (brokenBodies.take(incoming, reply)) return;
  if (!outgoing.shouldKeepAlive && isOnItsWay(incoming)) {
    await bodyIsThere(incoming);
    if (brokenBodies.take(incoming, reply)) return;
  }
  write(outgoing, reply, fixed);
};

/**
 * The status that an answer counts with. A 503 to a body that did not arrive in time is the fault of its sender or of the network: among
 * the errors of the server, any client could raise their alarm.
 */
const countedStatus = ({ status, refused }: Reply): string =>
  status === 503 && refused?.reason === 'protocol_error' ? 'late_body' : String(status);

/** Gives every answer of a receiver its counters and its header fields. */
const createAnswers = (
  { name, refuse, headers }: Receiver,
  { metrics, bases }: Listening,
  brokenBodies: BrokenBodies,
) => {
  const stored = metrics.requests.labels(name, '200');
  const classes = ['2xx', '4xx', '5xx'] as const;
  const [succeeded, refused, failed] = classes.map((each) => metrics.requestSeconds.labels(name, each));
  const secondsOf = (status: number) => (status < 400 ? succeeded : status < 500 ? refused : failed);
  const fixed = Object.entries(headers).flat();
  const count = (reply: Reply): void => {
    if (reply.status === 200) stored.inc();
    else metrics.requests.inc({ receiver: name, status: countedStatus(reply) });
  };
  return {
    /** The counted answer to a request that never reaches the line. */
    refusal: (recorder: RefusalRecorder, refused: Refused, request?: IncomingMessage): Reply => {
      recorder.refused(refused.reason);
      const reply = refuse(refused, request);
      count(reply);
      return { ...reply, headers: { ...ownIdHeaders(bases), ...reply.headers } };
    },
    count,
    /** `startedAt`: ms of `performance.now()`. */
    time: ({ status }: Reply, startedAt: number): void => {
      secondsOf(status)?.observe((performance.now() - startedAt) / 1000);
    },
    send: async (env: HttpBindings, reply: Reply): Promise<Response> => {
      await send(env, reply, fixed, brokenBodies);
      return RESPONSE_ALREADY_SENT;
    },
  };
};

type Answers = ReturnType<typeof createAnswers>;

/** Answers a POST to a path of a route. */
const createPost =
  (
    { handle, recorder }: Route,
    { defect }: Receiver,
    { count, time, refusal, send: reply }: Answers,
    onDefect: (error: unknown) => void,
  ) =>
  async (env: HttpBindings): Promise<Response> => {
    const startedAt = performance.now();
    const answer = await handle(env.incoming).then(
      (answered) => {
        count(answered);
        return answered;
      },
      (error: unknown) => {
        onDefect(error);
        const reply = refusal(recorder, defect, env.incoming);
        return { ...reply, headers: { ...reply.headers, ...idHeaders(idOfDefect(error)) } };
      },
    );
    time(answer, startedAt);
    return reply(env, answer);
  };

type Post = ReturnType<typeof createPost>;

/** `recorder`: of requests to no path of the receiver. */
const createRoutes = (
  { routes, headers, preflight }: Receiver,
  { refusal, send: reply }: Answers,
  posts: ReadonlyMap<string, Post>,
  recorder: RefusalRecorder,
): Hono<Env> => {
  const allow = { Allow: preflight === undefined ? 'POST' : 'POST, OPTIONS' };
  const app = new Hono<Env>({ strict: true });
  for (const { paths, wrongMethod, recorder: own } of routes) {
    const refused = new Refused('method_not_allowed', wrongMethod, { headers: allow });
    for (const path of paths) {
      const post = posts.get(path);
      if (preflight !== undefined)
        app.options(path, (c) => c.body(null, 204, { ...headers, ...preflight, ...allow }));
      if (post !== undefined) app.post(path, ({ env }) => post(env));
      app.all(path, ({ env }) => reply(env, refusal(own, refused, env.incoming)));
    }
  }
  app.notFound(({ env }) => reply(env, refusal(recorder, new Refused('path_unknown'), env.incoming)));
  return app;
};

/**
 * A receiver's HTTP server: its routes, and an answer in the receiver's own form to every other request over HTTP. Answers are
 * written to the raw response: no body is copied or buffered twice. No client holds more than its limits, and every connection that
 * is closed for a limit is counted by reason. `recorder` takes what belongs to no route.
 */
export const createReceiverServer = (
  receiver: Receiver,
  listening: Listening,
  recorder: RefusalRecorder,
  onDefect: (error: unknown) => void,
): Server => {
  const { name, routes, headers } = receiver;
  const { metrics } = listening;
  const brokenBodies = createBrokenBodies();
  const answers = createAnswers(receiver, listening, brokenBodies);
  const posts = new Map(
    routes.flatMap((route) => {
      const post = createPost(route, receiver, answers, onDefect);
      return route.paths.map((path) => [path, post]);
    }),
  );
  const hotPost = createHotRoute(posts);
  const contentOf = ({ status, body, contentType, headers: own }: Reply) => ({
    ...{ status, body },
    headers: { 'Content-Type': contentType, ...headers, ...own },
  });
  const refusedContent = (refused: Refused, request?: IncomingMessage) =>
    contentOf(answers.refusal(recorder, refused, request));
  const brokenOf = (status: ProtocolStatus, broken: Broken) =>
    brokenRefusal(status, broken, listening.limits, receiver.retries408);
  const protocolAnswer = (status: ProtocolStatus, broken: Broken = {}) =>
    refusedContent(brokenOf(status, broken), broken.request);
  const routed = getRequestListener(createRoutes(receiver, answers, posts, recorder).fetch, {
    overrideGlobalObjects: false,
    // Node reads a refused body to its end: a close in mid-body would cost the sender the answer.
    autoCleanupIncoming: false,
    errorHandler: () => hostResponse(protocolAnswer),
  });
  return createLimitedServer(
    {
      listener: (incoming, outgoing) => {
        const post = hotPost(incoming);
        return post === undefined ? routed(incoming, outgoing) : post({ incoming, outgoing });
      },
      protocolAnswer,
      breakOff: (request, status, fault) =>
        brokenBodies.end(request, brokenOf(status, { fault, request }))?.then(contentOf),
      overloadAnswer: (request) =>
        refusedContent(
          new Refused('not_stored', 'too many connections', { headers: retryAfter(2) }),
          request,
        ),
      http2Answer: (address) => {
        const text = `this port takes HTTP/1.1, not HTTP/2 or gRPC: ${receiver.http2Remedy}`;
        recorder.refusedConnection('protocol_error', address, text);
        return text;
      },
      awaited: () => {
        const inPace = listening.inFlight.inPace();
        // A body that nobody reads has no sender to judge so far: its credential is being looked up.
        return (request) => inPace.has(request) || request.listenerCount('error') === 0;
      },
      holdsContinue: true,
      onEnded: (reason) => metrics.connectionsEnded.inc({ receiver: name, reason }),
      onConnections: (by) => metrics.connections.inc({ receiver: name }, by),
    },
    listening,
  );
};

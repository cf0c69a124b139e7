import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions, TlsOptions } from 'node:tls';
import type { ConnectionCount } from './connections.ts';
import { holdContinue } from './expect-continue.ts';
import { endHandshakes, followHandshakes, type OnFailedHandshake } from './handshakes.ts';
import { createOpenRequests, type OpenRequests } from './open-requests.ts';
import { createPieceCheck } from './piece-check.ts';
import {
  answerProtocolErrors,
  type Broken,
  endAfterAnswers,
  endWith,
  type Http2Answer,
  type OverloadAnswer,
  type ProtocolAnswers,
  type ProtocolStatus,
} from './protocol-errors.ts';
import { isNormalTarget, unknownTarget } from './request-target.ts';
import { createRoom, type Room } from './room.ts';

/** Limits of each connection. Times in ms; 0 = no limit. */
export type HttpLimits = {
  /** Until a request header is complete. */
  readonly headersTimeoutMs: number;
  /** Until the body is complete too. */
  readonly requestTimeoutMs: number;
  /** Between requests. */
  readonly idleTimeoutMs: number;
  /** Without a byte in either direction during a request or its answer. */
  readonly stallTimeoutMs: number;
  /** The same until the answer to a kept request (see `keepConnection`) is sent; without it, as for any other. */
  readonly keptStallTimeoutMs?: number;
  readonly headerBytesMax: number;
};

/** A certificate, and a subscription to its renewals. */
export type Certificate = {
  readonly options: TlsOptions;
  onChange(listener: (context: SecureContextOptions) => void): void;
  readonly onFailedHandshake?: OnFailedHandshake;
};

/** The limits of a server and its callbacks. */
export type Limits = {
  readonly limits: HttpLimits;
  readonly connections: ConnectionCount;
  /** undefined: plain HTTP. */
  readonly tls?: Certificate | undefined;
};

export type LimitedServer = ProtocolAnswers & {
  readonly listener: RequestListener;
  readonly overloadAnswer: OverloadAnswer;
  /** Without it, HTTP/2 is answered like any malformed request. */
  readonly http2Answer?: Http2Answer;
  /** While the server ends: whether a body that still arrives may go on. Without it, each may. */
  readonly awaited?: () => (request: IncomingMessage) => boolean;
  /** The listener itself requests the body (see `sendContinue`); without it, every client gets 100 at once. */
  readonly holdsContinue?: true;
  /** A connection too many takes the place of the oldest that is not kept (see `keepConnection`), as long as there is one. */
  readonly makesRoom?: true;
  /** A client that ends its side ends its requests: nobody waits for their answers. Without it, they are answered. */
  readonly endsWithClient?: true;
  /** Requests of one connection without an answer: one more ends it, behind their answers. */
  readonly openRequestsMax?: number;
  /** Called for each connection that the server refuses or ends, with the reason. */
  readonly onEnded?: (reason: string) => void;
  /** Called for each connection that opens (1) and closes (-1). */
  readonly onConnections?: (by: 1 | -1) => void;
};

/** How each server ends. */
type Ending = {
  /** From now on the last answer of each connection says that it is the last. */
  readonly tell: () => void;
  /** Ends all that still arrives and is not awaited, and with `isLast` the bodies that are, too. */
  readonly endArriving: (isLast: boolean) => void;
};
const endings = new WeakMap<Server, Ending>();

/** How long a server that ends waits for bodies, in ms after the cut of idle connections. */
export type BodyPatience = {
  /** For those that its owner does not await, and for headers. */
  readonly laggardsMs: number;
  readonly allMs: number;
};

export const bodyPatience: BodyPatience = { laggardsMs: 1_000, allMs: 10_000 };

const sweepMs = 50;

/** Pipelining by hand or by a bench stays far below. */
const openRequestsMaxDefault = 128;
/** How long the rest of a refused body is read, so that its sender can read the answer. */
const discardMs = 10_000;

const optionsOf = ({ headersTimeoutMs, requestTimeoutMs, ...limits }: HttpLimits): ServerOptions => {
  const times = [headersTimeoutMs, requestTimeoutMs].filter((time) => time > 0);
  return {
    // Node takes no header timeout that is longer than the one of the request.
    headersTimeout: requestTimeoutMs > 0 ? Math.min(headersTimeoutMs, requestTimeoutMs) : headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.max(50, Math.min(1000, ...times.map((time) => time / 4))),
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.headerBytesMax,
    // The adapter handles a missing Host, with an answer of Tidemark's form.
    requireHostHeader: false,
  };
};

const createHttpServer = (
  limits: HttpLimits,
  tls: Certificate | undefined,
  serve: RequestListener,
): Server => {
  const options = optionsOf(limits);
  if (tls === undefined) return createServer(options, serve);
  const server = createTlsServer({ ...options, ...tls.options }, serve);
  // Open connections continue with the certificate that they began with.
  tls.onChange((context) => server.setSecureContext(context));
  followHandshakes(server, tls.onFailedHandshake);
  return server;
};

/** The number of Host fields of a request: with two, a proxy and this server could read different ones. */
const hostsOf = ({ rawHeaders }: IncomingMessage): number => {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts;
};

/** Whether a body is in a coding beside chunks: Node reads the chunks, and takes what is coded for the body. */
const isCoded = ({ headers }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.trim().toLowerCase() !== 'chunked';
};

const answerAndClose = (
  response: ServerResponse,
  status: number,
  { body, headers }: ReturnType<OverloadAnswer>,
): void => {
  response.writeHead(status, { ...headers, Connection: 'close', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
};

/** A target in absolute form with its scheme in lower case, as the adapter reads it (RFC 9110 section 4.2.3). */
const withLowerScheme = (target: string): string => {
  const end = target.startsWith('/') ? 0 : target.indexOf(':');
  return end > 0 ? target.slice(0, end).toLowerCase() + target.slice(end) : target;
};

/** Gives a request a target of normal form. Nearly all requests of a port have one target, which is checked once. */
const createTargetCheck = (): ((request: IncomingMessage) => void) => {
  let lastTarget: string | undefined;
  return (request) => {
    const { url = '' } = request;
    if (url === lastTarget) return;
    lastTarget = isNormalTarget(url) ? withLowerScheme(url) : undefined;
    request.url = lastTarget ?? unknownTarget;
  };
};

/** Reads on for a while after an answer before the end of the body, then ends the connection; at once where its pieces cost too much. */
const endUnreadBody = (
  request: IncomingMessage,
  response: ServerResponse,
  ended: (reason: string) => void,
): void => {
  const { socket } = request;
  // Before Node sees that the answer is complete: it drops a body that nobody has asked for, uncounted.
  response.once('prefinish', () => {
    if (request.complete) return;
    const end = (): void => {
      if (request.complete || socket.destroyed) return;
      ended('body_refused');
      socket.destroy();
    };
    const timer = setTimeout(end, discardMs).unref();
    const isTooFine = createPieceCheck();
    request
      .on('data', ({ length }: Buffer) => {
        if (isTooFine(length)) end();
      })
      .once('close', () => clearTimeout(timer));
  });
};

/** Calls the listener with requests that are within their limits, and answers the others. */
const createServe = (
  { listener, protocolAnswer, overloadAnswer, openRequestsMax = openRequestsMaxDefault }: LimitedServer,
  room: Room,
  open: OpenRequests,
  ended: (reason: string) => void,
): RequestListener => {
  const checkTarget = createTargetCheck();
  /** Connections that end with the answer to a request that is refused here. */
  const ending = new WeakSet<Socket>();
  /** Connections that end behind the answers to as many requests as one may have open. */
  const full = new WeakSet<Socket>();
  const refuse = (response: ServerResponse, broken: Broken & { request: IncomingMessage }): void => {
    ending.add(broken.request.socket);
    answerAndClose(response, 400, protocolAnswer(400, broken));
  };
  return (request, response) => {
    const { socket } = request;
    // This request arrived in the same read as the error that closed the connection, or behind a request that may end elsewhere.
    if (socket.destroyed || ending.has(socket)) return;
    if (full.has(socket)) {
      // It came in the same read, or an earlier request went on reading its body.
      socket.pause();
      return;
    }
    if (room.isRefused(socket)) return answerAndClose(response, 503, overloadAnswer(request));
    if (hostsOf(request) > 1) return refuse(response, { request });
    if (isCoded(request)) return refuse(response, { fault: 'transfer_encoding', request });
    checkTarget(request);
    // HTTP/1.0 has no Host, and the adapter accepts no request without one.
    if (request.httpVersionMinor === 0) request.headers.host ??= 'localhost';
    if (open.count(socket) >= openRequestsMax) {
      ended('pipelined');
      full.add(socket);
      socket.pause();
      endAfterAnswers(socket, open, () => void socket.end());
      return;
    }
    open.add(request, response);
    room.begin(request, response);
    endUnreadBody(request, response, ended);
    listener(request, response);
  };
};

type End = (
  socket: Duplex,
  reason: string,
  status: ProtocolStatus | undefined,
  fault?: Broken['fault'],
) => void;

/** The open connections, as requests name them. */
const followSockets = (server: Server, tls: Certificate | undefined): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
};

const createEndArriving =
  (sockets: ReadonlySet<Socket>, open: OpenRequests, { awaited }: LimitedServer, end: End) =>
  (isLast: boolean): void => {
    const isAwaited = isLast ? () => false : (awaited?.() ?? (() => true));
    for (const socket of sockets) {
      if (!socket.writable || open.isEnding(socket)) continue;
      const request = open.unread(socket);
      if (request !== undefined) {
        if (!isAwaited(request)) end(socket, 'request_timeout', 503, 'stopping');
      } else if (open.count(socket) > 0) continue;
      else if (open.isInBody(socket)) end(socket, 'body_refused', 503);
      else end(socket, 'header_timeout', 503, 'stopping');
    }
  };

/**
 * An HTTP server, plain or over TLS, that limits each client: for every connection that it ends, it reports the reason
 * to the owner and, where an answer can still be read, sends one in the owner's form. A request whose target has no
 * normal form reaches the listener as one for an unknown path.
 */
export const createLimitedServer = (owner: LimitedServer, { limits, connections, tls }: Limits): Server => {
  const { holdsContinue, makesRoom, endsWithClient, onEnded: ended = () => {}, onConnections } = owner;
  const open = createOpenRequests();
  const { stallTimeoutMs, keptStallTimeoutMs = stallTimeoutMs } = limits;
  const room = createRoom(connections, makesRoom && keptStallTimeoutMs, ended);
  const serve = createServe(owner, room, open, ended);
  const end: End = (socket, reason, status, fault) => {
    ended(reason);
    endWith(socket, status, open, owner, fault);
  };

  const server = createHttpServer(limits, tls, serve);
  const sockets = followSockets(server, tls);
  server.maxHeadersCount = 0;
  // A client that ends its side after the request has stored something, and waits for the answer.
  Object.assign(server, { httpAllowHalfOpen: endsWithClient !== true });
  server.timeout = stallTimeoutMs;

  server.on('connection', (socket: Socket) => {
    onConnections?.(1);
    socket.once('close', () => onConnections?.(-1));
    room.admit(socket);
  });
  if (holdsContinue)
    server.on('checkContinue', (request, response) => {
      holdContinue(request, response);
      serve(request, response);
    });
  server.on('connect', (_request, socket) => {
    end(socket, 'malformed', 400);
  });
  server.on('timeout', (socket: Socket) => {
    const requests = open.count(socket);
    const isInBody = open.isInBody(socket);
    if (open.isEnding(socket)) socket.destroy();
    else if (!open.hasServed(socket)) end(socket, 'header_timeout', 408, 'stalled');
    else if (requests === 0) end(socket, 'idle', undefined);
    // Earlier responses are still unread, so the client would never see a 408.
    else end(socket, 'stalled', isInBody && requests === 1 ? 408 : undefined, 'stalled');
  });
  answerProtocolErrors(server, owner, open, ended, owner.http2Answer);
  endings.set(server, {
    tell: open.endWithAnswers,
    endArriving: createEndArriving(sockets, open, owner, end),
  });
  return server;
};

/**
 * Ends a server so that no client is surprised: it accepts no more connections, and each one that is open gets `Connection: close`
 * with its next answer. HTTP has no other way to tell a client, so a connection without a request is kept for `idleMs`, then cut.
 * A body that still arrives later is refused: slow ones would take all the time that the process has to stop, while nobody listens.
 * Resolves when every connection is closed.
 */
export const drain = (
  server: Server,
  idleMs: number,
  { laggardsMs, allMs }: BodyPatience = bodyPatience,
): Promise<void> =>
  new Promise((resolve) => {
    let sweep: NodeJS.Timeout | undefined;
    const ending = endings.get(server);
    ending?.tell();
    const cutsAt = performance.now() + idleMs;
    const cut = setTimeout(() => {
      endHandshakes(server);
      server.closeIdleConnections();
      // A connection that is busy now is closed once it is idle: an answer of before may have promised to keep it.
      sweep = setInterval(() => {
        server.closeIdleConnections();
        const since = performance.now() - cutsAt;
        if (since >= Math.min(laggardsMs, allMs)) ending?.endArriving(since >= allMs);
      }, sweepMs);
    }, idleMs);
    // Not the close of an HTTP server, which cuts idle connections at once.
    NetServer.prototype.close.call(server, () => {
      clearTimeout(cut);
      clearInterval(sweep);
      // Ends its timer for slow headers, too.
      server.close();
      resolve();
    });
  });

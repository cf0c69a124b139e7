import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { endHandshakes, followHandshakes } from '../../http/handshakes.ts';
import { refuseHttp2 } from '../../http/http2-refusal.ts';
import type { Certificate, Limits } from '../../http/limited-server.ts';
import { isProxyHeader, proxyHeaderText } from '../../http/proxy-header.ts';
import { type Carrier, carrierOf } from './carrier.ts';
import {
  Connection,
  type ConnectionEvents,
  type ConnectionLimits,
  callsMax,
  cutLater,
  EndedHere,
  resetBurst,
  resetsPerSecond,
} from './connection.ts';

/** What a client may send before it waits: less starves large messages on long ways. */
const windowBytes = 2 ** 20;
const connectionWindowBytes = 4 * 2 ** 20;
/**
 * What Node and nghttp2 take of a block of header fields: above the limits of the receiver, which answers with a status, where these
 * only reset the call. nghttp2 takes no name or value above 64 KiB. Until the client has acknowledged SETTINGS, the number of fields alone
 * bounds a block, which may repeat a long field by one byte each time.
 */
const headerBlockBytesMin = 65_536;
const headerPairsMax = 256;
/** Memory of Node for one connection, in MB; above it new calls are refused. */
const sessionMegabytesMax = 16;
/** Beyond it Node ends a connection itself, with INTERNAL_ERROR: it is for resets that come faster than a Connection counts them. */
const nodeResetsShare = 10;

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Bytes of the preface that no method of HTTP/1 begins with. */
const tellingBytes = 'PRI'.length;
const sweepMsMax = 1000;

export type ListenerOptions = Omit<Limits, 'limits'> & {
  readonly limits: ConnectionLimits & { readonly headerBytesMax: number };
  readonly events: ConnectionEvents;
  /** Called for each connection that opens (1) and closes (-1). */
  readonly onConnections: (by: 1 | -1) => void;
};

/** A port for HTTP/2, plain or over TLS. */
export type Http2Listener = {
  readonly server: Server;
  /**
   * Accepts no more connections, and ends those that are open without losing a call: a client has `noticeMs` to read that its
   * connection ends. Resolves when every connection is closed.
   */
  drain(noticeMs: number): Promise<void>;
};

const otherProtocol = JSON.stringify({
  code: 3,
  message: 'this port speaks gRPC over HTTP/2: send OTLP/HTTP to the port of the trace receiver over HTTP',
});

/** The answer to a request over HTTP/1. */
const otherProtocolAnswer = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${otherProtocol.length}\r\n\r\n${otherProtocol}`;

/** The beginning of a request over HTTP/1: a method, and a target in one of its forms. */
const requestLine = /^[A-Z]+ (\/|\*|https?:)/;

const beginsHttp2 = (first: Buffer): boolean => {
  const length = Math.min(first.length, preface.length);
  return first.subarray(0, length).equals(preface.subarray(0, length));
};

/** Ends a connection that is none of HTTP/2; a client of HTTP/1 gets an answer. */
const refuseOther = (socket: Socket, first: Buffer): void => {
  if (isProxyHeader(first)) {
    // The client behind the proxy shows the text to its user.
    socket.resume();
    refuseHttp2(socket, proxyHeaderText);
    cutLater(socket);
    return;
  }
  if (!requestLine.test(first.subarray(0, 32).toString('latin1'))) {
    socket.destroy();
    return;
  }
  // Bytes that nobody reads would cost the client the answer.
  socket.resume();
  socket.end(otherProtocolAnswer, () => socket.destroySoon());
};

const reasons = new Map([
  ['ERR_HTTP2_ERROR', 'malformed'],
  ['ERR_HTTP2_SESSION_ERROR', 'malformed'],
  ['ERR_HTTP2_TOO_MANY_INVALID_FRAMES', 'flood'],
]);

/** nghttp2's code for a frame that breaks the protocol. */
const protocolErrno = -505;

/**
 * The last frame of a client of grpc-go is a GOAWAY that nghttp2 takes from servers only, and reports as any other wrong frame. It comes
 * where all calls have been answered, so that such an error costs nobody anything.
 */
const isFarewell = (connection: Connection, error: NodeJS.ErrnoException): boolean =>
  error.code === 'ERR_HTTP2_ERROR' && error.errno === protocolErrno && connection.isAfterCalls(error);

/** Why the receiver ends a connection after an error of HTTP/2. */
const reasonOf = ({ code = '' }: NodeJS.ErrnoException): string => reasons.get(code) ?? 'reset';

const openSession = ({ stream }: Carrier, headerBytesMax: number): ServerHttp2Session => {
  const session = performServerHandshake(stream, {
    settings: {
      maxConcurrentStreams: callsMax,
      initialWindowSize: windowBytes,
      maxHeaderListSize: Math.max(headerBlockBytesMin, 2 * headerBytesMax),
    },
    maxHeaderListPairs: headerPairsMax,
    maxSessionMemory: sessionMegabytesMax,
    maxSessionInvalidFrames: callsMax,
    maxSessionRejectedStreams: callsMax,
    streamResetBurst: nodeResetsShare * resetBurst,
    streamResetRate: nodeResetsShare * resetsPerSecond,
  });
  session.setLocalWindowSize(connectionWindowBytes);
  return session;
};

const sweepMsOf = ({ headersTimeoutMs, idleTimeoutMs, ageMsMax }: ConnectionLimits): number => {
  const times = [headersTimeoutMs, idleTimeoutMs, ageMsMax].filter((time) => time > 0);
  return Math.max(50, Math.min(sweepMsMax, ...times.map((time) => time / 4)));
};

/** The connections that this port has, from their first byte on. */
const createConnections = ({ limits, events }: ListenerOptions) => {
  const open = new Set<Connection>();
  /** Sockets whose first bytes have not come so far, and when they came. */
  const silent = new Map<Socket, number>();
  let endsBy: number | undefined;

  const sweep = (): void => {
    const now = performance.now();
    for (const connection of open) connection.sweep(now, limits);
    if (limits.headersTimeoutMs === 0) return;
    for (const [socket, since] of silent) {
      if (now - since <= limits.headersTimeoutMs) break;
      events.onEnded('header_timeout');
      silent.delete(socket);
      socket.destroy();
    }
  };
  const timer = setInterval(sweep, sweepMsOf(limits)).unref();

  const start = (socket: Socket): void => {
    const carrier = carrierOf(socket);
    const session = openSession(carrier, limits.headerBytesMax);
    const connection = new Connection(session, socket, carrier, limits, events);
    open.add(connection);
    session.on('error', (error) => {
      if (!(error instanceof EndedHere || isFarewell(connection, error))) events.onEnded(reasonOf(error));
      cutLater(socket);
    });
    session.once('close', () => {
      open.delete(connection);
      cutLater(socket);
    });
    if (endsBy !== undefined) connection.end(endsBy - performance.now());
  };

  /** Looks at the first bytes: a client of HTTP/1 gets an answer that it understands. Returns those of which more have to come. */
  const look = (socket: Socket, begun: Buffer): Buffer => {
    const read: Buffer | null = socket.read();
    if (read === null) return begun;
    const first = begun.length === 0 ? read : Buffer.concat([begun, read]);
    const isHttp2 = beginsHttp2(first);
    if (isHttp2 && first.length < tellingBytes) return first;
    silent.delete(socket);
    socket.removeAllListeners('readable');
    if (isHttp2) {
      socket.unshift(first);
      start(socket);
    } else {
      events.onEnded('malformed');
      refuseOther(socket, first);
    }
    return first;
  };

  return {
    accept: (socket: Socket): void => {
      if (socket.destroyed) return;
      socket.on('error', () => {});
      silent.set(socket, performance.now());
      socket.once('close', () => silent.delete(socket));
      let begun: Buffer = Buffer.alloc(0);
      socket.on('readable', () => {
        begun = look(socket, begun);
      });
    },
    endAll: (withinMs: number): void => {
      endsBy = performance.now() + withinMs;
      for (const socket of silent.keys()) socket.destroy();
      for (const connection of open) connection.end(withinMs);
    },
    stop: (): void => clearInterval(timer),
  };
};

const createNetServer = (
  tls: Certificate | undefined,
  accept: (socket: Socket) => void,
  onHandshakeError: () => void,
): Server => {
  if (tls === undefined) return createServer({ noDelay: true }, accept);
  const options = { ...tls.options, ALPNProtocols: ['h2', 'http/1.1'], noDelay: true };
  const server = createTlsServer(options, accept);
  server.on('tlsClientError', onHandshakeError);
  // Open connections continue with the certificate that they began with.
  tls.onChange((context) => server.setSecureContext(context));
  followHandshakes(server, tls.onFailedHandshake);
  return server;
};

/** Listens for gRPC: each connection within its limits, each that is ended for one of them counted by reason. */
export const createHttp2Listener = (options: ListenerOptions): Http2Listener => {
  const { connections, tls, events, onConnections } = options;
  const all = createConnections(options);
  const count = (socket: Socket): void => {
    onConnections(1);
    socket.once('close', () => onConnections(-1));
    socket.on('error', () => {});
    const admission = connections.admit(socket);
    if (admission.kind === 'taken') return;
    // To a client of gRPC a closed connection is UNAVAILABLE: it tries again after a time of its own.
    events.onEnded(admission.reason);
    socket.destroy();
  };
  const server = createNetServer(tls, all.accept, () => events.onEnded('tls_handshake'));
  server.prependListener('connection', count);
  return {
    server,
    drain: (noticeMs) =>
      new Promise((resolve) => {
        server.close(() => {
          all.stop();
          resolve();
        });
        endHandshakes(server);
        all.endAll(noticeMs);
      }),
  };
};

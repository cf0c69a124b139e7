import { type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http2PrefaceCode, refuseHttp2 } from './http2-refusal.ts';
import type { OpenRequests } from './open-requests.ts';
import { isProxyHeader } from './proxy-header.ts';
import { isTlsRecord } from './tls-record.ts';

/** Statuses for bytes that are not a request for any route; 503 for a body that the server does not wait for while it stops. */
export type ProtocolStatus = 400 | 408 | 417 | 431 | 503;

type Content = {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
};

type Answer = Content & { readonly status: number };

/** What is known of such bytes: why they are refused, and the request whose head was read before them. */
export type Broken = {
  readonly fault?:
    | WireFault
    | 'stalled'
    | 'expectation'
    | 'proxy_header'
    | 'tls_on_plain_port'
    | 'transfer_encoding'
    | 'stopping'
    | 'unknown_method'
    | undefined;
  readonly request?: IncomingMessage | undefined;
};

/** The answer of a receiver to bytes that are not a request: body and headers of a status. */
export type ProtocolAnswer = (status: ProtocolStatus, broken?: Broken) => Content;

/** How a server answers bytes that are not a request. */
export type ProtocolAnswers = {
  readonly protocolAnswer: ProtocolAnswer;
  /**
   * Tells the reader of a body that it breaks off, so that the request is refused once, and by what is known of it. Resolves with its
   * answer; undefined where nobody reads it now.
   */
  readonly breakOff?: (
    request: IncomingMessage,
    status: ProtocolStatus,
    fault: Broken['fault'],
  ) => Promise<Answer> | undefined;
};

/** The 503 of a receiver to a request on a connection beyond the limit. */
export type OverloadAnswer = (request: IncomingMessage) => Content;

/** Why received bytes end a connection; a label of metrics. */
export type WireFault =
  | 'header_timeout'
  | 'request_timeout'
  | 'header_too_large'
  | 'malformed'
  | 'http2'
  | 'tls_handshake'
  | 'reset';

/** Time for a client to read its last answer before its connection is closed, in ms. */
const lingerMs = 2000;
/** Time for the answers due before it, in ms: longer than any of them takes. */
const answersMs = 15_000;

/** Of Node, where a client ends its side before the end of a request. */
const endedCode = 'HPE_INVALID_EOF_STATE';

/** Of Node, where a request begins with no method that its parser knows. */
const unknownMethodCode = 'HPE_INVALID_METHOD';

/** What the first bytes of a connection are instead of a request; undefined where they are not known. */
const beginningOf = (first: Buffer | undefined): Broken['fault'] => {
  if (isProxyHeader(first)) return 'proxy_header';
  return isTlsRecord(first) ? 'tls_on_plain_port' : undefined;
};

/** The fault for an error of Node. `isInRequest`: a header was complete, the body was not. */
export const wireFaultOf = (code: string | undefined, isInRequest: boolean): WireFault => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return isInRequest ? 'request_timeout' : 'header_timeout';
  if (code === 'HPE_HEADER_OVERFLOW') return 'header_too_large';
  if (code === http2PrefaceCode) return 'http2';
  if (code === endedCode && isInRequest) return 'reset';
  if (code?.startsWith('HPE_') === true) return 'malformed';
  return code?.startsWith('ERR_SSL') === true || code?.includes('_TLS_') === true ? 'tls_handshake' : 'reset';
};

const statuses: Readonly<Record<WireFault, ProtocolStatus | undefined>> = {
  header_timeout: 408,
  request_timeout: 408,
  header_too_large: 431,
  malformed: 400,
  http2: 400,
  tls_handshake: undefined,
  reset: undefined,
};

const writeRaw = (socket: Duplex, { status, body, headers }: Answer): void => {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries({
      ...headers,
      Date: new Date().toUTCString(),
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    }).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.end(body);
};

const cutAfter = (socket: Duplex, ms: number): void => {
  const timer = setTimeout(() => socket.destroy(), ms).unref();
  socket.once('close', () => clearTimeout(timer));
};

/** Calls `end` once the answers that are due on a connection are sent, and cuts it where its client does not read them, or goes on. */
export const endAfterAnswers = (
  socket: Duplex,
  open: OpenRequests,
  end: (isAnswered: boolean) => void | Promise<void>,
): void => {
  cutAfter(socket, answersMs);
  open.afterAnswers(socket, async (isAnswered) => {
    await end(isAnswered);
    cutAfter(socket, lingerMs);
  });
};

/**
 * Answers that the bytes of a connection are not a request, and ends it; after the answers that are due before, so that
 * no client assigns this one to an earlier request. With the status undefined it ends without an answer.
 */
export const endWith = (
  socket: Duplex,
  status: ProtocolStatus | undefined,
  open: OpenRequests,
  { protocolAnswer, breakOff }: ProtocolAnswers,
  fault: Broken['fault'],
): void => {
  if (status === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  const request = open.unread(socket);
  const told = request === undefined ? undefined : breakOff?.(request, status, fault);
  // Where nobody reads the body now, the request is refused already, or will be when its body is asked for.
  const isLeft = fault === 'reset' && breakOff !== undefined && told === undefined;
  endAfterAnswers(socket, open, async (isAnswered) => {
    if (isAnswered || !socket.writable) socket.end();
    else if (!isLeft) {
      const content = (await told) ?? { status, ...protocolAnswer(status, { fault, request }) };
      if (socket.writable) writeRaw(socket, content);
    }
  });
};

/** The text for the user of a client that speaks HTTP/2 from its first byte. `address`: where it connects from. */
export type Http2Answer = (address: string) => string;

/**
 * Adds a body to the answers of Node that come before any route: malformed requests, header fields beyond the limit,
 * slow headers, unknown expectations and HTTP/2. `onFault` is called for each connection that ends so.
 */
export const answerProtocolErrors = (
  server: Server,
  answers: ProtocolAnswers,
  open: OpenRequests,
  onFault: (fault: WireFault) => void,
  http2Answer?: Http2Answer,
): void => {
  const unsecured = new WeakSet<Duplex>();
  // Before the server makes a clientError of it, whose code is that of any reset where a certificate was refused.
  server.prependListener('tlsClientError', (_error: Error, socket: Duplex) => unsecured.add(socket));
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    if (open.isEnding(socket)) return;
    const fault = unsecured.has(socket) ? 'tls_handshake' : wireFaultOf(error.code, open.isInBody(socket));
    onFault(fault);
    if (
      fault === 'http2' &&
      http2Answer !== undefined &&
      socket instanceof Socket &&
      !open.hasServed(socket)
    ) {
      refuseHttp2(socket, http2Answer(socket.remoteAddress ?? ''));
      cutAfter(socket, lingerMs);
      return;
    }
    const isBeginning = fault === 'malformed' && !open.hasServed(socket);
    const beginning = isBeginning ? beginningOf(error.rawPacket) : undefined;
    // A client that only ended its side can still read an answer.
    const status = error.code === endedCode ? 400 : statuses[fault];
    const ofMethod = error.code === unknownMethodCode ? 'unknown_method' : undefined;
    endWith(socket, status, open, answers, beginning ?? ofMethod ?? fault);
  });
  const refuseExpectation: RequestListener = (request, response) => {
    const { body, headers } = answers.protocolAnswer(417, { fault: 'expectation', request });
    response.writeHead(417, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
  server.on('checkExpectation', refuseExpectation);
};

/** The answer to a request whose Host is missing or invalid, for the adapter's error handler. */
export const hostResponse = (answer: ProtocolAnswer): Response => {
  const { body, headers } = answer(400);
  return new Response(body, { status: 400, headers });
};

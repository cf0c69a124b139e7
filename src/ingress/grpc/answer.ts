import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Headers } from '../refused.ts';
import { frameOf } from './frame.ts';
import { codes, type GrpcStatus, trailersOf } from './status.ts';

/** How long a client may take to read an answer. */
export const readMs = 10_000;

const notForMetadata = new Set(['retry-after', 'www-authenticate', 'allow', 'content-type']);

/** The answer to most calls. */
const emptyFrame = frameOf(new Uint8Array(0));
const okTrailers = { 'grpc-status': String(codes.ok) } as const;

const head = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': 'identity,gzip,deflate,zstd',
} as const;

/** The header fields of an answer, those of the line as metadata. */
const headOf = (headers: Headers): OutgoingHttpHeaders => {
  const fields: OutgoingHttpHeaders = { ...head };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!notForMetadata.has(lower)) fields[lower] = value;
  }
  return fields;
};

const isOver = (stream: ServerHttp2Stream): boolean =>
  stream.destroyed || stream.closed || stream.headersSent;

/** The end of a call whose client still sends: it may stop (RFC 9113 section 8.1). */
const closeUnread = (stream: ServerHttp2Stream): void => {
  if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
};

const giveUp = (stream: ServerHttp2Stream): void => stream.close(constants.NGHTTP2_CANCEL);

const limitReading = (stream: ServerHttp2Stream): void => {
  const timer = setTimeout(giveUp, readMs, stream).unref();
  stream.on('close', () => clearTimeout(timer));
};

/** Ends a call with a status other than OK, in one block of header fields. */
export const answerStatus = (stream: ServerHttp2Stream, status: GrpcStatus, headers: Headers): void => {
  if (isOver(stream)) return;
  limitReading(stream);
  const fields = Object.assign(headOf(headers), trailersOf(status));
  stream.respond(fields, { endStream: true });
  setImmediate(closeUnread, stream);
};

/** Answers a call with one message and OK. */
export const answerMessage = (stream: ServerHttp2Stream, message: Uint8Array, headers: Headers): void => {
  if (isOver(stream)) return;
  limitReading(stream);
  stream.respond(headOf(headers), { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers(okTrailers);
    if (!stream.readableEnded) setImmediate(closeUnread, stream);
  });
  stream.end(message.length === 0 ? emptyFrame : frameOf(message));
};

/** The messages of a call that is answered with several. */
export type Messages = {
  /** False when the client has not read the messages before. */
  send(message: Uint8Array): boolean;
  end(status: GrpcStatus): void;
};

/** Begins an answer of several messages. */
export const openMessages = (stream: ServerHttp2Stream): Messages => {
  if (!isOver(stream)) stream.respond({ ...head }, { waitForTrailers: true });
  return {
    send: (message) => {
      if (stream.destroyed || stream.writableEnded || stream.writableLength > 0) return false;
      stream.write(frameOf(message));
      return true;
    },
    end: (status) => {
      if (stream.destroyed || stream.writableEnded) return;
      limitReading(stream);
      stream.once('wantTrailers', () => stream.sendTrailers(trailersOf(status)));
      stream.end();
    },
  };
};

/** Answers a request that is no call of gRPC, with a status of HTTP. */
export const answerHttp = (stream: ServerHttp2Stream, status: 405 | 415, text: string): void => {
  if (isOver(stream)) return;
  limitReading(stream);
  stream.respond({ ':status': status, 'content-type': 'text/plain; charset=utf-8' });
  stream.end(`${text}\n`, () => setImmediate(closeUnread, stream));
};

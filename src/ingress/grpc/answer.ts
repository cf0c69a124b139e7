import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Headers } from '../refused.ts';
import { frameOf } from './frame.ts';
import { codes, type GrpcStatus, trailersOf } from './status.ts';

/** How long a client may take to read an answer. */
export const readMs = 10_000;

const notForMetadata = new Set(['retry-after', 'www-authenticate', 'allow', 'content-type']);

/** The header fields of an answer as metadata. */
const metadataOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => !notForMetadata.has(name)),
  );

const head = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': 'identity,gzip,deflate,zstd',
} as const;

const isOver = (stream: ServerHttp2Stream): boolean =>
  stream.destroyed || stream.closed || stream.headersSent;

/** The end of a call whose client still sends: it may stop (RFC 9113 section 8.1). */
const closeUnread = (stream: ServerHttp2Stream): void => {
  if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
};

const limitReading = (stream: ServerHttp2Stream): void => {
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), readMs);
  timer.unref();
  stream.once('close', () => clearTimeout(timer));
};

/** Ends a call with a status other than OK, in one block of header fields. */
export const answerStatus = (stream: ServerHttp2Stream, status: GrpcStatus, headers: Headers): void => {
  if (isOver(stream)) return;
  limitReading(stream);
  const fields: OutgoingHttpHeaders = { ...head, ...metadataOf(headers), ...trailersOf(status) };
  stream.respond(fields, { endStream: true });
  setImmediate(closeUnread, stream);
};

/** Answers a call with one message and OK. */
export const answerMessage = (stream: ServerHttp2Stream, message: Uint8Array, headers: Headers): void => {
  if (isOver(stream)) return;
  limitReading(stream);
  stream.respond({ ...head, ...metadataOf(headers) }, { waitForTrailers: true });
  stream.once('wantTrailers', () => {
    stream.sendTrailers({ 'grpc-status': String(codes.ok) });
    setImmediate(closeUnread, stream);
  });
  stream.end(frameOf(message));
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

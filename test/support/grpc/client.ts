import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { frameOf } from '../../../src/ingress/grpc/frame.ts';

/** The end of a call. */
export type CallEnd = {
  /** `grpc-status`; undefined when the call was reset or had no status. */
  readonly code: number | undefined;
  readonly message: string;
  /** The texts in google.rpc.Status, and its type URLs among them. */
  readonly details: string;
  /** Seconds of RetryInfo; undefined without one. */
  readonly retrySeconds: number | undefined;
  readonly messages: readonly Buffer[];
  readonly headers: IncomingHttpHeaders;
  /** The code of a reset; 0 without one. */
  readonly reset: number;
};

export type CallOptions = {
  readonly metadata?: Readonly<Record<string, string>>;
  /** Raw bytes in place of a framed message. */
  readonly raw?: Buffer;
  readonly flags?: number;
  /** Leaves the call open after the bytes. */
  readonly isOpen?: boolean;
};

export type GrpcClient = {
  readonly session: ClientHttp2Session;
  call(path: string, message: Uint8Array, options?: CallOptions): Promise<CallEnd>;
  /** Begins a call; nothing of it is sent but its head. */
  open(path: string, metadata?: Readonly<Record<string, string>>): ReturnType<ClientHttp2Session['request']>;
  close(): void;
};

const head = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' } as const;

/** The seconds in the RetryInfo of a google.rpc.Status, found by its type URL. */
export const retrySecondsIn = (details: Buffer): number | undefined => {
  const at = details.indexOf('google.rpc.RetryInfo');
  if (at < 0) return undefined;
  // value (2): RetryInfo { retry_delay (1): Duration { seconds (1) } }
  const value = details.subarray(at + 'google.rpc.RetryInfo'.length);
  return value[0] === 0x12 && value[2] === 0x0a && value[4] === 0x08 ? value[5] : undefined;
};

const textOf = (value: string | string[] | undefined): string => (typeof value === 'string' ? value : '');

/** The messages in the bytes of an answer. */
export const messagesIn = (bytes: Buffer): Buffer[] => {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return messages;
};

/** What a call came to. Never rejects: a reset is an end, too. */
export const endOf = (stream: ReturnType<ClientHttp2Session['request']>): Promise<CallEnd> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream
      .on('response', (fields) => {
        headers = fields;
      })
      .on('trailers', (fields) => {
        trailers = fields;
      })
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', () => {})
      .on('close', () => {
        const last = { ...headers, ...trailers };
        const status = textOf(last['grpc-status']);
        const details = Buffer.from(textOf(last['grpc-status-details-bin']), 'base64');
        resolve({
          code: status === '' ? undefined : Number(status),
          message: decodeURIComponent(textOf(last['grpc-message'])),
          details: details.toString(),
          retrySeconds: retrySecondsIn(details),
          messages: messagesIn(Buffer.concat(chunks)),
          headers,
          reset: stream.rstCode ?? 0,
        });
      });
  });

/** A client of gRPC on one connection, over node:http2. */
export const connectGrpc = (address: string, options: SecureClientSessionOptions = {}): Promise<GrpcClient> =>
  new Promise((resolve, reject) => {
    const session = connect(address, options);
    const open: GrpcClient['open'] = (path, metadata = {}) =>
      session.request({ ...head, ':path': path, ...metadata });
    session.once('error', reject);
    session.once('connect', () => {
      session.on('error', () => {});
      resolve({
        session,
        open,
        call: (path, message, { metadata, raw, flags = 0, isOpen = false } = {}) => {
          const stream = open(path, metadata);
          const ended = endOf(stream);
          const framed = frameOf(message);
          framed[0] = flags;
          if (isOpen) stream.write(raw ?? framed);
          else stream.end(raw ?? framed);
          return ended;
        },
        close: () => session.destroy(),
      });
    });
  });

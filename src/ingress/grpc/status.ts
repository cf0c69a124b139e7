import { refusalMessage } from '../otlp/refusal.ts';
import { joined, lengthField, textField, varintField } from '../otlp/reply.ts';
import type { ReasonLinks } from '../reason-links.ts';
import { type ReceiverStatus, type RefusalReason, Refused } from '../refused.ts';

/** The codes of gRPC that this receiver answers with. */
export const codes = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type GrpcCode = (typeof codes)[keyof typeof codes];

/** The code for the status that the same refusal has over HTTP. Exporters retry 4, 14, and 8 with RetryInfo (OTLP, "Failures"). */
const codeOfStatus: Readonly<Record<Exclude<ReceiverStatus, 200>, GrpcCode>> = {
  400: codes.invalidArgument,
  401: codes.unauthenticated,
  403: codes.permissionDenied,
  404: codes.unimplemented,
  405: codes.unimplemented,
  408: codes.deadlineExceeded,
  // Some exporters retry RESOURCE_EXHAUSTED without RetryInfo, too, and no retry makes a request smaller.
  413: codes.invalidArgument,
  415: codes.unimplemented,
  417: codes.invalidArgument,
  429: codes.resourceExhausted,
  431: codes.invalidArgument,
  // A repeat is the same request, and nobody knows whether the first one was stored.
  500: codes.unavailable,
  503: codes.unavailable,
};

/** A refusal with a code of gRPC's own, for what HTTP does not have; its status is what it is counted by. */
export class RefusedCall extends Refused {
  readonly code: GrpcCode;
  constructor(code: GrpcCode, detail: string) {
    super('protocol_error', detail);
    this.code = code;
  }
}

const codeOf = (refused: Refused): GrpcCode => {
  if (refused instanceof RefusedCall) return refused.code;
  // The code for a supported compression that fails (gRPC, "Compression").
  return refused.reason === 'encoding_corrupt' ? codes.internal : codeOfStatus[refused.status];
};

/** The messages that differ from those over HTTP. */
const messages: Partial<Readonly<Record<RefusalReason, (detail: string) => string>>> = {
  encoding_unsupported: () => 'the grpc-encoding is not supported: send identity, gzip, deflate or zstd',
  encoding_corrupt: () =>
    'the message cannot be decompressed by its grpc-encoding: compress it so, or send it without compression',
  inflate_ratio_exceeded: (detail) =>
    `the message inflates too much: ${detail}; send smaller requests, or no compression`,
  body_too_large: (detail) => `the message is too large: ${detail}; send smaller requests`,
  unauthorized: (headers) =>
    `the write token is missing or wrong: send a valid one in the metadata as ${headers.toLowerCase()}, or as authorization: Bearer`,
  too_many_failures: (detail) =>
    `this address sends too many requests without a valid write token: ${detail}; check the token, and wait for the delay of RetryInfo`,
  path_unknown: (detail) => detail,
  protocol_error: (detail) => detail,
};

/** A status of gRPC: what the trailers of a failed call say. */
export type GrpcStatus = {
  readonly code: GrpcCode;
  /** For the sender's developer; holds no secret. */
  readonly message: string;
  /** google.rpc.Status with the same code and message; undefined where it would say no more than these. */
  readonly details?: Uint8Array;
  /** google.rpc.RetryInfo, which is in the details, too. */
  readonly retryInfo?: Uint8Array;
};

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

const any = (name: string, value: Uint8Array): Uint8Array =>
  lengthField(3, joined(textField(1, typeUrl(name)), lengthField(2, value)));

/** RetryInfo { retry_delay (1): Duration { seconds (1) } }; undefined where no retry is wanted. */
const retryInfoOf = ({ headers }: Refused): Uint8Array | undefined => {
  const seconds = Number(headers['Retry-After'] ?? 0);
  return seconds > 0 ? lengthField(1, varintField(1, seconds)) : undefined;
};

const badRequest = (field: string, description: string): Uint8Array =>
  any('BadRequest', lengthField(1, joined(textField(1, field), textField(2, description))));

const detailOf = (
  { status, reason, field }: Refused,
  code: GrpcCode,
  message: string,
  retryInfo: Uint8Array | undefined,
): Uint8Array | undefined => {
  if (retryInfo !== undefined) return any('RetryInfo', retryInfo);
  const isBadData = code === codes.invalidArgument && status === 400 && reason !== 'protocol_error';
  return isBadData ? badRequest(field, message) : undefined;
};

/** Clients limit all header fields of an answer together, to 8 KiB at least; the details hold the message twice. */
const messageLengthMax = 1000;
const headerBytesMax = 2048;

/** Never half a character at its end. */
const beginningOf = (message: string): string => {
  if (message.length <= messageLengthMax) return message;
  const last = message.charCodeAt(messageLengthMax - 1);
  return `${message.slice(0, last >= 0xd800 && last <= 0xdbff ? messageLengthMax - 1 : messageLengthMax)}…`;
};

/** The status of a refused call, with RetryInfo where the sender should wait, and the faulty field where there is one. */
export const statusOf = (refused: Refused, links: ReasonLinks): GrpcStatus => {
  const { reason, detail } = refused;
  const code = codeOf(refused);
  const message = beginningOf(messages[reason]?.(detail) ?? refusalMessage(refused)) + links([reason]);
  const retryInfo = retryInfoOf(refused);
  const said = detailOf(refused, code, message, retryInfo);
  if (said === undefined) return { code, message };
  const details = joined(varintField(1, code), textField(2, message), said);
  return { code, message, details, ...(retryInfo === undefined ? {} : { retryInfo }) };
};

const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/** `grpc-message`: UTF-8 with everything but printable ASCII, and `%`, percent-encoded. */
export const encodeMessage = (message: string): string => {
  let encoded = '';
  for (const character of message) {
    const next = /^[ -$&-~]$/.test(character) ? character : percentEncoded(character);
    if (encoded.length + next.length > headerBytesMax) break;
    encoded += next;
  }
  return encoded;
};

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** The trailers of a status. */
export const trailersOf = ({ code, message, details, retryInfo }: GrpcStatus): Record<string, string> => ({
  'grpc-status': String(code),
  ...(message === '' ? {} : { 'grpc-message': encodeMessage(message) }),
  ...(details === undefined ? {} : { 'grpc-status-details-bin': base64Of(details) }),
  // OpenTelemetry's exporter for Python looks for it only here.
  ...(retryInfo === undefined ? {} : { 'google.rpc.retryinfo-bin': base64Of(retryInfo) }),
});

import type { Reply } from '../http/reply.ts';
import { noHeaders, type ReceiverStatus } from '../refused.ts';
import type { OtlpSignal } from './signals.ts';

/** The encoding of a request and so of its answer (OTLP/HTTP; JSON where the request's type is unknown). */
export type OtlpEncoding = 'json' | 'protobuf';

/** The Go SDK and the Collector compare these by equality: never add parameters. */
const contentTypes = { json: 'application/json', protobuf: 'application/x-protobuf' } as const;

/** google.rpc.Code for each HTTP status. */
const rpcCodes: Readonly<Record<Exclude<ReceiverStatus, 200>, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  405: 12,
  408: 3,
  413: 3,
  415: 3,
  417: 3,
  429: 8,
  431: 3,
  500: 13,
  503: 14,
};

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return bytes;
};

export const varintField = (field: number, value: number): Uint8Array =>
  Uint8Array.from([field << 3, ...varint(value)]);

export const lengthField = (field: number, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);

export const joined = (...fields: Uint8Array[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.concat(fields));

export const textField = (field: number, text: string): Uint8Array => lengthField(field, Buffer.from(text));

/** Answers have 4 MiB at most (OTLP/HTTP): every message is truncated well below. */
const messageLengthMax = 16_384;

const beginningOf = (message: string): string => {
  const last = message.charCodeAt(messageLengthMax - 1);
  return message.slice(0, last >= 0xd800 && last <= 0xdbff ? messageLengthMax - 1 : messageLengthMax);
};

/** The beginning of a long message, never half a character at its end. */
const shortened = (message: string): string =>
  message.length > messageLengthMax ? `${beginningOf(message)}…` : message;

/** The permanent error of a request: the path of a field, or `body`, and the reason. */
export type FieldViolation = { readonly field: string; readonly description: string };

const badRequestType = 'type.googleapis.com/google.rpc.BadRequest';

const violationsField = (violations: readonly FieldViolation[]): Uint8Array[] => {
  if (violations.length === 0) return [];
  const badRequest = violations.map(({ field, description }) =>
    lengthField(1, joined(textField(1, field), textField(2, description))),
  );
  return [lengthField(3, joined(textField(1, badRequestType), lengthField(2, joined(...badRequest))))];
};

/**
 * A failure: google.rpc.Status in the request's encoding. `message` is for the sender's developer and holds no secret. Violations
 * become `details` (google.rpc.BadRequest), which OTLP/HTTP wants of a 400.
 */
export const statusReply = (
  encoding: OtlpEncoding,
  status: Exclude<ReceiverStatus, 200>,
  message: string,
  headers: Readonly<Record<string, string>> = noHeaders,
  violations: readonly FieldViolation[] = [],
): Reply => {
  const code = rpcCodes[status];
  const text = shortened(message);
  const fieldViolations = violations.map(({ field, description }) => ({
    field,
    description: shortened(description),
  }));
  const details =
    fieldViolations.length === 0 ? {} : { details: [{ '@type': badRequestType, fieldViolations }] };
  const body =
    encoding === 'json'
      ? JSON.stringify({ code, message: text, ...details })
      : joined(varintField(1, code), textField(2, text), ...violationsField(fieldViolations));
  return { status, contentType: contentTypes[encoding], body, headers };
};

/** The response of an export with partial_success unset: `{}`, or no bytes at all. */
export const successReply = (encoding: OtlpEncoding): Reply => ({
  status: 200,
  contentType: contentTypes[encoding],
  body: encoding === 'json' ? '{}' : new Uint8Array(0),
  headers: noHeaders,
});

/** partial_success: the number of rejected items and the reasons; with 0, a warning about accepted ones. */
export const partialReply = (
  { rejectedField }: Pick<OtlpSignal, 'rejectedField'>,
  encoding: OtlpEncoding,
  rejected: number,
  message: string,
): Reply => {
  const text = shortened(message);
  const body =
    encoding === 'json'
      ? JSON.stringify({ partialSuccess: { [rejectedField]: String(rejected), errorMessage: text } })
      : joined(
          lengthField(
            1,
            Buffer.concat([
              rejected === 0 ? new Uint8Array(0) : varintField(1, rejected),
              textField(2, text),
            ]),
          ),
        );
  return { status: 200, contentType: contentTypes[encoding], body, headers: noHeaders };
};

/** The encoding of a Content-Type header, parameters and case ignored; undefined for any other type. */
export const encodingOf = (contentType: string | undefined): OtlpEncoding | undefined => {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json') return 'json';
  return type === 'application/x-protobuf' ? 'protobuf' : undefined;
};

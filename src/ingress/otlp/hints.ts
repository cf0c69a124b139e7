import type { OtlpEncoding } from './reply.ts';
import type { OtlpSignal } from './signals.ts';

// The most common mistakes of senders, so that the answer can name the change to make rather than the byte that did not parse.

const startsWith = (bytes: Uint8Array, ...head: number[]): boolean =>
  head.every((byte, index) => bytes[index] === byte);

const inspected = 256;

const firstCharacter = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, inspected))
    .toString('latin1')
    .trimStart()
    .charAt(0);

/** Whether the bytes begin like a request of any signal: field 1, a length within the body, and one of its fields. */
const looksLikeProtobuf = (bytes: Uint8Array): boolean => {
  if (bytes[0] !== 0x0a) return false;
  let length = 0;
  let at = 1;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[at++] ?? 0;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const next = bytes[at] ?? 0;
  return length >= 0 && length <= bytes.length - at && (length === 0 || next === 0x0a || next === 0x12);
};

/** How a body came: `grpc` is protobuf, too, with other names for the remedies. */
export type BodyForm = OtlpEncoding | 'grpc';

/** The probable format of a body that could not be read; empty when no pattern matches. */
export const bodyHint = (
  { listHint }: Pick<OtlpSignal, 'listHint'>,
  form: BodyForm,
  bytes: Uint8Array,
): string => {
  const coding = form === 'grpc' ? 'the message flag 1 and grpc-encoding' : 'Content-Encoding';
  if (startsWith(bytes, 0x1f, 0x8b)) return `it looks like gzip: send ${coding}: gzip`;
  if (startsWith(bytes, 0x28, 0xb5, 0x2f, 0xfd)) return `it looks like zstd: send ${coding}: zstd`;
  const first = firstCharacter(bytes);
  if (form !== 'json') {
    if (first === '{' || first === '[')
      return `it looks like JSON: send ${form === 'grpc' ? 'protobuf, or JSON over HTTP' : 'Content-Type: application/json'}`;
    return bytes[0] === 0 && bytes.length >= 5
      ? 'it looks like a gRPC message: send it to the port for gRPC, or send OTLP/HTTP'
      : '';
  }
  if (startsWith(bytes, 0xef, 0xbb, 0xbf))
    return 'it begins with a byte order mark: send the body without it';
  if (startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff))
    return 'it looks like UTF-16: send UTF-8';
  if (looksLikeProtobuf(bytes)) return 'it looks like protobuf: send Content-Type: application/x-protobuf';
  return first === '[' ? listHint : '';
};

const camelOf = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** An unknown key of a request without items, with the key of OTLP that its sender probably meant. */
export const shownKey = ({ keyHints }: Pick<OtlpSignal, 'keyHints'>, key: string): string => {
  const name = camelOf(key);
  const hint = Object.hasOwn(keyHints, name) ? keyHints[name] : undefined;
  return hint === undefined ? key : `${key} (${hint})`;
};

import type { Layout } from '../model/records.ts';
import type { TimePolicy } from '../model/time.ts';

/** The version of the envelope this program writes, and the newest it reads. */
export const envelopeVersion = 1;

/** Header of a NATS message that names the envelope's version without opening the payload. */
export const envelopeVersionHeader = 'Tidemark-Envelope';

/** Encoded rows of one table: line protocol, complete lines. Times are milliseconds, least and greatest of its rows. */
export type Part = {
  readonly dataId: number;
  readonly table: string;
  readonly layout: Layout;
  readonly rows: number;
  /** Points the rows stand for (in a narrow table a point has a row a metric). */
  readonly points: number;
  /** uid base (decimal) and ordinals of the first request in the part. */
  readonly base: string;
  readonly first: number;
  readonly last: number;
  readonly timeMin: number;
  readonly timeMax: number;
  readonly bytes: number;
};

/** Points whose time failed at the receiver: a JSON array in the section, judged again in transfer with these very values. */
export type DeferredGroup = {
  readonly dataId: number;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
  readonly base: string;
  readonly ordinals: readonly number[];
  readonly bytes: number;
};

/** Items of one data id that were dropped at the receiver, by reason. */
export type ReceiverOutcomes = {
  readonly dataId: number;
  readonly dropped: Readonly<Record<string, number>>;
};

/** What a message of the METRICS stream says of its sections; they follow in the order of parts, then of deferred groups. */
export type MetricsHeader = {
  readonly version: number;
  readonly kind: 'metrics';
  /** Arrival of the first request in the message, ms since the epoch. */
  readonly arrivedAt: number;
  readonly parts: readonly Part[];
  readonly deferred: readonly DeferredGroup[];
  readonly outcomes: readonly ReceiverOutcomes[];
};

/** A decoded message; the sections are views of the payload, not copies. */
export type MetricsEnvelope = {
  readonly header: MetricsHeader;
  readonly partBytes: readonly Uint8Array[];
  readonly deferredBytes: readonly Uint8Array[];
};

/** What reading a payload can come to: an envelope, one that a newer program wrote, or bytes that are no envelope. */
export type ReadResult =
  | { readonly kind: 'envelope'; readonly envelope: MetricsEnvelope }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unreadable'; readonly why: string };

const lengthBytes = 4;

/** Payload = header length (u32, little endian), header (JSON), sections. `sections` match parts, then deferred, in order. */
export const encodeEnvelope = (header: MetricsHeader, sections: readonly Uint8Array[]): Buffer => {
  const json = Buffer.from(JSON.stringify(header));
  let size = lengthBytes + json.length;
  for (const section of sections) size += section.length;
  const payload = Buffer.allocUnsafe(size);
  payload.writeUInt32LE(json.length, 0);
  payload.set(json, lengthBytes);
  let offset = lengthBytes + json.length;
  for (const section of sections) {
    payload.set(section, offset);
    offset += section.length;
  }
  return payload;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const isPart = (value: unknown): value is Part =>
  isObject(value) &&
  isCount(value.dataId) &&
  typeof value.table === 'string' &&
  (value.layout === 'wide' || value.layout === 'narrow') &&
  isCount(value.rows) &&
  isCount(value.points) &&
  typeof value.base === 'string' &&
  isCount(value.first) &&
  isCount(value.last) &&
  isCount(value.timeMin) &&
  isCount(value.timeMax) &&
  isCount(value.bytes);

const isDeferredGroup = (value: unknown): value is DeferredGroup =>
  isObject(value) &&
  isCount(value.dataId) &&
  isCount(value.arrivedAt) &&
  isObject(value.policy) &&
  typeof value.base === 'string' &&
  Array.isArray(value.ordinals) &&
  value.ordinals.every(isCount) &&
  isCount(value.bytes);

const isReceiverOutcomes = (value: unknown): value is ReceiverOutcomes =>
  isObject(value) &&
  isCount(value.dataId) &&
  isObject(value.dropped) &&
  Object.values(value.dropped).every(isCount);

const isMetricsHeader = (value: unknown): value is MetricsHeader =>
  isObject(value) &&
  value.kind === 'metrics' &&
  isCount(value.arrivedAt) &&
  Array.isArray(value.parts) &&
  value.parts.every(isPart) &&
  Array.isArray(value.deferred) &&
  value.deferred.every(isDeferredGroup) &&
  Array.isArray(value.outcomes) &&
  value.outcomes.every(isReceiverOutcomes);

const unreadable = (why: string): ReadResult => ({ kind: 'unreadable', why });

/**
 * Reads a payload; never throws. `versionInHeader` is the NATS header's version where there is one: it lets a program tell
 * a newer message even if the layout of its payload has changed.
 */
export const decodeEnvelope = (payload: Uint8Array, versionInHeader: number | undefined): ReadResult => {
  if (versionInHeader !== undefined && versionInHeader > envelopeVersion)
    return { kind: 'newer', version: versionInHeader };
  if (payload.length < lengthBytes) return unreadable('shorter than its length field');
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const headerEnd = lengthBytes + bytes.readUInt32LE(0);
  if (headerEnd > bytes.length) return unreadable('the header is longer than the message');
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString('utf8', lengthBytes, headerEnd));
  } catch {
    return unreadable('the header is not JSON');
  }
  if (!isObject(header) || !isCount(header.version)) return unreadable('the header names no version');
  if (header.version > envelopeVersion) return { kind: 'newer', version: header.version };
  if (!isMetricsHeader(header)) return unreadable('the header is not one of version 1');
  let offset = headerEnd;
  const take = (length: number): Uint8Array => {
    offset += length;
    return bytes.subarray(offset - length, offset);
  };
  const partBytes = header.parts.map((part) => take(part.bytes));
  const deferredBytes = header.deferred.map((group) => take(group.bytes));
  if (offset !== bytes.length) return unreadable('the sections do not add up to the message');
  return { kind: 'envelope', envelope: { header, partBytes, deferredBytes } };
};

import type { Layout } from '../model/records.ts';
import type { TimePolicy } from '../model/time.ts';
import { cutSections, decodeFrame, encodeFrame, isCount, isObject, type Section } from './frame.ts';
import { isDecimal, isMessageKey, type MessageKey } from './message-key.ts';
import { isRedrive, type Redrive } from './redrive.ts';

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
  /** Key of this message's outcome record. Absent in messages of earlier versions. */
  readonly key?: MessageKey;
  readonly parts: readonly Part[];
  readonly deferred: readonly DeferredGroup[];
  readonly outcomes: readonly ReceiverOutcomes[];
  /** Of a message from the dead letters. */
  readonly redrive?: Redrive;
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

/** `sections` match parts, then deferred, in order. */
export const encodeEnvelope = (header: MetricsHeader, sections: readonly Section[]): Buffer =>
  encodeFrame(header, sections);

export const isPart = (value: unknown): value is Part =>
  isObject(value) &&
  isCount(value.dataId) &&
  typeof value.table === 'string' &&
  (value.layout === 'wide' || value.layout === 'narrow') &&
  isCount(value.rows) &&
  isCount(value.points) &&
  isDecimal(value.base) &&
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
  isDecimal(value.base) &&
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
  (value.key === undefined || isMessageKey(value.key)) &&
  Array.isArray(value.parts) &&
  value.parts.every(isPart) &&
  Array.isArray(value.deferred) &&
  value.deferred.every(isDeferredGroup) &&
  Array.isArray(value.outcomes) &&
  value.outcomes.every(isReceiverOutcomes) &&
  (value.redrive === undefined || isRedrive(value.redrive));

/** Reads a payload of the METRICS stream; never throws (see decodeFrame). */
export const decodeEnvelope = (payload: Uint8Array, versionInHeader: number | undefined): ReadResult => {
  const frame = decodeFrame(payload, versionInHeader);
  if (frame.kind !== 'frame') return frame;
  const { header, body } = frame;
  if (!isMetricsHeader(header)) return { kind: 'unreadable', why: 'the header does not match version 1' };
  const lengths = [...header.parts, ...header.deferred].map((section) => section.bytes);
  const sections = cutSections(body, lengths);
  if (sections === undefined)
    return { kind: 'unreadable', why: 'the lengths of the sections do not match the length of the message' };
  const partBytes = sections.splice(0, header.parts.length);
  return { kind: 'envelope', envelope: { header, partBytes, deferredBytes: sections } };
};

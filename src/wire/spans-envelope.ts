import type { SpanTimePolicy } from '../model/span-time.ts';
import { cutSections, decodeFrame, encodeFrame, isCount, isObject, type Section } from './frame.ts';
import { isDecimal, isMessageKey, type MessageKey } from './message-key.ts';
import { isRedrive, type Redrive } from './redrive.ts';

/** A FORMAT Native block of spans of one application that start on one day. */
export type SpanPart = {
  readonly appId: number;
  readonly bizId: number;
  /** Days since 1970-01-01 of the spans' start. */
  readonly day: number;
  readonly rows: number;
  /** uid base (decimal); first and last ordinal of its rows. */
  readonly base: string;
  readonly first: number;
  readonly last: number;
  /** Least and greatest start, nanoseconds as decimal text. */
  readonly timeMin: string;
  readonly timeMax: string;
  readonly bytes: number;
};

/** Spans whose time failed at the receiver: a JSON array in the section, judged again in transfer with these very values. */
export type DeferredSpans = {
  readonly appId: number;
  readonly arrivedAt: number;
  readonly policy: SpanTimePolicy;
  readonly base: string;
  readonly ordinals: readonly number[];
  readonly bytes: number;
};

/** Spans of one application that were dropped at the receiver, by reason. */
export type SpanOutcomes = { readonly appId: number; readonly dropped: Readonly<Record<string, number>> };

/** What a message of the TRACES stream says of its sections; they follow in the order of parts, then of deferred groups. */
export type SpansHeader = {
  readonly version: number;
  readonly kind: 'spans';
  /** Arrival of the request, ms since the epoch. */
  readonly arrivedAt: number;
  /** Key of this message's outcome record. Absent in messages of earlier versions. */
  readonly key?: MessageKey;
  /** Another message may bring the same rows: each is compared with what is stored before it is inserted. */
  readonly mayOverlap?: boolean;
  readonly parts: readonly SpanPart[];
  readonly deferred: readonly DeferredSpans[];
  readonly outcomes: readonly SpanOutcomes[];
  /** Of a message from the dead letters. */
  readonly redrive?: Redrive;
};

/** A decoded message; the sections are views of the payload, not copies. */
export type SpansEnvelope = {
  readonly header: SpansHeader;
  readonly partBytes: readonly Uint8Array[];
  readonly deferredBytes: readonly Uint8Array[];
};

export type ReadSpans =
  | { readonly kind: 'envelope'; readonly envelope: SpansEnvelope }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unreadable'; readonly why: string };

/** `sections` match parts, then deferred, in order. */
export const encodeSpansEnvelope = (header: SpansHeader, sections: readonly Section[]): Buffer =>
  encodeFrame(header, sections);

export const isSpanPart = (value: unknown): value is SpanPart =>
  isObject(value) &&
  isCount(value['appId']) &&
  Number.isSafeInteger(value['bizId']) &&
  isCount(value['day']) &&
  isCount(value['rows']) &&
  isDecimal(value['base']) &&
  isCount(value['first']) &&
  isCount(value['last']) &&
  isDecimal(value['timeMin']) &&
  isDecimal(value['timeMax']) &&
  isCount(value['bytes']);

const isDeferred = (value: unknown): value is DeferredSpans =>
  isObject(value) &&
  isCount(value['appId']) &&
  isCount(value['arrivedAt']) &&
  isObject(value['policy']) &&
  isDecimal(value['base']) &&
  Array.isArray(value['ordinals']) &&
  value['ordinals'].every(isCount) &&
  isCount(value['bytes']);

const isOutcomes = (value: unknown): value is SpanOutcomes =>
  isObject(value) &&
  isCount(value['appId']) &&
  isObject(value['dropped']) &&
  Object.values(value['dropped']).every(isCount);

const isSpansHeader = (value: unknown): value is SpansHeader =>
  isObject(value) &&
  value['kind'] === 'spans' &&
  isCount(value['arrivedAt']) &&
  (value['key'] === undefined || isMessageKey(value['key'])) &&
  (value['mayOverlap'] === undefined || typeof value['mayOverlap'] === 'boolean') &&
  Array.isArray(value['parts']) &&
  value['parts'].every(isSpanPart) &&
  Array.isArray(value['deferred']) &&
  value['deferred'].every(isDeferred) &&
  Array.isArray(value['outcomes']) &&
  value['outcomes'].every(isOutcomes) &&
  (value['redrive'] === undefined || isRedrive(value['redrive']));

/** Reads a payload of the TRACES stream; never throws (see decodeFrame). */
export const decodeSpansEnvelope = (payload: Uint8Array, versionInHeader: number | undefined): ReadSpans => {
  const frame = decodeFrame(payload, versionInHeader);
  if (frame.kind !== 'frame') return frame;
  const { header, body } = frame;
  if (!isSpansHeader(header)) return { kind: 'unreadable', why: 'the header does not match version 1' };
  const lengths = [...header.parts, ...header.deferred].map((section) => section.bytes);
  const sections = cutSections(body, lengths);
  if (sections === undefined)
    return { kind: 'unreadable', why: 'the lengths of the sections do not match the length of the message' };
  const partBytes = sections.splice(0, header.parts.length);
  return { kind: 'envelope', envelope: { header, partBytes, deferredBytes: sections } };
};

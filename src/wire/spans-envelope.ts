import type { SpanTimePolicy } from '../model/span-time.ts';
import { type Deferred, type Envelope, envelopeReader, type Header } from './envelope.ts';
import { encodeFrame, isCount, isObject, type Section } from './frame.ts';
import { isDecimal } from './message-key.ts';
import { type DayRows, isDays } from './part-days.ts';

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
  /** Its day with the sum of the uids, where other ordinals lie between those of its rows (see `partDays`). */
  readonly days?: readonly DayRows[];
  readonly bytes: number;
};

export type DeferredSpans = Deferred<'appId', SpanTimePolicy>;

/** The header of a message of the TRACES stream. */
export type SpansHeader = Header<'spans', 'appId', SpanPart, SpanTimePolicy> & {
  /** Another message may bring the same rows: each is compared with what is stored before it is inserted. */
  readonly mayOverlap?: boolean;
};

export type SpansEnvelope = Envelope<SpansHeader>;

/** `sections` match parts, then deferred, in order. */
export const encodeSpansEnvelope: (header: SpansHeader, sections: readonly Section[]) => Buffer = encodeFrame;

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
  isDays(value['days']) &&
  isCount(value['bytes']);

/** Reads a payload of the TRACES stream. */
export const decodeSpansEnvelope = envelopeReader<SpansHeader>(
  'spans',
  'appId',
  isSpanPart,
  ({ mayOverlap }) => mayOverlap === undefined || typeof mayOverlap === 'boolean',
);

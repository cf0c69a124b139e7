import type { Layout } from '../model/records.ts';
import type { TimePolicy } from '../model/time.ts';
import { type Deferred, type Envelope, envelopeReader, type Header, type Outcomes } from './envelope.ts';
import { encodeFrame, isCount, isObject, type Section } from './frame.ts';
import { isDecimal } from './message-key.ts';
import { type DayRows, isDays } from './part-days.ts';

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
  /** Its rows by event day (see `partDays`); empty: of one request and day, with the uids base + first to base + last. */
  readonly days?: readonly DayRows[];
  readonly bytes: number;
};

export type DeferredGroup = Deferred<'dataId', TimePolicy>;

export type ReceiverOutcomes = Outcomes<'dataId'>;

/** The header of a message of the METRICS stream. */
export type MetricsHeader = Header<'metrics', 'dataId', Part, TimePolicy>;

export type MetricsEnvelope = Envelope<MetricsHeader>;

/** `sections` match parts, then deferred, in order. */
export const encodeEnvelope: (header: MetricsHeader, sections: readonly Section[]) => Buffer = encodeFrame;

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
  isDays(value['days']) &&
  isCount(value.bytes);

/** Reads a payload of the METRICS stream. */
export const decodeEnvelope = envelopeReader<MetricsHeader>(['metrics'], 'dataId', isPart);

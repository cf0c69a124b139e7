import {
  type ApplicationPipeline,
  applicationPipelines,
  type ItemTableName,
  signals,
} from '../model/signals.ts';
import type { SpanTimePolicy } from '../model/span-time.ts';
import { type Deferred, type Envelope, envelopeReader, type Header } from './envelope.ts';
import { encodeFrame, isCount, isObject, type Section } from './frame.ts';
import { isDecimal } from './message-key.ts';
import { type DayRows, isDays } from './part-days.ts';

/** A FORMAT Native block of items of one application whose times are on one day: starts of spans, times of the others. */
export type BlockPart = {
  readonly appId: number;
  readonly bizId: number;
  /** Days since 1970-01-01 of those times. */
  readonly day: number;
  readonly rows: number;
  /** uid base (decimal); first and last ordinal of its rows. */
  readonly base: string;
  readonly first: number;
  readonly last: number;
  /** Least and greatest time, nanoseconds as decimal text. */
  readonly timeMin: string;
  readonly timeMax: string;
  /** Its day with the sum of the uids, where other ordinals lie between those of its rows (see `partDays`). */
  readonly days?: readonly DayRows[];
  /** The table of its rows, where the signal has several. */
  readonly itemTable?: ItemTableName;
  readonly bytes: number;
};

export type DeferredItems = Deferred<'appId', SpanTimePolicy>;

/** What the blocks of a message hold; the streams of spans and of log records have one kind each. */
export type BlocksKind = (typeof signals)[ApplicationPipeline]['kind'];

/** The header of a message whose items belong to applications. */
export type BlocksHeader = Header<BlocksKind, 'appId', BlockPart, SpanTimePolicy> & {
  /** Another message may bring the same rows: each is compared with what is stored before it is inserted. */
  readonly mayOverlap?: boolean;
};

export type BlocksEnvelope = Envelope<BlocksHeader>;

/** `sections` match parts, then deferred, in order. */
export const encodeBlocksEnvelope: (header: BlocksHeader, sections: readonly Section[]) => Buffer =
  encodeFrame;

const tableNames = applicationPipelines.flatMap<ItemTableName>((pipeline) => signals[pipeline].tables);

const tablesOfKinds = new Map<BlocksKind, readonly ItemTableName[]>(
  applicationPipelines.map((pipeline) => [signals[pipeline].kind, signals[pipeline].tables]),
);

/**
 * The table of a part's rows. Undefined where the part does not name one and the signal has several, and where it names that of
 * another signal.
 */
export const tableOfPart = (kind: BlocksKind, { itemTable }: BlockPart): ItemTableName | undefined => {
  const tables = tablesOfKinds.get(kind) ?? [];
  if (itemTable === undefined) return tables.length === 1 ? tables[0] : undefined;
  return tables.includes(itemTable) ? itemTable : undefined;
};

export const isBlockPart = (value: unknown): value is BlockPart =>
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
  (value['itemTable'] === undefined || tableNames.some((name) => name === value['itemTable'])) &&
  isCount(value['bytes']);

const readerOf = (kinds: readonly BlocksKind[]) =>
  envelopeReader<BlocksHeader>(
    kinds,
    'appId',
    isBlockPart,
    ({ mayOverlap }) => mayOverlap === undefined || typeof mayOverlap === 'boolean',
  );

/** Reads a payload of any signal whose items belong to applications. */
export const decodeBlocksEnvelope = readerOf(applicationPipelines.map((pipeline) => signals[pipeline].kind));

/** Reads a payload of the stream of one signal; one of another kind, or with rows of an unknown table, is unreadable. */
export const blocksReaderOf = (kind: BlocksKind): typeof decodeBlocksEnvelope => {
  const readKind = readerOf([kind]);
  return (payload, versionInHeader) => {
    const read = readKind(payload, versionInHeader);
    if (read.kind !== 'envelope') return read;
    const { parts } = read.envelope.header;
    return parts.every((part) => tableOfPart(kind, part) !== undefined)
      ? read
      : { kind: 'unreadable', why: 'a part does not name one of the tables of its signal' };
  };
};

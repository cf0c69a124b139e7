import { Fault } from '../../model/fault.ts';
import type { DeadLetterReason } from '../../model/reasons.ts';
import { applicationPipelines, type ItemTableName, signals } from '../../model/signals.ts';
import { ordinalsMax } from '../../model/uid.ts';
import {
  type BlockPart,
  type BlocksEnvelope,
  type BlocksHeader,
  type BlocksKind,
  tableOfPart,
} from '../../wire/blocks-envelope.ts';
import { type NativeBlock, readBlock, UnreadableBlock } from '../../wire/native/block-reader.ts';
import { toldDays } from '../../wire/part-days.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered } from '../sink.ts';

/** One part of a message, or some of its rows, on the way into an insert. */
export type Piece = {
  readonly message: HeldMessage<BlocksEnvelope>;
  readonly table: ItemTableName;
  /** A name of the table and day: an insert has the pieces of one. */
  readonly tableAndDay: string;
  /** For a slice: it describes the whole part (ordinals, times) except `rows` and `bytes`. */
  readonly part: BlockPart;
  readonly block: Uint8Array;
};

/** The table of a part of a message that was read. */
const tableOf = ({ kind }: BlocksHeader, part: BlockPart): ItemTableName => {
  const table = tableOfPart(kind, part);
  if (table === undefined) throw new Fault('internal', 'no_table', 'a part does not name its table');
  return table;
};

/** The parts of these messages, in order. */
export const piecesOf = (messages: readonly HeldMessage<BlocksEnvelope>[]): Piece[] =>
  messages.flatMap((message) => {
    const { header, partBytes } = message.envelope;
    return header.parts.flatMap((part, index) => {
      const block = partBytes[index];
      if (block === undefined) return [];
      const table = tableOf(header, part);
      return [{ message, table, tableAndDay: `${table} ${part.day}`, part, block }];
    });
  });

/** An insert has the rows of one table and one day: ClickHouse makes and commits a part for each day. */
export const byTableAndDay = (pieces: readonly Piece[]): Piece[][] => {
  const groups = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const group = groups.get(piece.tableAndDay);
    if (group === undefined) groups.set(piece.tableAndDay, [piece]);
    else group.push(piece);
  }
  return [...groups.values()];
};

const readable = (block: Uint8Array): NativeBlock | undefined => {
  try {
    return readBlock(block);
  } catch (error) {
    if (error instanceof UnreadableBlock) return undefined;
    throw error;
  }
};

const rowsFrom = (piece: Piece, block: NativeBlock, from: number, to: number): Piece => {
  const slice = block.slice(from, to);
  return { ...piece, part: { ...piece.part, rows: to - from, bytes: slice.length }, block: slice };
};

/** Two halves: of the pieces, or of the rows where there is one piece. Undefined for one row and for bytes that are no block. */
export const halvesOf = (pieces: readonly Piece[]): [Piece[], Piece[]] | undefined => {
  const [only] = pieces;
  if (pieces.length !== 1 || only === undefined) {
    const middle = Math.ceil(pieces.length / 2);
    return [pieces.slice(0, middle), pieces.slice(middle)];
  }
  const block = readable(only.block);
  if (block === undefined || block.rows < 2) return undefined;
  const middle = Math.ceil(block.rows / 2);
  return [[rowsFrom(only, block, 0, middle)], [rowsFrom(only, block, middle, block.rows)]];
};

/** The reason of a single refused item. */
const refusedReasons = {
  spans: 'span_refused',
  logs: 'record_refused',
  data_points: 'data_point_refused',
} as const satisfies Readonly<Record<BlocksKind, DeadLetterReason>>;

/** A single item that the store will never accept, with its own uid, ordinal and time; undefined where the block is not one. */
const refusedItem = ({ message, part, block }: Piece, why: string): DeadLettered | undefined => {
  const row = readable(block);
  if (row?.rows !== 1) return undefined;
  const { uid, Timestamp, TimeUnix: time = Timestamp } = row.row(0);
  if (typeof uid !== 'bigint' || typeof time !== 'bigint') return undefined;
  const ordinal = Number(uid - BigInt(part.base));
  return {
    reason: refusedReasons[message.envelope.header.kind],
    why,
    bytes: block,
    identity: `${part.base}:${ordinal}`,
    items: 1,
    place: { appId: part.appId, uid: String(uid) },
    uid,
    part: {
      ...part,
      rows: 1,
      bytes: block.length,
      first: ordinal,
      last: ordinal,
      timeMin: String(time),
      timeMax: String(time),
    },
  };
};

const daysMax = 2 ** 16;

/** The place of a table among those of its signal. */
const placeOfTable = (table: ItemTableName): number => {
  for (const pipeline of applicationPipelines) {
    const names: readonly string[] = signals[pipeline].tables;
    if (names.includes(table)) return names.indexOf(table);
  }
  return 0;
};

/** The uid for an unreadable block of a table and day: no request has an item with so high an ordinal. */
const unreadUid = ({ table, part: { base, day } }: Piece): bigint =>
  BigInt(base) + BigInt(ordinalsMax - 1 - day - daysMax * placeOfTable(table));

const firstUidOf = (block: NativeBlock | undefined): bigint | undefined => {
  const uid = block === undefined || block.rows === 0 ? undefined : block.row(0)['uid'];
  return typeof uid === 'bigint' ? uid : undefined;
};

/** The part of a slice: it has the days of its own rows. */
const partOfSlice = ({ message, part, block }: Piece): BlockPart => {
  if (message.envelope.header.parts.includes(part)) return part;
  const { days: _, ...rest } = part;
  const slice = readable(block);
  if (slice === undefined) return rest;
  let sum = 0n;
  for (let row = 0; row < slice.rows; row++) {
    const { uid } = slice.row(row);
    if (typeof uid !== 'bigint') return rest;
    sum += uid;
  }
  const days = toldDays([[part.day, slice.rows, sum]]);
  return days === undefined ? rest : { ...rest, days };
};

/** The whole block for the dead letters. Slices of one part differ by their first row. */
export const refusedBlock = (piece: Piece, why: string): DeadLettered => {
  const { part, block } = piece;
  const first = firstUidOf(readable(block));
  return {
    reason: 'block_refused',
    why,
    bytes: block,
    // The ordinals of a part are those of its message: blocks of several tables differ by their tables.
    identity: [
      part.base,
      first ?? part.first,
      part.appId,
      part.day,
      ...(part.itemTable === undefined ? [] : [part.itemTable]),
    ].join(':'),
    items: part.rows,
    place: { appId: part.appId },
    uid: first ?? unreadUid(piece),
    part: { ...partOfSlice(piece), bytes: block.length },
  };
};

/** The dead letters of a piece that the store will never accept and that cannot be halved. */
export const refusedPiece = (piece: Piece, why: string): DeadLettered =>
  refusedItem(piece, why) ?? refusedBlock(piece, why);

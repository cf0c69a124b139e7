import { freeBuffer } from '../../bus/owned-bytes.ts';
import { Fault } from '../../model/fault.ts';
import type { BatchBounds } from '../../stores/clickhouse/block-statements.ts';
import type { BlockWriter } from '../../stores/clickhouse/block-writer.ts';
import { isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import type { ItemTable } from '../../stores/clickhouse/item-tables.ts';
import { insertId } from '../../stores/clickhouse/query-id.ts';
import { type BlockKeys, readBlockKeys } from '../../wire/native/block-keys.ts';
import { mergeBlocks } from '../../wire/native/block-merger.ts';
import type { Fence } from './fence.ts';
import { boundsOf, messagesOf, traceTimesOf } from './insert-bounds.ts';
import type { Piece } from './pieces.ts';

/** A table of a signal, with its writer. */
export type WrittenTable = {
  readonly table: ItemTable;
  readonly writer: BlockWriter;
  /**
   * Two attempts at rows of this day (since 1970 UTC) had overlapped: some are stored twice until they merge. Resolves once the
   * merge is recorded.
   */
  readonly onOverlap: (day: number) => Promise<void>;
};

export type PieceInsertsOptions = {
  readonly stream: string;
  readonly boot: number;
  readonly ackWaitMs: () => number;
  /** The clock of `touchedAt`, ms. */
  readonly elapsed: () => number;
};

export type PieceInsertsEvents = {
  /** Receives each guarded insert: the number of inserts of earlier attempts that were killed before it. */
  readonly onGuarded: (killed: number) => void;
  /**
   * An earlier insert of rows of this day and these bounds had no answer, and may still be on its way: in a proxy, or in the kernel of a
   * killed process. Resolves once a later look for them is recorded.
   */
  readonly onUnanswered: (table: string, day: number, bounds: BatchBounds) => Promise<void>;
};

/** Inserts pieces of one table and one day. Throws the Faults of the writer, and `UnreadableBlock`. */
export type PieceInsert = (pieces: readonly Piece[]) => Promise<void>;

/**
 * The two inserts: `plain` for rows that cannot be stored yet, `guarded` for rows that may be. Rows that may be stored by now are guarded in
 * both.
 */
export type PieceInserts = { readonly plain: PieceInsert; readonly guarded: PieceInsert };

/** Blocks larger than this cost ClickHouse hardly less per row. */
const mergeBounds = { rowsMax: 8_192, bytesMax: 4 * 2 ** 20 };

const tableFinder = (tables: readonly WrittenTable[]) => {
  const written = new Map(tables.map((each) => [each.table.name, each]));
  return ([piece]: readonly Piece[]): WrittenTable => {
    const found = piece === undefined ? undefined : written.get(piece.table);
    if (found === undefined) throw new Fault('internal', 'no_table', `no writer of ${piece?.table}`);
    return found;
  };
};

const keysOf = ({ keys }: ItemTable, blocks: readonly Uint8Array[]): BlockKeys[] =>
  blocks.map((block) => readBlockKeys(block, keys));

/** Whether another worker may have the message by now: this process was paused, and did not keep it alive. */
const overdueBy =
  ({ elapsed, ackWaitMs }: PieceInsertsOptions) =>
  ({ message }: Piece): boolean =>
    elapsed() - message.touchedAt > ackWaitMs() / 2;

/** False where the connection was lost since the write began: NATS may have given the messages to another worker. */
const areFresh = (fence: Pick<Fence, 'isFresh'>, pieces: readonly Piece[]): boolean =>
  pieces.every(({ message }) => fence.isFresh(message.delivery.streamSequence));

const reportOverlap = async (
  { writer, onOverlap }: WrittenTable,
  pieces: readonly Piece[],
  bounds: BatchBounds,
): Promise<void> => {
  const [piece] = pieces;
  if (piece !== undefined && (await writer.countRepeats(bounds)) > 0) await onOverlap(piece.part.day);
};

export const createPieceInserts = (
  tables: readonly WrittenTable[],
  fence: Pick<Fence, 'isFresh'>,
  options: PieceInsertsOptions,
  events: PieceInsertsEvents,
): PieceInserts => {
  // Of all tables: an id names one insert of the server.
  let attempts = 0;
  /** Messages of inserts that ClickHouse did not answer. */
  const unanswered = new WeakSet<Piece['message']>();
  const writtenOf = tableFinder(tables);

  const attemptOf = (pieces: readonly Piece[]) => {
    const { sequences, firstSequence: first, lastSequence: last } = messagesOf(pieces);
    const queryId = insertId({
      stream: options.stream,
      first,
      last,
      boot: options.boot,
      attempt: ++attempts,
    });
    const single = pieces.map(({ block }) => block);
    const blocks = mergeBlocks(single, mergeBounds);
    const merged = new Set(blocks).difference(new Set(single));
    /** After a failure they may still be on their way to the server: then they are left to the garbage collector. */
    const free = (): void => {
      for (const { buffer } of merged) freeBuffer(buffer);
    };
    return { queryId, sequences, blocks, free };
  };

  const isOverdue = overdueBy(options);

  const noting = async (pieces: readonly Piece[], insert: Promise<unknown>): Promise<void> => {
    try {
      await insert;
    } catch (error) {
      const isSilent = error instanceof Fault && error.kind === 'transient' && !isTransientAnswer(error);
      if (isSilent) for (const { message } of pieces) unanswered.add(message);
      throw error;
    }
  };

  const guarded: PieceInsert = async (pieces) => {
    const into = writtenOf(pieces);
    const { table, writer } = into;
    const killed = await writer.killCovering({ stream: options.stream, ...messagesOf(pieces) });
    events.onGuarded(killed);
    const attempt = attemptOf(pieces);
    const keys = keysOf(table, attempt.blocks);
    const bounds = boundsOf(pieces, keys);
    await noting(pieces, writer.insertGuarded({ ...attempt, ...bounds }));
    await writer.repairTraceLookup(traceTimesOf(keys));
    const isLate = pieces.some(({ message }) => message.delivery.redelivered || unanswered.has(message));
    const isTakeover =
      killed > 0 || isLate || pieces.some(({ message }) => message.envelope.header.mayOverlap === true);
    if (isTakeover || pieces.some(isOverdue)) await reportOverlap(into, pieces, bounds);
    const [piece] = pieces;
    if (isLate && piece !== undefined) await events.onUnanswered(table.name, piece.part.day, bounds);
    attempt.free();
  };

  const plain: PieceInsert = async (pieces) => {
    if (pieces.some(isOverdue) || !areFresh(fence, pieces)) return guarded(pieces);
    const into = writtenOf(pieces);
    const attempt = attemptOf(pieces);
    await noting(pieces, into.writer.insertPlain(attempt));
    if (pieces.some(isOverdue))
      await reportOverlap(into, pieces, boundsOf(pieces, keysOf(into.table, attempt.blocks)));
    attempt.free();
  };

  return { plain, guarded };
};

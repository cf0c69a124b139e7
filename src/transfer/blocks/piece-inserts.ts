import type { BatchBounds } from '../../stores/clickhouse/block-statements.ts';
import type { BlockWriter } from '../../stores/clickhouse/block-writer.ts';
import type { ItemTable } from '../../stores/clickhouse/item-tables.ts';
import { insertId } from '../../stores/clickhouse/query-id.ts';
import { type BlockKeys, readBlockKeys } from '../../wire/native/block-keys.ts';
import { mergeBlocks } from '../../wire/native/block-merger.ts';
import { boundsOf, messagesOf, traceTimesOf } from './insert-bounds.ts';
import { byDay, type Piece } from './pieces.ts';

export type PieceInsertsOptions = {
  readonly table: ItemTable;
  readonly stream: string;
  readonly boot: number;
  readonly ackWaitMs: number;
  /** The clock of `touchedAt`, ms. */
  readonly elapsed: () => number;
};

export type PieceInsertsEvents = {
  /** Receives each guarded insert: the number of inserts of earlier attempts that were killed before it. */
  readonly onGuarded: (killed: number) => void;
  /**
   * Two attempts at rows of this day (since 1970 UTC) had overlapped: some are stored twice until they merge. Resolves once the
   * merge is recorded.
   */
  readonly onOverlap: (day: number) => Promise<void>;
};

/** Inserts the pieces of one day. Throws the Faults of the writer, and `UnreadableBlock`. */
export type PieceInsert = (pieces: readonly Piece[]) => Promise<void>;

/** The two inserts: `plain` for rows that cannot be stored yet, `guarded` for rows that may be. */
export type PieceInserts = { readonly plain: PieceInsert; readonly guarded: PieceInsert };

/** Blocks larger than this cost ClickHouse hardly less per row. */
const mergeBounds = { rowsMax: 8_192, bytesMax: 4 * 2 ** 20 };

export const createPieceInserts = (
  writer: BlockWriter,
  options: PieceInsertsOptions,
  events: PieceInsertsEvents,
): PieceInserts => {
  let attempts = 0;
  const { keys: keyColumns } = options.table;
  const keysOf = (blocks: readonly Uint8Array[]): BlockKeys[] =>
    blocks.map((block) => readBlockKeys(block, keyColumns));

  const attemptOf = (pieces: readonly Piece[]) => {
    const { sequences, firstSequence: first, lastSequence: last } = messagesOf(pieces);
    const queryId = insertId({
      stream: options.stream,
      first,
      last,
      boot: options.boot,
      attempt: ++attempts,
    });
    const blocks = mergeBlocks(
      pieces.map(({ block }) => block),
      mergeBounds,
    );
    return { queryId, sequences, blocks };
  };

  /** Another worker may have the message by now: this process was paused, and did not keep it alive. */
  const isOverdue = ({ message }: Piece): boolean =>
    options.elapsed() - message.touchedAt > options.ackWaitMs / 2;

  const reportOverlap = async (pieces: readonly Piece[], bounds: BatchBounds): Promise<void> => {
    if ((await writer.countRepeats(bounds)) === 0) return;
    for (const day of byDay(pieces).keys()) await events.onOverlap(day);
  };

  const plain: PieceInsert = async (pieces) => {
    const attempt = attemptOf(pieces);
    await writer.insertPlain(attempt);
    if (pieces.some(isOverdue)) await reportOverlap(pieces, boundsOf(pieces, keysOf(attempt.blocks)));
  };

  const guarded: PieceInsert = async (pieces) => {
    const killed = await writer.killCovering({ stream: options.stream, ...messagesOf(pieces) });
    events.onGuarded(killed);
    const attempt = attemptOf(pieces);
    const keys = keysOf(attempt.blocks);
    const bounds = boundsOf(pieces, keys);
    await writer.insertGuarded({ ...attempt, ...bounds });
    await writer.repairTraceLookup(traceTimesOf(keys));
    const isTakeover =
      killed > 0 ||
      pieces.some(({ message: { delivery, envelope } }) => {
        return delivery.redelivered || envelope.header.mayOverlap === true;
      });
    if (isTakeover || pieces.some(isOverdue)) await reportOverlap(pieces, bounds);
  };

  return { plain, guarded };
};

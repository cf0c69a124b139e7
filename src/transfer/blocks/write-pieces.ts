import { errorText, Fault } from '../../model/fault.ts';
import { unclassifiedCode } from '../../stores/clickhouse/faults.ts';
import type { BlocksEnvelope } from '../../wire/blocks-envelope.ts';
import { UnreadableBlock } from '../../wire/native/block-reader.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered, WriteOutcome } from '../sink.ts';
import type { PieceInsert } from './piece-inserts.ts';
import { halvesOf, type Piece, refusedPiece } from './pieces.ts';

type Held = HeldMessage<BlocksEnvelope>;

/** The refused rows of one write: each an item or a block of its message. */
export type Refusals = { readonly of: Map<Held, DeadLettered[]>; count: number };

export const noRefusals = (): Refusals => ({ of: new Map(), count: 0 });

export type OnWrite = (outcome: WriteOutcome, seconds: number) => void;

/**
 * Takes the pieces of a table and day that are not known to be stored, and why. It throws the error to end the write; else the next table
 * and day follow.
 */
export type OnUnstored = (pieces: readonly Piece[], error: unknown) => void;

/**
 * Writes the pieces, each list of them of one table and day, with this insert, and adds the refused rows of what it stores to `refused`. Throws a
 * transient Fault like `Sink.write`, unless `onUnstored` takes it.
 */
export type WritePieces = (
  byTableAndDay: readonly (readonly Piece[])[],
  insert: PieceInsert,
  refused: Refusals,
  onWrite: OnWrite,
  onUnstored?: OnUnstored,
) => Promise<void>;

const refusalsMax = 1_000;

const rethrow: OnUnstored = (_, error) => {
  throw error;
};

/** Adds refusals whose count began with that of `all`. */
export const addTo = (all: Refusals, { of, count }: Refusals): void => {
  for (const [message, letters] of of) all.of.set(message, [...(all.of.get(message) ?? []), ...letters]);
  all.count = count;
};

/** Whether the same rows will always fail: by ClickHouse's error code, or because a block cannot be read. */
const isFaultOfRows = (error: unknown): boolean =>
  error instanceof UnreadableBlock || (error instanceof Fault && error.code === 'clickhouse_rows_refused');

/** `again` inserts the halves of pieces that were refused: some of their rows may be stored. */
export const createWritePieces = (
  again: PieceInsert,
  onUnclassified: (code: string) => void,
): WritePieces => {
  /**
   * Inserts the pieces; when the store refuses rows, halves them until each refused row stands alone. Past `refusalsMax` of one
   * write, pieces are no longer halved: whole blocks are dead-lettered, with valid rows, instead of an insert for each row.
   */
  const insertOrSplit = async (
    pieces: readonly Piece[],
    insert: PieceInsert,
    refused: Refusals,
  ): Promise<void> => {
    try {
      await insert(pieces);
    } catch (error) {
      if (!isFaultOfRows(error)) throw error;
      const [only] = pieces;
      const halves = pieces.length === 1 && refused.count >= refusalsMax ? undefined : halvesOf(pieces);
      if (halves !== undefined) {
        for (const half of halves) await insertOrSplit(half, again, refused);
      } else if (only !== undefined) {
        refused.count++;
        refused.of.set(only.message, [
          ...(refused.of.get(only.message) ?? []),
          refusedPiece(only, errorText(error)),
        ]);
      }
    }
  };

  return async (byTableAndDay, insert, refused, onWrite, onUnstored = rethrow) => {
    for (const pieces of byTableAndDay) {
      const here: Refusals = { of: new Map(), count: refused.count };
      const startedAt = performance.now();
      const seconds = (): number => (performance.now() - startedAt) / 1000;
      try {
        await insertOrSplit(pieces, insert, here);
      } catch (error) {
        onWrite('failed', seconds());
        const code = unclassifiedCode(error);
        if (code !== undefined) onUnclassified(code);
        onUnstored(pieces, error);
        continue;
      }
      addTo(refused, here);
      onWrite('stored', seconds());
    }
  };
};

import { errorText } from '../../model/fault.ts';
import { isAnswer, isUnreadableTable, mayConcernRows } from '../../stores/clickhouse/faults.ts';
import type { BlocksEnvelope } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Written } from '../sink.ts';
import type { LoneFailures, LonePlace } from './lone-failures.ts';
import type { Piece } from './pieces.ts';
import type { TablePauses } from './table-pauses.ts';
import type { Turn } from './turns.ts';
import type { OnUnstored, OnWrite, Refusals } from './write-pieces.ts';

type Held = HeldMessage<BlocksEnvelope>;

type IsWanted = (tableAndDay: string) => boolean;

/** Writes the wanted tables and days of a batch, by default all. */
export type Together = (
  batch: readonly Held[],
  turn: Turn,
  onWrite: OnWrite,
  isWanted?: IsWanted,
  onUnstored?: OnUnstored,
) => Promise<Refusals>;

/** Writes them message by message; successes count as those of its table, failures as those of this place. */
export type Apart = (
  batch: readonly Held[],
  turn: Turn,
  place: LonePlace,
  onWrite: OnWrite,
  isWanted?: IsWanted,
) => Promise<Written<BlocksEnvelope>>;

/** `isTriedOften`: nothing of the batch was stored in several tries. */
export type WriteTurn = (
  batch: readonly Held[],
  turn: Turn,
  onWrite: OnWrite,
  isTriedOften: boolean,
) => Promise<Written<BlocksEnvelope>>;

export type WriteByTableDependencies = {
  readonly together: Together;
  readonly apart: Apart;
  readonly lone: LoneFailures;
  readonly pauses: TablePauses;
};

/** The pieces of one table and day that a write did not store, and why. */
type Unstored = {
  readonly place: Piece;
  readonly pieces: Piece[];
  readonly error: unknown;
  /** Whether its last try had failed, too. */
  readonly hadFailed: boolean;
};

const messagesOf = (pieces: readonly Piece[]): Held[] => [...new Set(pieces.map(({ message }) => message))];

/** What one write of a batch stores of each table and day. */
type Round = {
  readonly isWanted: IsWanted;
  readonly onUnstored: OnUnstored;
  readonly failed: ReadonlyMap<string, Unstored>;
  /** The pieces that are left out. */
  readonly waiting: Piece[];
  /** One piece of each table and day of which something was stored. */
  stored(): readonly Piece[];
};

const createRound = (groups: readonly (readonly Piece[])[], pauses: TablePauses): Round => {
  const waiting = groups.filter(([piece]) => piece !== undefined && pauses.isPaused(piece)).flat();
  const leftOut = new Set(waiting.map(({ tableAndDay }) => tableAndDay));
  const failed = new Map<string, Unstored>();
  return {
    isWanted: (tableAndDay) => !leftOut.has(tableAndDay),
    onUnstored: (pieces, error) => {
      if (!isAnswer(error)) throw error;
      const [place] = pieces;
      if (place === undefined) return;
      const known = failed.get(place.tableAndDay);
      if (known !== undefined) known.pieces.push(...pieces);
      else {
        const hadFailed = pauses.has(place);
        failed.set(place.tableAndDay, { place, pieces: [...pieces], error, hadFailed });
      }
    },
    failed,
    waiting,
    stored: () =>
      groups.flatMap(([piece, ...more]) => {
        if (piece === undefined || leftOut.has(piece.tableAndDay)) return [];
        return failed.get(piece.tableAndDay)?.pieces.length === 1 + more.length ? [] : [piece];
      }),
  };
};

/** What a batch leaves to later writes. */
type Rest = { readonly retryLater: Set<Held>; waitMs: number; hasStored: boolean };

/**
 * Writes a batch of a signal with several tables: what a table refuses for a reason that names no row holds back only the messages with
 * rows for it, and later writes leave it out for a while. Of a message that goes back to NATS some tables may be stored: its redelivery is
 * guarded. A store that takes nothing at all is retried like that of a signal with one table, and after several tries the batch goes back.
 */
export const createWriteByTable = ({
  together,
  apart,
  lone,
  pauses,
}: WriteByTableDependencies): WriteTurn => {
  /** Whether it may be the rows of one message, or the stored ones that its guard reads, which shows when each is written apart. */
  const isWrittenApart = ({ error, pieces, hadFailed }: Unstored, isTriedOften: boolean): boolean =>
    (mayConcernRows(error) || isUnreadableTable(error)) &&
    (isTriedOften ||
      (pauses.isStoreWell() &&
        (hadFailed || messagesOf(pieces).every(({ delivery }) => delivery.redelivered))));

  const note = (round: Round, isComplete: boolean): void => {
    const stored = round.stored();
    for (const piece of stored) {
      pauses.stored(piece);
      if (isComplete) lone.stored(piece.table);
    }
    const keys = new Set(stored.map(({ tableAndDay }) => tableAndDay));
    for (const { place, error } of round.failed.values())
      if (!keys.has(place.tableAndDay)) pauses.failed(place, errorText(error));
  };

  /** Adds the waiting messages to `rest`, and to `refused` what the others show to be refused. */
  const writeRest = async (
    { failed, waiting }: Round,
    write: (unstored: Unstored) => Promise<Written<BlocksEnvelope>> | undefined,
    refused: Refusals,
    rest: Rest,
  ): Promise<void> => {
    for (const unstored of failed.values()) {
      const tried = await write(unstored);
      if (tried === undefined) {
        waiting.push(...unstored.pieces);
        continue;
      }
      for (const [message, letters] of tried.deadLettered)
        refused.of.set(message, [...(refused.of.get(message) ?? []), ...letters]);
      for (const message of tried.retryLater) rest.retryLater.add(message);
      if (tried.problem !== undefined) continue;
      rest.hasStored = true;
      pauses.stored(unstored.place);
    }
    for (const piece of waiting) {
      rest.retryLater.add(piece.message);
      rest.waitMs = Math.max(rest.waitMs, pauses.waitMs(piece));
    }
    for (const message of rest.retryLater) refused.of.delete(message);
  };

  return async (batch, turn, onWrite, isTriedOften) => {
    const round = createRound(turn.piecesOf(batch), pauses);
    const refused = await together(batch, turn, onWrite, round.isWanted, round.onUnstored);
    note(round, turn.completes(batch));
    const [first] = round.failed.values();
    const mayBeStore = round.stored().length === 0 && !pauses.isStoreWell();
    if (first !== undefined && mayBeStore && !isTriedOften) throw first.error;
    const rest: Rest = { retryLater: new Set(), waitMs: 0, hasStored: !mayBeStore };
    const write = (unstored: Unstored) => {
      if (!isWrittenApart(unstored, isTriedOften)) return undefined;
      const { table, tableAndDay } = unstored.place;
      const place = { table, key: tableAndDay };
      return apart(messagesOf(unstored.pieces), turn, place, onWrite, (key) => key === tableAndDay);
    };
    await writeRest(round, write, refused, rest);
    return {
      deadLettered: refused.of,
      retryLater: rest.retryLater,
      retryLaterMs: rest.waitMs,
      purged: new Set(),
      ...(first === undefined || rest.hasStored ? {} : { problem: errorText(first.error) }),
    };
  };
};

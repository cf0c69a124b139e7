import { type ApplicationPipeline, signals } from '../../model/signals.ts';
import { isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import { type BlocksEnvelope, blocksReaderOf } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Sink, Written } from '../sink.ts';
import type { Fence } from './fence.ts';
import { createLoneFailures } from './lone-failures.ts';
import {
  createPieceInserts,
  type PieceInsertsEvents,
  type PieceInsertsOptions,
  type WrittenTable,
} from './piece-inserts.ts';
import { createTurns, type Turn } from './turns.ts';
import { rowsOf, validateItems } from './validate-items.ts';
import { createWriteApart } from './write-apart.ts';
import { createWritePieces, noRefusals, type OnWrite } from './write-pieces.ts';

export type BlocksSinkOptions = PieceInsertsOptions & {
  readonly pipeline: ApplicationPipeline;
  /** `suspect`: only rows that may have been inserted before are compared with the stored ones; `always`: all rows. */
  readonly guard: 'suspect' | 'always';
};

export type BlocksSinkEvents = PieceInsertsEvents & {
  /** The store returned an unclassified error code. */
  readonly onUnclassified: (code: string) => void;
};

type Held = HeldMessage<BlocksEnvelope>;

/** After this number of transient errors a batch is written message by message, to find the one that fails. */
const triesTogetherMax = 6;
/** Failures of a single message, while others are stored, after which it is dead-lettered. */
const loneAttemptsMax = 5;

/** Whether it is known to be not the first message with its rows, or not the only one. */
const isAnother = ({ delivery, envelope }: Held): boolean =>
  delivery.redelivered || delivery.redrive > 0 || envelope.header.mayOverlap === true;

/** Whether its rows may have been inserted before by another process, or before a lost connection. */
const isDoubtful = (message: Held, fence: Fence, { guard }: BlocksSinkOptions): boolean =>
  guard === 'always' || isAnother(message) || !fence.isFresh(message.delivery.streamSequence);

/**
 * The items of one signal: its stream -> its tables in ClickHouse (architecture 7.1). Fresh messages are inserted without a guard; messages
 * that may have been inserted before go through the guard, after inserts of an earlier attempt were killed.
 */
export const createBlocksSink = (
  tables: readonly WrittenTable[],
  fence: Fence,
  options: BlocksSinkOptions,
  events: BlocksSinkEvents,
): Sink<BlocksEnvelope> => {
  const { pipeline } = options;
  const sent = new WeakSet<Held>();
  const tries = new WeakMap<Held, number>();
  const lone = createLoneFailures(loneAttemptsMax);
  const insert = createPieceInserts(tables, options, events);
  const write = createWritePieces(insert.guarded, events.onUnclassified);
  const turns = createTurns();

  const isSuspect = (message: Held): boolean => sent.has(message) || isDoubtful(message, fence, options);

  const writeTogether = async (
    batch: readonly Held[],
    turn: Turn,
    onWrite: OnWrite,
  ): Promise<Written<BlocksEnvelope>> => {
    const suspects: Held[] = [];
    const fresh: Held[] = [];
    for (const message of batch) (isSuspect(message) ? suspects : fresh).push(message);
    if (fresh.length > 0 && !(await fence.holds())) suspects.push(...fresh.splice(0));
    for (const message of batch) sent.add(message);
    const refused = noRefusals();
    await write(turn.piecesOf(fresh), insert.plain, refused, onWrite);
    await write(turn.piecesOf(suspects), insert.guarded, refused, onWrite);
    // The rows of an earlier turn are stored again where nothing else is: they prove nothing against the next turn.
    if (turn.completes(batch)) lone.stored();
    return { deadLettered: refused.of, retryLater: new Set(), purged: new Set() };
  };

  const writeApart = (batch: readonly Held[], turn: Turn, onWrite: OnWrite) =>
    createWriteApart(
      (message, refused, onPiece, onUnstored) =>
        write(turn.piecesOf([message]), insert.guarded, refused, onPiece, onUnstored),
      lone,
    )(
      batch.filter((message) => turn.piecesOf([message]).length > 0),
      onWrite,
    );

  const writeTurn = async (batch: readonly Held[], turn: Turn, onWrite: OnWrite) => {
    if (batch.every((message) => (tries.get(message) ?? 0) >= triesTogetherMax))
      return writeApart(batch, turn, onWrite);
    try {
      return await writeTogether(batch, turn, onWrite);
    } catch (error) {
      if (isTransientAnswer(error))
        for (const message of batch) tries.set(message, (tries.get(message) ?? 0) + 1);
      throw error;
    }
  };

  return {
    pipeline,
    store: 'ClickHouse',
    read: blocksReaderOf(signals[pipeline].kind),
    rowsOf: ({ header }) => rowsOf(header),
    write: async (batch, onWrite) => {
      const turn = turns.next(batch);
      const written = turn.end(await writeTurn(batch, turn, onWrite));
      for (const message of written.unfinished ?? []) {
        // All that was sent of it has an outcome, and no try had the rest.
        sent.delete(message);
        tries.delete(message);
      }
      return written;
    },
    validate: validateItems,
  };
};

import { type ApplicationPipeline, signals } from '../../model/signals.ts';
import { isAnswer, isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import { type BlocksEnvelope, blocksReaderOf } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Sink } from '../sink.ts';
import type { Fence } from './fence.ts';
import { createLoneFailures, type LoneFailures } from './lone-failures.ts';
import {
  createPieceInserts,
  type PieceInsertsEvents,
  type PieceInsertsOptions,
  type WrittenTable,
} from './piece-inserts.ts';
import type { TablePauses } from './table-pauses.ts';
import { createTurns, isWide, type Turn } from './turns.ts';
import { rowsOf, validateItems } from './validate-items.ts';
import { createWriteApart, type WriteOne } from './write-apart.ts';
import { type Apart, createWriteByTable, type Together, type WriteTurn } from './write-by-table.ts';
import { createWritePieces, noRefusals, type OnWrite } from './write-pieces.ts';

export type BlocksSinkOptions = PieceInsertsOptions & {
  readonly pipeline: ApplicationPipeline;
  /** `suspect`: only rows that may have been inserted before are compared with the stored ones; `always`: all rows. */
  readonly guard: 'suspect' | 'always';
  /** Undefined for a signal with one table. */
  readonly pauses?: TablePauses | undefined;
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

const all = (): boolean => true;

const wantedOf = (turn: Turn, messages: readonly Held[], isWanted: (tableAndDay: string) => boolean) =>
  turn.piecesOf(messages).filter(([piece]) => piece !== undefined && isWanted(piece.tableAndDay));

/** Whether it is known to be not the first message with its rows, or not the only one. */
const isAnother = ({ delivery, envelope }: Held): boolean =>
  delivery.redelivered || delivery.redrive > 0 || envelope.header.mayOverlap === true;

/** Whether its rows may have been inserted before by another process, or before a lost connection. */
const isDoubtful = (message: Held, fence: Fence, { guard }: BlocksSinkOptions): boolean =>
  guard === 'always' || isAnother(message) || !fence.isFresh(message.delivery.streamSequence);

/** The two ways to write a batch: its messages together, and message by message. */
const createWrites = (
  tables: readonly WrittenTable[],
  fence: Fence,
  options: BlocksSinkOptions,
  events: BlocksSinkEvents,
  lone: LoneFailures,
) => {
  const sent = new WeakSet<Held>();
  const insert = createPieceInserts(tables, fence, options, events);
  const write = createWritePieces(insert.guarded, events.onUnclassified);
  const isSuspect = (message: Held): boolean => sent.has(message) || isDoubtful(message, fence, options);

  const together: Together = async (batch, turn, onWrite, isWanted = all, onUnstored = undefined) => {
    const suspects: Held[] = [];
    const fresh: Held[] = [];
    for (const message of batch) (isSuspect(message) ? suspects : fresh).push(message);
    if (fresh.length > 0 && !(await fence.holds())) suspects.push(...fresh.splice(0));
    for (const message of batch) sent.add(message);
    const refused = noRefusals();
    await write(wantedOf(turn, fresh, isWanted), insert.plain, refused, onWrite, onUnstored);
    await write(wantedOf(turn, suspects, isWanted), insert.guarded, refused, onWrite, onUnstored);
    return refused;
  };

  const apart: Apart = (batch, turn, place, onWrite, isWanted = all) => {
    const dueOf = (message: Held) => wantedOf(turn, [message], isWanted);
    const writeOne: WriteOne = (message, refused, onPiece, onUnstored) =>
      write(dueOf(message), insert.guarded, refused, onPiece, onUnstored);
    return createWriteApart(
      writeOne,
      lone,
      place,
    )(
      batch.filter((message) => dueOf(message).length > 0),
      onWrite,
    );
  };

  return { together, apart, forget: (message: Held) => sent.delete(message) };
};

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
  const { pipeline, pauses } = options;
  const tries = new WeakMap<Held, number>();
  const lone = createLoneFailures(loneAttemptsMax);
  const { together, apart, forget } = createWrites(tables, fence, options, events, lone);
  const turns = createTurns();
  const table = tables[0]?.table.name ?? '';

  /** The messages of a signal with one table: an error ends the write. */
  const writeWhole: WriteTurn = async (batch, turn, onWrite, isTriedOften) => {
    if (isTriedOften) return apart(batch, turn, { table, key: table }, onWrite);
    const refused = await together(batch, turn, onWrite);
    // The rows of an earlier turn are stored again where nothing else is: they prove nothing against the next turn.
    if (turn.completes(batch)) lone.stored(table);
    return { deadLettered: refused.of, retryLater: new Set(), purged: new Set() };
  };

  const writeTurn = pauses === undefined ? writeWhole : createWriteByTable({ together, apart, lone, pauses });
  const isCounted = pauses === undefined ? isTransientAnswer : isAnswer;

  const writeOrCount = async (batch: readonly Held[], turn: Turn, onWrite: OnWrite) => {
    const isTriedOften = batch.every((message) => (tries.get(message) ?? 0) >= triesTogetherMax);
    try {
      return await writeTurn(batch, turn, onWrite, isTriedOften);
    } catch (error) {
      if (isCounted(error) && !isTriedOften)
        for (const message of batch) tries.set(message, (tries.get(message) ?? 0) + 1);
      throw error;
    }
  };

  return {
    pipeline,
    store: 'ClickHouse',
    read: blocksReaderOf(signals[pipeline].kind),
    rowsOf: ({ header }) => rowsOf(header),
    isWide: ({ header }) => isWide(header),
    write: async (batch, onWrite) => {
      const turn = turns.next(batch);
      let inserts = 0;
      let insertSeconds = 0;
      const onInsert: OnWrite = (outcome, seconds) => {
        inserts++;
        insertSeconds += seconds;
        onWrite(outcome, seconds);
      };
      const written = turn.end(await writeOrCount(batch, turn, onInsert));
      if (inserts > 0) turns.took(insertSeconds / inserts);
      for (const message of written.unfinished ?? []) {
        // All that was sent of it has an outcome, and no try had the rest.
        forget(message);
        tries.delete(message);
      }
      return written;
    },
    validate: validateItems,
  };
};

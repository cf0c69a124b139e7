import { type ApplicationPipeline, signals } from '../../model/signals.ts';
import { isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import { type BlocksEnvelope, blocksReaderOf } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Sink } from '../sink.ts';
import type { Fence } from './fence.ts';
import { createLoneFailures } from './lone-failures.ts';
import {
  createPieceInserts,
  type PieceInsertsEvents,
  type PieceInsertsOptions,
  type WrittenTable,
} from './piece-inserts.ts';
import { rowsOf, validateItems } from './validate-items.ts';
import { createWriteApart } from './write-apart.ts';
import { createWritePieces, noRefusals } from './write-pieces.ts';

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
  const writeApart = createWriteApart(
    (message, refused, onWrite, onUnstored) => write([message], insert.guarded, refused, onWrite, onUnstored),
    lone,
  );

  const isSuspect = (message: Held): boolean =>
    options.guard === 'always' ||
    sent.has(message) ||
    message.delivery.redelivered ||
    message.delivery.redrive > 0 ||
    message.envelope.header.mayOverlap === true ||
    !fence.isFresh(message.delivery.streamSequence);

  const writeTogether: Sink<BlocksEnvelope>['write'] = async (batch, onWrite) => {
    const suspects: Held[] = [];
    const fresh: Held[] = [];
    for (const message of batch) (isSuspect(message) ? suspects : fresh).push(message);
    if (fresh.length > 0 && !(await fence.holds())) suspects.push(...fresh.splice(0));
    for (const message of batch) sent.add(message);
    const refused = noRefusals();
    await write(fresh, insert.plain, refused, onWrite);
    await write(suspects, insert.guarded, refused, onWrite);
    lone.stored();
    return { deadLettered: refused.of, retryLater: new Set(), purged: new Set() };
  };

  return {
    pipeline,
    store: 'ClickHouse',
    read: blocksReaderOf(signals[pipeline].kind),
    rowsOf: ({ header }) => rowsOf(header),
    write: async (batch, onWrite) => {
      if (batch.every((message) => (tries.get(message) ?? 0) >= triesTogetherMax))
        return writeApart(batch, onWrite);
      try {
        return await writeTogether(batch, onWrite);
      } catch (error) {
        if (isTransientAnswer(error))
          for (const message of batch) tries.set(message, (tries.get(message) ?? 0) + 1);
        throw error;
      }
    },
    validate: validateItems,
  };
};

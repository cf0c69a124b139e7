import { errorText } from '../../model/fault.ts';
import { isTransientAnswer, isUnreadableTable, mayConcernRows } from '../../stores/clickhouse/faults.ts';
import type { BlocksEnvelope } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Sink } from '../sink.ts';
import type { LoneFailures, LonePlace } from './lone-failures.ts';
import { type Piece, refusedBlock } from './pieces.ts';
import { addTo, noRefusals, type OnUnstored, type OnWrite, type Refusals } from './write-pieces.ts';

type Held = HeldMessage<BlocksEnvelope>;

/**
 * Messages in a row that fail with none stored: from this number on, the store is at fault. Those whose guard cannot read its stored
 * rows do not count: it reads others for the next message.
 */
const failuresApartMax = 3;
/** Time that a write spends on messages whose guard cannot read its stored rows, ms: the others of the batch come again. */
const unreadableMsMax = 10_000;
/**
 * When messages come back that wait for the state of a table or of the server, while others are stored, ms. Each redelivery first fails
 * the batch it is in several times, which takes seconds, and all others wait meanwhile.
 */
const stateWaitMs = 30_000;

export type WriteOne = (
  message: Held,
  refused: Refusals,
  onWrite: OnWrite,
  onUnstored: OnUnstored,
) => Promise<void>;

/** What is not stored of one message, why, and the refused rows of what is. */
type Tried = {
  readonly unstored: readonly Piece[];
  readonly problem: string;
  /** Whether its table cannot be read. */
  readonly isUnreadable: boolean;
  /** Whether each failure may come from its rows: the state of a table or of the server counts against no message. */
  readonly isOfRows: boolean;
  readonly refused: Refusals;
};

/** First deliveries before those whose guard reads most. */
const redeliveredLast = (batch: readonly Held[]): Held[] =>
  batch.toSorted((left, right) => Number(left.delivery.redelivered) - Number(right.delivery.redelivered));

/**
 * Writes message by message: a failing message waits while the others are stored. If it alone keeps failing, those of its tables and days
 * are dead-lettered that the last try did not store; the rest of it is stored. Successes count as those of its table, failures as those of this place.
 */
export const createWriteApart = (
  write: WriteOne,
  lone: LoneFailures,
  place: LonePlace,
): Sink<BlocksEnvelope>['write'] => {
  const tryOne = async (message: Held, count: number, onWrite: OnWrite): Promise<Tried> => {
    const refused: Refusals = { of: new Map(), count };
    const unstored: Piece[] = [];
    let problem = '';
    let isUnreadable = false;
    let isOfRows = true;
    await write(message, refused, onWrite, (pieces, error) => {
      if (!isTransientAnswer(error)) throw error;
      if (problem === '') problem = errorText(error);
      if (isUnreadableTable(error)) isUnreadable = true;
      if (!mayConcernRows(error)) isOfRows = false;
      unstored.push(...pieces);
    });
    return { unstored, problem, isUnreadable, isOfRows, refused };
  };

  return async (batch, onWrite) => {
    const refused = noRefusals();
    const waiting = new Set<Held>();
    let hasStored = false;
    let failures = 0;
    let unreadableMs = 0;
    let waitingForState = 0;
    let problem = '';
    for (const message of redeliveredLast(batch)) {
      if ((!hasStored && failures >= failuresApartMax) || unreadableMs > unreadableMsMax) {
        waiting.add(message);
        continue;
      }
      const startedAt = performance.now();
      const tried = await tryOne(message, refused.count, onWrite);
      if (tried.isUnreadable) unreadableMs += performance.now() - startedAt;
      if (tried.unstored.length === 0) {
        lone.stored(place.table);
        hasStored = true;
      } else {
        problem = tried.problem;
        if (!tried.isUnreadable) failures++;
        if (!tried.isUnreadable && !tried.isOfRows) waitingForState++;
        if (!tried.isOfRows || !lone.failed(place, message.delivery.streamSequence)) {
          waiting.add(message);
          continue;
        }
      }
      addTo(refused, tried.refused);
      if (tried.unstored.length === 0) continue;
      const why = `the block fails in each try while others are stored: ${tried.problem}`;
      const letters = tried.unstored.map((piece) => refusedBlock(piece, why));
      refused.of.set(message, [...(refused.of.get(message) ?? []), ...letters]);
    }
    // One delay holds for all: messages that wait for another reason are not to wait so long.
    const isAllOfState = waitingForState > 0 && waitingForState === waiting.size;
    const hasSettled = hasStored || refused.of.size > 0;
    return {
      deadLettered: refused.of,
      retryLater: waiting,
      purged: new Set(),
      ...(hasStored && isAllOfState ? { retryLaterMs: stateWaitMs } : {}),
      ...(hasSettled ? {} : { problem }),
    };
  };
};

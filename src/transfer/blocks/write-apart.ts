import { errorText } from '../../model/fault.ts';
import { isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import type { BlocksEnvelope } from '../../wire/blocks-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { Sink } from '../sink.ts';
import type { LoneFailures } from './lone-failures.ts';
import { piecesOf, refusedBlock } from './pieces.ts';
import { noRefusals, type OnWrite, type Refusals } from './write-pieces.ts';

type Held = HeldMessage<BlocksEnvelope>;

/** Messages in a row that fail with none stored: from this number on, the store is at fault. */
const failuresApartMax = 3;

/** Writes message by message: a failing message waits while the others are stored, and is dead-lettered if it alone keeps failing. */
export const createWriteApart = (
  write: (message: Held, refused: Refusals, onWrite: OnWrite) => Promise<void>,
  lone: LoneFailures,
): Sink<BlocksEnvelope>['write'] => {
  return async (batch, onWrite) => {
    const refused = noRefusals();
    const waiting = new Set<Held>();
    let hasStored = false;
    let problem = '';
    for (const message of batch) {
      if (!hasStored && waiting.size >= failuresApartMax) {
        waiting.add(message);
        continue;
      }
      try {
        await write(message, refused, onWrite);
        lone.stored();
        hasStored = true;
      } catch (error) {
        if (!isTransientAnswer(error)) throw error;
        problem = errorText(error);
        if (lone.failed(message.delivery.streamSequence)) {
          const why = `the block fails in each try while others are stored: ${problem}`;
          refused.of.set(
            message,
            piecesOf([message]).map((piece) => refusedBlock(piece, why)),
          );
        } else waiting.add(message);
      }
    }
    const hasSettled = hasStored || refused.of.size > 0;
    return {
      deadLettered: refused.of,
      retryLater: waiting,
      purged: new Set(),
      ...(hasSettled ? {} : { problem }),
    };
  };
};

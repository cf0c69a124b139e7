import type { Bus } from '../bus/connection.ts';
import { lookAtQueue } from '../bus/orphaned-messages.ts';
import { beginOf, isConsumerMissing, isStreamMissing, readStream } from '../bus/stream-state.ts';
import type { Queue } from './compare.ts';

/** A stream whose messages are accounted for, and its consumer. */
export type AccountedStream = {
  readonly name: string;
  readonly consumer: string;
  /** This process may not read it, or it does not answer. */
  readonly isUnread?: boolean;
  /** NATS does not have it: nothing of it is read. */
  readonly isGone?: boolean;
};

const gone: Queue = { exists: false, begin: 1, first: 0, last: 0, messages: 0, floor: 0, end: 0 };

/** The state of a stream that may be gone, or have lost its consumer. Throws the Faults of NATS. */
export const queueOf = async (
  bus: Bus,
  { name, consumer, isGone = false }: AccountedStream,
): Promise<Queue> => {
  if (isGone) return gone;
  try {
    const look = await lookAtQueue(bus, name, consumer);
    return {
      exists: true,
      begin: look.begin,
      first: look.firstSequence,
      last: look.lastSequence,
      end: look.lastSequence,
      messages: look.messages,
      // A consumer of an empty stream may know no floor yet.
      floor: Math.max(look.ackFloor, look.begin - 1),
    };
  } catch (error) {
    if (isStreamMissing(error)) return gone;
    if (!isConsumerMissing(error)) throw error;
    const { stream } = await readStream(bus, name);
    const { first_seq: first, last_seq: last, messages } = stream.state;
    const begin = beginOf(stream.config);
    return { exists: true, begin, first, last, messages, floor: begin - 1, end: last };
  }
};

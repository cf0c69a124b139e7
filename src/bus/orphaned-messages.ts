import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';
import { beginOf, readStream } from './stream-state.ts';

/** The state of a work queue and of one durable consumer of it. Sequences are those of the stream. */
export type QueueLook = {
  readonly messages: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** The stream began with this sequence: above 1, it was made again, and lower ones are those of an earlier one. */
  readonly begin: number;
  /** Consumers of the stream, including foreign ones. */
  readonly consumers: number;
  /** Every message up to this sequence was acknowledged. */
  readonly ackFloor: number;
};

/** Looks at a work queue. Throws as `readStream` does. */
export const lookAtQueue = async (bus: Bus, name: string, consumerName: string): Promise<QueueLook> => {
  const { stream, consumer } = await readStream(bus, name, consumerName);
  return {
    messages: stream.state.messages,
    firstSequence: stream.state.first_seq,
    lastSequence: stream.state.last_seq,
    begin: beginOf(stream.config),
    consumers: stream.state.consumer_count,
    ackFloor: consumer?.ack_floor.stream_seq ?? 0,
  };
};

/** The sequence up to which the consumer has acknowledged every message. Throws as `readStream` does. */
export const readAckFloor = async (bus: Bus, stream: string, consumer: string): Promise<number> => {
  try {
    const { consumers } = await bus.manager();
    return (await consumers.info(stream, consumer)).ack_floor.stream_seq;
  } catch (error) {
    throw toFault(error);
  }
};

/**
 * The sequence up to which a work queue keeps messages that its consumer has passed, or undefined when it keeps none: they are never
 * delivered again and take up room for ever. A nats-server that is killed can forget the removal and remember the acknowledgement; a
 * consumer that was moved has passed messages that nobody settled. Two looks, some seconds apart, distinguish them from a removal in
 * progress.
 */
export const orphanedUpTo = (before: QueueLook | undefined, now: QueueLook): number | undefined => {
  if (before === undefined || now.messages === 0) return undefined;
  // With a second consumer, the floor of one does not hold for the messages of the other.
  if (before.consumers !== 1 || now.consumers !== 1) return undefined;
  const floor = Math.min(before.ackFloor, now.ackFloor);
  // A floor beyond the end of the stream belongs to lost messages: it does not hold for later ones.
  if (now.ackFloor > now.lastSequence) return undefined;
  return now.firstSequence <= floor ? floor : undefined;
};

/** Removes the messages up to this sequence; returns their number. Throws a Fault; they may be removed then. */
export const removeUpTo = async (bus: Bus, stream: string, sequence: number): Promise<number> => {
  try {
    const manager = await bus.manager();
    return (await manager.streams.purge(stream, { seq: sequence + 1 })).purged;
  } catch (error) {
    throw toFault(error);
  }
};

/** Removes one message. False where it is gone already. Throws a transient Fault; it may be removed then. */
export const removeOne = async (bus: Bus, stream: string, sequence: number): Promise<boolean> => {
  try {
    const manager = await bus.manager();
    return await manager.streams.deleteMessage(stream, sequence, false);
  } catch (error) {
    const fault = toFault(error);
    if (fault.code === 'message_not_found') return false;
    throw fault;
  }
};

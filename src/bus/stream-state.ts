import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

/** How full a stream is, and what of it is on its way to its consumer. */
export type StreamState = {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly bytesMax: number;
  /** Delivered to a worker and not settled yet; part of `messages`. */
  readonly ackPending: number;
};

/** The state of a stream and its durable consumer. Throws a Fault: permanent where there is no such stream, else transient. */
export const streamState = async (bus: Bus, name: string, consumer?: string): Promise<StreamState> => {
  try {
    const manager = await bus.manager();
    const { state, config } = await manager.streams.info(name);
    const ackPending =
      consumer === undefined ? 0 : (await manager.consumers.info(name, consumer)).num_ack_pending;
    return { name, messages: state.messages, bytes: state.bytes, bytesMax: config.max_bytes, ackPending };
  } catch (error) {
    throw toFault(error);
  }
};

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

/** How a stream and its durable consumer do, for those who watch over them. */
export type StreamHealth = StreamState & {
  /** How long the oldest message has been there; 0 in an empty stream. */
  readonly oldestAgeSeconds: number;
  /** Not delivered to any worker yet. */
  readonly pending: number;
  /** Delivered more than once and not settled yet. */
  readonly redelivered: number;
  /** Pulls that wait for messages. */
  readonly waitingPulls: number;
};

const noConsumer = { num_ack_pending: 0, num_pending: 0, num_redelivered: 0, num_waiting: 0 };

/** Throws a Fault: permanent where there is no such stream or consumer, else transient. */
export const streamHealth = async (
  bus: Bus,
  name: string,
  consumer: string | undefined,
  nowMs: number,
): Promise<StreamHealth> => {
  try {
    const manager = await bus.manager();
    const { state, config } = await manager.streams.info(name);
    const counts = consumer === undefined ? noConsumer : await manager.consumers.info(name, consumer);
    const oldestMs = state.messages === 0 ? nowMs : Date.parse(state.first_ts);
    return {
      name,
      messages: state.messages,
      bytes: state.bytes,
      bytesMax: config.max_bytes,
      ackPending: counts.num_ack_pending,
      oldestAgeSeconds: Math.max(0, (nowMs - oldestMs) / 1000),
      pending: counts.num_pending,
      redelivered: counts.num_redelivered,
      waitingPulls: counts.num_waiting,
    };
  } catch (error) {
    throw toFault(error);
  }
};

/** The server's clock, ms since the epoch, as it stands in what it says of a stream. Throws the same Faults. */
export const readServerTimeMs = async (bus: Bus, name: string): Promise<number> => {
  try {
    const { ts } = await (await bus.manager()).streams.info(name);
    return Date.parse(String(ts));
  } catch (error) {
    throw toFault(error);
  }
};

import type { ConsumerInfo, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { requireLed } from './leader.ts';
import { toFault } from './nats-fault.ts';

/** The state of a stream and of a durable consumer of it. */
export type StreamAnswer = { readonly stream: StreamInfo; readonly consumer: ConsumerInfo | undefined };

/**
 * Reads a stream and its durable consumer, the consumer first: its ack floor only rises, so the messages up to it were acknowledged
 * before the stream was read. Throws a Fault: permanent for a missing stream or consumer, else transient.
 */
export const readStream = async (bus: Bus, name: string, consumer?: string): Promise<StreamAnswer> => {
  try {
    const { consumers, streams } = await bus.manager();
    const consumerInfo = consumer === undefined ? undefined : await consumers.info(name, consumer);
    return { consumer: consumerInfo, stream: await streams.info(name) };
  } catch (error) {
    throw toFault(error);
  }
};

/** The sequence that a stream began with. */
export const beginOf = ({ first_seq: first }: Partial<Pick<StreamConfig, 'first_seq'>>): number =>
  first === undefined || first === 0 ? 1 : first;

/** Whether `readStream` threw because the stream is missing. */
export const isStreamMissing = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'stream_not_found';

/** Whether it threw because the consumer is missing. */
export const isConsumerMissing = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'consumer_not_found';

/** The fill level of a stream, and the part of it that is on its way to its consumer. */
export type StreamState = {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly bytesMax: number;
  /** Delivered to a worker and not settled yet; part of `messages`. */
  readonly ackPending: number;
  /** When a pause of the consumer ends, in ISO 8601; undefined where it is not paused. */
  readonly pausedUntil?: string | undefined;
};

const stateOf = ({ stream: { config, state }, consumer }: StreamAnswer): StreamState => ({
  name: config.name,
  messages: state.messages,
  bytes: state.bytes,
  bytesMax: config.max_bytes,
  ackPending: consumer?.num_ack_pending ?? 0,
  pausedUntil: consumer?.paused === true ? consumer.config.pause_until : undefined,
});

/** The state of a stream and its durable consumer. Throws as `readStream` does. */
export const streamState = async (bus: Bus, name: string, consumer?: string): Promise<StreamState> =>
  stateOf(await readStream(bus, name, consumer));

/** The same of a stream that a server leads. Throws a transient Fault `jetstream_leaderless` where none does. */
export const ledStreamState = async (bus: Bus, name: string, consumer?: string): Promise<StreamState> => {
  const answer = await readStream(bus, name, consumer);
  requireLed(answer.stream, 'jetstream_leaderless', `stream ${name}`);
  return stateOf(answer);
};

/** The health of a stream and its durable consumer, for monitoring. */
export type StreamHealth = StreamState & {
  /** The age of the oldest message; 0 in an empty stream. */
  readonly oldestAgeSeconds: number;
  /** The sequence of the newest message there ever was. */
  readonly lastSequence: number;
  /** The sequence that the stream began with. */
  readonly begin: number;
  /** Not delivered to any worker yet. */
  readonly pending: number;
  /** Delivered more than once and not settled yet. */
  readonly redelivered: number;
  /** Pulls that wait for messages. */
  readonly waitingPulls: number;
  /** Copies of the stream on other servers that are offline or behind, and 1 more where it has no leader. */
  readonly copiesBehind: number;
};

/** A single server has no others, and says nothing of them. */
const copiesBehindOf = ({ cluster }: StreamInfo): number => {
  const behind = (cluster?.replicas ?? []).filter(({ current, offline }) => offline === true || !current);
  return behind.length + (cluster !== undefined && cluster.leader === '' ? 1 : 0);
};

/** The server's clock, as in its answer. */
const serverTimeOf = ({ ts }: StreamInfo): number => Date.parse(String(ts));

/**
 * Ages by the clock of the server unless another time is given: it wrote the times of the messages, and clocks differ. Throws as
 * `readStream` does.
 */
export const streamHealth = async (
  bus: Bus,
  name: string,
  consumer: string | undefined,
  nowMs?: number,
): Promise<StreamHealth> => {
  const answer = await readStream(bus, name, consumer);
  const at = nowMs ?? serverTimeOf(answer.stream);
  const { messages, first_ts: oldest, last_seq: lastSequence } = answer.stream.state;
  return {
    ...stateOf(answer),
    oldestAgeSeconds: messages === 0 ? 0 : Math.max(0, (at - Date.parse(oldest)) / 1000),
    lastSequence,
    begin: beginOf(answer.stream.config),
    pending: answer.consumer?.num_pending ?? 0,
    redelivered: answer.consumer?.num_redelivered ?? 0,
    waitingPulls: answer.consumer?.num_waiting ?? 0,
    copiesBehind: copiesBehindOf(answer.stream),
  };
};

/** The clock of the server, ms since the epoch, from its answer about a stream. Throws as `readStream` does. */
export const readServerTimeMs = async (bus: Bus, name: string): Promise<number> =>
  serverTimeOf((await readStream(bus, name)).stream);

import type { Bus } from '../bus/connection.ts';
import { isConsumerMissing, isStreamMissing, type StreamState, streamState } from '../bus/stream-state.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { createLiveDrops, type LiveDrops } from './live.ts';

/** The sources of the outcomes. */
export type OutcomeReads = {
  readonly clickhouse: Clickhouse;
  /** Streams and their consumers, as they are now; without those of further QuestDB instances that are not there (yet). */
  readonly inFlight: () => Promise<StreamState[]>;
  readonly live: LiveDrops;
  readonly now: () => number;
};

type ReadStream = {
  readonly name: string;
  readonly consumer?: { readonly name: string } | undefined;
  readonly isFurther?: true;
};

/** NATS may have no room for the stream of a further instance: nothing is in flight there, and the other streams are still reported. */
const stateOf = async (
  bus: Bus,
  { name, isFurther }: ReadStream,
  consumer: string,
): Promise<StreamState | undefined> => {
  try {
    return await streamState(bus, name, consumer);
  } catch (error) {
    if (isFurther === true && isStreamMissing(error)) return undefined;
    // Items in a stream that lost its consumer are in flight too.
    if (isConsumerMissing(error)) return await streamState(bus, name);
    throw error;
  }
};

export const createOutcomeReads = (
  bus: Bus,
  clickhouse: Clickhouse,
  streams: readonly ReadStream[],
  furtherStreams: () => Promise<readonly ReadStream[]> = async () => [],
): OutcomeReads => ({
  clickhouse,
  // Only messages of a stream with a consumer are in flight.
  inFlight: async () => {
    const statesOf = (those: readonly ReadStream[]) =>
      those.flatMap((stream) =>
        stream.consumer === undefined ? [] : [stateOf(bus, stream, stream.consumer.name)],
      );
    const own = await Promise.all(statesOf(streams));
    // One that does not answer just now fails no other.
    const further = await Promise.allSettled(statesOf(await furtherStreams()));
    const all = [...own, ...further.map((each) => (each.status === 'fulfilled' ? each.value : undefined))];
    return all.filter((state) => state !== undefined);
  },
  live: createLiveDrops(bus),
  now: Date.now,
});

import type { Bus } from '../bus/connection.ts';
import { type StreamState, streamState } from '../bus/stream-state.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { createLiveDrops, type LiveDrops } from './live.ts';

/** What the outcomes are read from. */
export type OutcomeReads = {
  readonly clickhouse: Clickhouse;
  /** Streams and their consumers, as they are now. */
  readonly inFlight: () => Promise<StreamState[]>;
  readonly live: LiveDrops;
  readonly now: () => number;
};

export const createOutcomeReads = (
  bus: Bus,
  clickhouse: Clickhouse,
  streams: readonly { readonly name: string; readonly consumer?: { readonly name: string } | undefined }[],
): OutcomeReads => ({
  clickhouse,
  // What has a consumer is on its way somewhere.
  inFlight: () =>
    Promise.all(
      streams.flatMap(({ name, consumer }) =>
        consumer === undefined ? [] : [streamState(bus, name, consumer.name)],
      ),
    ),
  live: createLiveDrops(bus),
  now: Date.now,
});

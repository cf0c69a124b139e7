import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connection.ts';
import type { Pipeline } from '../model/signals.ts';
import { type AccountedStream, queueOf } from './queue-state.ts';

/** An owner: a data id of points, else an application. */
type OwnerOf = { readonly pipeline: Pipeline; readonly owner: number };

/**
 * Resolves once all that the streams of these owners and LEDGER held at the call is settled and recorded in ClickHouse, and tells for each
 * owner whether it is. Where that takes too long it is not: rows beyond the records are then in flight.
 */
export type CaughtUp = (
  owners: readonly OwnerOf[],
) => Promise<(pipeline: Pipeline, owner: number) => boolean>;

export type CaughtUpDependencies = {
  readonly bus: Bus;
  readonly accounted: readonly AccountedStream[];
  /** The stream that carries the lines of both books. */
  readonly ledger: AccountedStream;
  /** The name of the stream that brings the items of an owner. */
  readonly streamOf: (pipeline: Pipeline, owner: number) => string;
  readonly signal: AbortSignal;
  /** How long to wait; by default longer than LEDGER takes, which is written every 20 s while lines come without a pause. */
  readonly msMax?: number;
};

const pollMs = 250;

/**
 * Asks only the streams of the compared owners: what waits for a store that is away holds up no other. A stream that NATS has no room for
 * holds nothing; one without its consumer passes nothing.
 */
export const createCaughtUp = ({
  bus,
  accounted,
  ledger,
  streamOf,
  signal,
  msMax = 25_000,
}: CaughtUpDependencies): CaughtUp => {
  const hasPassed = async (stream: AccountedStream, until: number): Promise<boolean> => {
    const { last } = await queueOf(bus, stream);
    for (;;) {
      const { floor, messages } = await queueOf(bus, stream);
      if (messages === 0 || floor >= last) return true;
      if (performance.now() > until) return false;
      await delay(pollMs, undefined, { signal });
    }
  };
  return async (owners) => {
    const until = performance.now() + msMax;
    const wanted = new Set(owners.map(({ pipeline, owner }) => streamOf(pipeline, owner)));
    const passed = new Set<string>();
    // In parallel, each with LEDGER after it: one that stalls takes no time from the others.
    await Promise.all(
      accounted.map(async (stream) => {
        if (!wanted.has(stream.name)) return;
        if ((await hasPassed(stream, until)) && (await hasPassed(ledger, until))) passed.add(stream.name);
      }),
    );
    return (pipeline, owner) => passed.has(streamOf(pipeline, owner));
  };
};

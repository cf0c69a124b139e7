import type { Bus } from '../bus/connection.ts';
import { lookAtQueue, orphanedUpTo, type QueueLook } from '../bus/orphaned-messages.ts';
import type { ConsumerDefinition } from '../config/pipelines.ts';
import { errorText } from '../model/fault.ts';
import { startRounds } from '../runtime/rounds.ts';
import type { Log } from '../telemetry/log.ts';
import { createKeptMessages, type KeptMessagesOptions } from './kept-messages.ts';

/** Removes messages that NATS kept although they were settled and acknowledged. */
export type OrphanSweep = { stop(): void };

export type OrphanSweepOptions = KeptMessagesOptions & {
  /** One for each stream that is looked at; that of LEDGER among them. */
  readonly consumers: readonly ConsumerDefinition[];
  readonly ledger: ConsumerDefinition;
  readonly onRemoved: (stream: string, messages: number) => void;
  /** Receives the number of messages that the consumer has passed and that nobody settled, whenever they were counted. */
  readonly onStuck: (stream: string, messages: number) => void;
  readonly log: Log;
  readonly intervalMs?: number;
};

/** After messages were found that may not be removed, the next look at each of them is this many intervals later. */
const restIntervals = 6;

/** What is known of one stream between two looks. */
type State = {
  look?: QueueLook;
  /** Every message that was acknowledged up to `floor` has its lines in LEDGER up to `ledgerLast`. */
  due?: { readonly floor: number; readonly ledgerLast: number };
  /** Where the next part of the messages begins, and how many of the parts before may not be removed. */
  from?: number | undefined;
  stuck: number;
  rest: number;
  told: number;
};

/**
 * Looks at the streams of these consumers at an interval. A message below its consumer's floor is removed once the settlers' book has
 * its lines; without them it stays and is reported. One of LEDGER itself is published again before it is removed, because its rows
 * replace themselves. Any number of processes may do so: a removal only finds nothing then.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the steps of one look and the state that they share.
export const startOrphanSweep = (bus: Bus, options: OrphanSweepOptions): OrphanSweep => {
  const { consumers, ledger, onRemoved, onStuck, log, intervalMs = 10_000 } = options;
  const kept = createKeptMessages(bus, options);
  const states = new Map<string, State>();

  const stateOf = (stream: string): State => {
    const known = states.get(stream);
    if (known !== undefined) return known;
    const fresh = { stuck: 0, rest: 0, told: 0 };
    states.set(stream, fresh);
    return fresh;
  };

  const tell = (stream: string, state: State, messages: number): void => {
    onStuck(stream, messages);
    if (messages > 0 && state.told === 0)
      log.error(
        { stream, messages },
        'the consumer has passed messages that nobody settled: they stay and are not delivered (docs/stores-in-trouble.md)',
      );
    if (messages === 0 && state.told > 0) log.info({ stream }, 'no message is stuck any more');
    state.told = messages;
  };

  const removed = (stream: string, messages: number, sequence: number): void => {
    if (messages === 0) return;
    onRemoved(stream, messages);
    log.warn(
      { stream, messages, sequence },
      'removed orphaned messages: NATS kept them after their acknowledgement, as it can after a kill',
    );
  };

  /** The floor below which every line that was ever published is in ClickHouse; undefined: not yet. */
  const settledFloor = async (state: State, floor: number): Promise<number | undefined> => {
    const look = await lookAtQueue(bus, ledger.stream, ledger.name);
    const { due } = state;
    // A LEDGER that ends before it did, or before its consumer's floor, was restored or created again.
    const isSame = look.ackFloor <= look.lastSequence && (due?.ledgerLast ?? 0) <= look.lastSequence;
    if (due !== undefined && isSame && look.ackFloor >= due.ledgerLast) return due.floor;
    if (due === undefined || !isSame) state.due = { floor, ledgerLast: look.lastSequence };
    return undefined;
  };

  const sweepLedger = async (stream: string, floor: number): Promise<void> => {
    removed(stream, await kept.publishAgain(stream, floor), floor);
  };

  const sweepSettled = async (stream: string, state: State, look: QueueLook, upTo: number): Promise<void> => {
    const floor = await settledFloor(state, upTo);
    if (floor === undefined) return;
    const part = await kept.removeSettled(stream, look.firstSequence, state.from, floor);
    removed(stream, part.removed, floor);
    state.stuck += part.stuck;
    state.from = part.next;
    if (part.next !== undefined) return;
    tell(stream, state, state.stuck);
    state.rest = state.stuck > 0 ? restIntervals : 0;
    state.stuck = 0;
    delete state.due;
  };

  const sweep = async ({ stream, name }: ConsumerDefinition): Promise<void> => {
    const state = stateOf(stream);
    const before = state.look;
    const now = await lookAtQueue(bus, stream, name);
    state.look = now;
    const floor = orphanedUpTo(before, now);
    const isClean = now.messages === 0 || now.firstSequence > now.ackFloor;
    if (isClean) {
      state.rest = 0;
      if (state.told > 0) tell(stream, state, 0);
    }
    if (floor === undefined || state.rest-- > 0) return;
    if (stream === ledger.stream) await sweepLedger(stream, floor);
    else await sweepSettled(stream, state, now, floor);
  };

  const rounds = startRounds(async () => {
    if (!bus.connected) return intervalMs;
    for (const consumer of consumers) {
      await sweep(consumer).catch((error: unknown) => {
        log.debug(
          { stream: consumer.stream, error: errorText(error) },
          'a stream was not checked for orphaned messages',
        );
      });
    }
    return intervalMs;
  }, intervalMs);
  return { stop: () => void rounds.stop() };
};

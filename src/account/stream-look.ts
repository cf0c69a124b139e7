import type { Bus } from '../bus/connection.ts';
import type { StreamReader } from '../bus/stream-reader.ts';
import { Fault } from '../model/fault.ts';
import type { HeldMessage, Queue } from './compare.ts';
import { readHeldMessages } from './held-messages.ts';
import { type AccountedStream, queueOf } from './queue-state.ts';

/** A stream as a look found it. */
export type StreamLook = {
  readonly queue: Queue;
  /** Whether something waits that was there at the look before. */
  readonly isHalted: boolean;
  /** Messages that are at or below the floor at two looks. */
  readonly stuck: readonly HeldMessage[];
  /** All messages of the stream, where they were read; undefined where they were not. */
  readonly held: readonly HeldMessage[] | undefined;
  /** Messages that the consumer has passed since the look before: neither lost nor stuck yet. */
  readonly passed: readonly HeldMessage[];
};

/** Messages of a stream that are read one by one, to name those that wait: of a longer queue only where it lacks some. */
const heldMax = 5_000;
export const heldOfLossMax = 100_000;
/** Of a queue that moves, fewer: a backlog must not be slowed down by being read. */
export const heldOfMovingMax = 1_000;

/** Whether not all that the stream held at the look before has settled: something in it waits. */
export const isHaltedSince = (before: Queue | undefined, { floor }: Queue): boolean =>
  before !== undefined && (before.floor === floor || floor < before.last);

export type StreamLookDependencies = { readonly bus: Bus; readonly reader: StreamReader };

/**
 * Looks at a stream, whose queue at the look before was `before`. `isLacking`: it is known to lack messages; `hasStuck`: to
 * have stuck ones, also by a look of another process. Throws the Faults of NATS, and
 * `too_many_passed` where the consumer has passed more messages than can be named.
 */
export const lookAtStream = async (
  { bus, reader }: StreamLookDependencies,
  stream: AccountedStream,
  before: Queue | undefined,
  isLacking: boolean,
  hasStuck: boolean,
): Promise<StreamLook> => {
  const { name } = stream;
  const queue = await queueOf(bus, stream);
  const { exists, messages, first, last, floor } = queue;
  if (!exists || messages === 0) return { queue, isHalted: false, stuck: [], held: [], passed: [] };
  const below = first > floor ? [] : await readHeldMessages(reader, name, first, floor, heldOfLossMax);
  if (below === undefined)
    throw new Fault(
      'transient',
      'too_many_passed',
      `the consumer of ${name} has passed more than ${heldOfLossMax} messages that nobody settled`,
    );
  // A message below the floor is about to be removed, unless two looks find it there.
  const unseenUpTo = hasStuck ? floor : -1;
  const stuckUpTo = before === undefined ? unseenUpTo : Math.min(before.floor, floor);
  const isHalted = isHaltedSince(before, queue);
  const most = isLacking ? heldOfLossMax : before?.floor === floor ? heldMax : heldOfMovingMax;
  return {
    queue,
    isHalted,
    stuck: below.filter(({ sequence }) => sequence <= stuckUpTo),
    held: isHalted && messages <= most ? await readHeldMessages(reader, name, first, last, most) : undefined,
    passed: below.filter(({ sequence }) => sequence > stuckUpTo),
  };
};

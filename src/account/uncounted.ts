import type { HeldMessage, Published, Queue } from './compare.ts';
import { type Difference, pipelineOf } from './difference.ts';

/**
 * Finds messages that were lost in a stream and that no publisher's line has: of a receiver that was killed, of an earlier version, of a
 * redrive. The sequences of a stream have no gaps: one at or below the floor that is neither settled nor there was lost.
 */
export type Uncounted = {
  /** After a comparison of the books: what the gaps of the stream hold beyond its losses. */
  find(stream: string, queue: Queue, compared: Compared): Promise<readonly Difference[]>;
};

export type Compared = {
  readonly heads: readonly Published[];
  readonly minutes: readonly number[];
  readonly pending: ReadonlySet<number>;
  /** Messages that the comparison found lost in the stream, by minute. */
  readonly lost: ReadonlyMap<number, number>;
  readonly stuck: readonly HeldMessage[];
};

export type UncountedDependencies = {
  /** Different sequences between these two, both included, that have a line. */
  readonly countSequences: (stream: string, first: number, last: number) => Promise<number>;
  /** Elapsed time, ms. */
  readonly elapsed: () => number;
  /** Ms since the epoch. */
  readonly now: () => number;
};

type State = {
  /** Gaps are counted from here on. */
  readonly start: number;
  /** Gaps up to here are in `gaps`. */
  origin: number;
  gaps: number;
  reported: number;
  readonly floors: { at: number; floor: number }[];
  readonly lost: Map<number, number>;
  readonly pendingFirst: Map<number, number>;
};

/** A line of the publishers' book is in ClickHouse this long after its messages, with room to spare. */
const lagMs = 60_000;

const sum = (counts: Iterable<number>): number => {
  let total = 0;
  for (const each of counts) total += each;
  return total;
};

/** The losses and the waiting minutes that the comparison knows now. */
const note = (state: State, { heads, minutes, pending, lost }: Compared): void => {
  const lastOf = new Map<number, number>();
  for (const { minute, sequenceLast } of heads)
    lastOf.set(minute, Math.max(sequenceLast, lastOf.get(minute) ?? 0));
  for (const minute of minutes) {
    // A loss of before the start has no gap among the counted ones: it would hide another.
    const hasGaps = (lastOf.get(minute) ?? 0) > state.start;
    const messages = hasGaps ? (lost.get(minute) ?? 0) : 0;
    if (messages === 0) state.lost.delete(minute);
    else state.lost.set(minute, messages);
    state.pendingFirst.delete(minute);
  }
  for (const { minute, sequenceFirst } of heads) {
    if (!pending.has(minute) || sequenceFirst === 0) continue;
    state.pendingFirst.set(minute, Math.min(sequenceFirst, state.pendingFirst.get(minute) ?? sequenceFirst));
  }
};

/** Up to where the gaps can be judged: below the floor of a while ago, and below every message that may still settle. */
const endOf = (state: State, { floor }: Queue, now: number): number => {
  state.floors.push({ at: now, floor });
  const old = state.floors.findLast(({ at }) => at <= now - lagMs);
  if (old === undefined) return state.origin;
  state.floors.splice(0, state.floors.indexOf(old));
  return Math.min(old.floor, floor, ...[...state.pendingFirst.values()].map((first) => first - 1));
};

export const createUncounted = ({ countSequences, elapsed, now }: UncountedDependencies): Uncounted => {
  const states = new Map<string, State>();

  const stateOf = (stream: string, { exists, floor, last }: Queue): State => {
    const known = states.get(stream);
    // A stream that went back counts its sequences again.
    if (known !== undefined && exists && last >= known.origin && floor >= known.origin) return known;
    const state: State = {
      start: floor,
      origin: floor,
      gaps: 0,
      reported: 0,
      floors: [],
      lost: new Map(),
      pendingFirst: new Map(),
    };
    states.set(stream, state);
    return state;
  };

  return {
    find: async (stream, queue, compared) => {
      const state = stateOf(stream, queue);
      note(state, compared);
      const end = endOf(state, queue, elapsed());
      if (end > state.origin) {
        const first = state.origin + 1;
        const there = compared.stuck.filter(({ sequence }) => sequence >= first && sequence <= end).length;
        const known = await countSequences(stream, first, end);
        state.gaps += Math.max(0, end - state.origin - known - there);
        state.origin = end;
      }
      const messages = state.gaps - sum(state.lost.values()) - state.reported;
      if (messages <= 0) return [];
      state.reported += messages;
      const minute = 60 * Math.floor(now() / 60_000);
      const owner = { pipeline: pipelineOf(stream), dataId: 0, appId: 0 };
      return [{ kind: 'lost_in_the_stream', stream, ...owner, minute, items: 0, messages }];
    },
  };
};

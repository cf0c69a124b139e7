import type { HeldMessage, Published, Queue } from './compare.ts';
import { type Difference, pipelineOf } from './difference.ts';

/**
 * Finds messages that were lost in a stream and that no publisher's line has: of a receiver that was killed, or of an earlier version.
 * The sequences of a stream have no gaps: one at or below the floor that is neither settled nor there was lost.
 */
export type Uncounted = {
  /**
   * After a comparison of the books: what the gaps of the stream hold beyond its losses, where that has changed. A difference of 0
   * messages has found its loss in a line that came later. Their minutes are never those of a line (`isOfGaps`), so that no comparison
   * of a minute replaces them.
   */
  find(stream: string, queue: Queue, compared: Compared): Promise<readonly Difference[]>;
};

/** Gaps are dated by the middle of the minute in which they were found, Unix seconds; lines by the start of theirs. */
const middleSeconds = 30;

/** Whether the gaps of a stream found it, and no comparison of a minute. */
export const isOfGaps = ({ kind, minute }: Difference): boolean =>
  kind === 'lost_in_the_stream' && minute % 60 === middleSeconds;

export type Compared = {
  readonly heads: readonly Published[];
  readonly minutes: readonly number[];
  readonly pending: ReadonlySet<number>;
  /** Messages that the comparison found lost in the stream, by minute. */
  readonly lost: ReadonlyMap<number, number>;
  readonly stuck: readonly HeldMessage[];
  /** Where the redrives of lost dead letters were: the letters are a difference already. */
  readonly redrives: readonly Stretch[];
};

export type UncountedDependencies = {
  /** Different sequences between these two, both included, that have a line. */
  readonly countSequences: (stream: string, first: number, last: number) => Promise<number>;
  /** Elapsed time, ms. */
  readonly elapsed: () => number;
  /** Ms since the epoch. */
  readonly now: () => number;
};

/** Sequences from one to another, both included, and how many of them are meant. */
export type Stretch = { readonly first: number; readonly last: number; readonly messages: number };

type State = {
  /** Gaps are counted from here on. */
  readonly start: number;
  /** The sequence that the stream began with when it was looked at last. */
  begin: number;
  /** The last sequence of the stream at the last look. */
  last: number;
  /** Sequences that no message ever had, both included: between the last one of a stream and the first of the one made after it. */
  readonly never: { first: number; last: number };
  /** Gaps up to here are counted. */
  origin: number;
  /** Stretches that were counted at once and have gaps. */
  readonly gaps: Stretch[];
  /** Messages that were reported, by the minute of their report, the latest last. */
  readonly reported: Map<number, number>;
  readonly floors: { at: number; floor: number }[];
  /** By minute: messages that the comparison found lost, among the sequences of its lines. */
  readonly lost: Map<number, Stretch>;
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
  const stretchOf = new Map<number, { first: number; last: number }>();
  for (const { minute, sequenceFirst, sequenceLast } of heads) {
    const { first, last } = stretchOf.get(minute) ?? { first: sequenceFirst, last: 0 };
    stretchOf.set(minute, { first: Math.min(first, sequenceFirst), last: Math.max(last, sequenceLast) });
  }
  for (const minute of minutes) {
    const { first, last } = stretchOf.get(minute) ?? { first: 0, last: 0 };
    // A loss of before the start has no gap among the counted ones: it would hide another.
    const messages = last > state.start ? (lost.get(minute) ?? 0) : 0;
    if (messages === 0) state.lost.delete(minute);
    else state.lost.set(minute, { messages, first, last });
    state.pendingFirst.delete(minute);
  }
  for (const { minute, sequenceFirst } of heads) {
    if (!pending.has(minute) || sequenceFirst === 0) continue;
    state.pendingFirst.set(minute, Math.min(sequenceFirst, state.pendingFirst.get(minute) ?? sequenceFirst));
  }
};

/** A stream that was made again begins above all numbers that there were. */
const noteBegin = (state: State, { exists, begin, last }: Queue, heads: readonly Published[]): void => {
  if (!exists) return;
  if (begin > state.begin) {
    state.never.first = state.last + 1;
    state.never.last = begin - 1;
  }
  state.begin = begin;
  state.last = last;
  // Confirmed after the last look at the earlier stream.
  for (const { sequenceLast } of heads)
    if (sequenceLast < state.begin) state.never.first = Math.max(state.never.first, sequenceLast + 1);
};

/** How many of these sequences no message ever had. */
const countNever = ({ never }: State, first: number, last: number): number =>
  Math.max(0, Math.min(last, never.last) - Math.max(first, never.first) + 1);

/** Up to where the gaps can be judged: below the floor of a while ago, and below every message that may still settle. */
const endOf = (state: State, { floor }: Queue, now: number): number => {
  state.floors.push({ at: now, floor });
  const old = state.floors.findLast(({ at }) => at <= now - lagMs);
  if (old === undefined) return state.origin;
  state.floors.splice(0, state.floors.indexOf(old));
  return Math.min(old.floor, floor, ...[...state.pendingFirst.values()].map((first) => first - 1));
};

/**
 * How many counted gaps a loss explains. The line of a settled message may have been deleted after its sequence was counted: the comparison
 * takes it for lost, and there is no gap.
 */
const countedGapsOf = ({ first, last, messages }: Stretch, { gaps }: State): number => {
  const near = gaps.filter((gap) => gap.first <= last && gap.last >= first);
  return Math.min(messages, sum(near.map((gap) => gap.messages)));
};

/** Reports what no line explains; withdraws, the latest first, what a line explains by now. Returns the minutes that changed. */
const report = (state: State, redrives: readonly Stretch[], minute: number): Set<number> => {
  const { reported, lost, origin } = state;
  const gaps = sum(state.gaps.map(({ messages }) => messages));
  const losses = [...lost.values(), ...redrives];
  // A loss whose gaps are not all counted yet explains as many messages as it has: none of them is reported. Withdrawn is what is counted.
  const inGaps = sum(losses.map((loss) => countedGapsOf(loss, state)));
  const explained = sum(
    losses.map((loss) => (loss.last > origin ? loss.messages : countedGapsOf(loss, state))),
  );
  const before = sum(reported.values());
  const changed = new Set<number>();
  const found = gaps - explained - before;
  if (found > 0) {
    reported.set(minute, (reported.get(minute) ?? 0) + found);
    changed.add(minute);
  }
  let excess = before - Math.max(0, gaps - inGaps);
  for (const [at, messages] of [...reported].toReversed()) {
    if (excess <= 0) break;
    const taken = Math.min(excess, messages);
    reported.set(at, messages - taken);
    excess -= taken;
    changed.add(at);
  }
  return changed;
};

export const createUncounted = ({ countSequences, elapsed, now }: UncountedDependencies): Uncounted => {
  const states = new Map<string, State>();

  const stateOf = (stream: string, { exists, begin, floor, last }: Queue): State => {
    const known = states.get(stream);
    // A stream that went back counts its sequences again.
    if (known !== undefined && exists && last >= known.origin && floor >= known.origin) return known;
    const state: State = {
      start: floor,
      begin,
      last,
      never: { first: 0, last: -1 },
      origin: floor,
      gaps: [],
      reported: new Map(),
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
      noteBegin(state, queue, compared.heads);
      const end = endOf(state, queue, elapsed());
      if (end > state.origin) {
        const first = state.origin + 1;
        const there = compared.stuck.filter(({ sequence }) => sequence >= first && sequence <= end).length;
        const known = await countSequences(stream, first, end);
        const never = countNever(state, first, end);
        const messages = end - state.origin - never - known - there;
        if (messages > 0) state.gaps.push({ first, last: end, messages });
        state.origin = end;
      }
      const changed = report(state, compared.redrives, 60 * Math.floor(now() / 60_000) + middleSeconds);
      return [...changed].map((minute) => {
        const messages = state.reported.get(minute) ?? 0;
        if (messages === 0) state.reported.delete(minute);
        const owner = { pipeline: pipelineOf(stream), dataId: 0, appId: 0 };
        return { kind: 'lost_in_the_stream', stream, ...owner, minute, items: 0, messages };
      });
    },
  };
};

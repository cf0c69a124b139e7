import { sumOf } from '../model/sums.ts';
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
   * of a minute replaces them. `stored`: what any process has stored of these gaps, by minute. It is read at the first call, and when
   * something is to be reported or withdrawn: another process finds the same gaps at another minute.
   */
  find(stream: string, queue: Queue, compared: Compared, stored: ReadStored): Promise<readonly Difference[]>;
  /** What `find` returned last for the stream is stored. Until then the next call finds the same again. */
  written(stream: string): void;
};

export type ReadStored = () => Promise<ReadonlyMap<number, number>>;

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
  /** Of these, how many no process had stored. */
  readonly newlyLost: ReadonlyMap<number, number>;
  readonly stuck: readonly HeldMessage[];
  /** Where the redrives of lost dead letters were: the letters are a difference already. */
  readonly redrives: readonly Stretch[];
};

export type UncountedDependencies = {
  /** Different sequences between these two, both included, that have a line. */
  readonly countSequences: (stream: string, first: number, last: number) => Promise<number>;
  /** The last sequence up to this one that has a line of the last days; 0 without one. */
  readonly lastSettled: (stream: string, floor: number) => Promise<number>;
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
  /** Messages that are stored, by the minute of their report, as they were read last or are to be written. */
  stored: Map<number, number>;
  /** Of these, those of gaps that are counted here, regardless of who reported them. */
  reported: Map<number, number>;
  /** Of these, those that were stored at the start: their gaps are at or below it, and no more is known of them. */
  earlier: Map<number, number>;
  readonly floors: { at: number; floor: number }[];
  /** By minute: messages that the comparison found lost, among the sequences of its lines. */
  readonly lost: Map<number, Stretch>;
  readonly pendingFirst: Map<number, number>;
  /** What was stored and reported before the last report, until that is written. */
  unwritten: Pick<State, 'stored' | 'reported' | 'earlier'> | undefined;
};

/** Messages that were lost in a minute. */
type Loss = { readonly minute: number; readonly messages: number };

/**
 * A line of the publishers' book is in LEDGER this long after its messages, with room to spare, and a look waits for LEDGER. Less than a calm
 * look rests, so that the floor of the look before is old enough.
 */
const lagMs = 38_000;

/** By minute: the sequences of its lines. */
const stretchesOf = (heads: readonly Published[]): Map<number, { first: number; last: number }> => {
  const stretchOf = new Map<number, { first: number; last: number }>();
  for (const { minute, sequenceFirst, sequenceLast } of heads) {
    const { first, last } = stretchOf.get(minute) ?? { first: sequenceFirst, last: 0 };
    stretchOf.set(minute, { first: Math.min(first, sequenceFirst), last: Math.max(last, sequenceLast) });
  }
  return stretchOf;
};

/** The losses and the waiting minutes that the comparison knows now. */
const note = (state: State, { heads, minutes, pending, lost }: Compared): void => {
  const stretchOf = stretchesOf(heads);
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
const noteBegin = (state: State, { begin, last }: Queue, heads: readonly Published[]): void => {
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
  return Math.min(messages, sumOf(near.map((gap) => gap.messages)));
};

/** How many messages are to be reported, and how many of the reported ones a line explains by now. */
const judge = (state: State, redrives: readonly Stretch[]): { found: number; excess: number } => {
  const { reported, lost, origin } = state;
  const gaps = sumOf(state.gaps.map(({ messages }) => messages));
  const losses = [...lost.values(), ...redrives];
  // A loss whose gaps are not all counted yet explains as many messages as it has: none of them is reported. Withdrawn is what is counted.
  const inGaps = sumOf(losses.map((loss) => countedGapsOf(loss, state)));
  const explained = sumOf(
    losses.map((loss) => (loss.last > origin ? loss.messages : countedGapsOf(loss, state))),
  );
  const before = sumOf(reported.values());
  return { found: gaps - explained - before, excess: before - Math.max(0, gaps - inGaps) };
};

/** What new lines explain of the messages that were stored at the start, at least: only of those that were reported after their minute. */
const explainedEarlier = (state: State, { heads, newlyLost }: Compared): Loss[] =>
  [...stretchesOf(heads)].flatMap(([minute, { last }]) => {
    const since = sumOf([...state.earlier].map(([at, each]) => (at >= minute ? each : 0)));
    const lost = (newlyLost.get(minute) ?? 0) - Math.max(0, last - state.start);
    const messages = Math.min(lost, since);
    return messages > 0 ? [{ minute, messages }] : [];
  });

const add = (counts: Map<number, number>, minute: number, messages: number): void => {
  counts.set(minute, messages + (counts.get(minute) ?? 0));
};

/** Takes over what is stored now. What is less than before, another process has withdrawn. */
const takeOver = (state: State, now: ReadonlyMap<number, number>): void => {
  for (const [minute, messages] of state.stored) {
    let withdrawn = Math.max(0, messages - (now.get(minute) ?? 0));
    for (const part of [state.reported, state.earlier]) {
      const taken = Math.min(withdrawn, part.get(minute) ?? 0);
      add(part, minute, -taken);
      withdrawn -= taken;
    }
  }
  state.stored = new Map(now);
};

/** Withdraws messages of this part that were reported since then, the latest first. Returns the minutes that changed. */
const withdraw = (state: State, part: Map<number, number>, excess: number, since = 0): number[] => {
  const changed: number[] = [];
  let left = excess;
  for (const [minute, messages] of [...part].toSorted(([a], [b]) => b - a)) {
    const taken = minute < since ? 0 : Math.min(left, messages);
    if (taken <= 0) continue;
    add(part, minute, -taken);
    add(state.stored, minute, -taken);
    left -= taken;
    changed.push(minute);
  }
  return changed;
};

/** Reports what no line explains and no process has reported; withdraws what a line explains by now. Returns the minutes that changed. */
const report = (state: State, redrives: readonly Stretch[], minute: number): number[] => {
  const { stored, reported, earlier } = state;
  const { found, excess } = judge(state, redrives);
  let left = found;
  for (const [at, messages] of stored) {
    const ofOthers = messages - (reported.get(at) ?? 0) - (earlier.get(at) ?? 0);
    const taken = Math.max(0, Math.min(left, ofOthers));
    add(reported, at, taken);
    left -= taken;
  }
  if (left <= 0) return withdraw(state, reported, excess);
  add(reported, minute, left);
  add(stored, minute, left);
  return [minute, ...withdraw(state, reported, excess)];
};

/** Counts the gaps up to this sequence. */
const countGaps = async (
  state: State,
  { stuck }: Compared,
  end: number,
  countKnown: (first: number, last: number) => Promise<number>,
): Promise<void> => {
  if (end <= state.origin) return;
  const first = state.origin + 1;
  const there = stuck.filter(({ sequence }) => sequence >= first && sequence <= end).length;
  const known = await countKnown(first, end);
  const messages = end - state.origin - countNever(state, first, end) - known - there;
  if (messages > 0) state.gaps.push({ first, last: end, messages });
  state.origin = end;
};

const newState = (
  { begin, floor, last }: Queue,
  start: number,
  stored: ReadonlyMap<number, number>,
): State => ({
  start,
  begin,
  last,
  never: { first: 0, last: -1 },
  origin: start,
  gaps: [],
  stored: new Map(stored),
  reported: new Map(),
  // Behind the last line they may be those that are counted now.
  earlier: new Map(start === floor ? stored : []),
  floors: [],
  lost: new Map(),
  pendingFirst: new Map(),
  unwritten: undefined,
});

export const createUncounted = ({
  countSequences,
  lastSettled,
  elapsed,
  now,
}: UncountedDependencies): Uncounted => {
  const states = new Map<string, State>();

  /**
   * Where a process begins to count: behind the last line, and not at the floor, because a ClickHouse that was put back from an older copy
   * lacks the lines of messages that had settled. A stream that was made again had none before its begin.
   */
  const firstStart = async (stream: string, { begin, floor }: Queue): Promise<number> => {
    const settled = await lastSettled(stream, floor);
    return settled === 0 ? floor : Math.min(floor, Math.max(settled, begin - 1));
  };

  const stateOf = async (stream: string, queue: Queue, read: ReadStored): Promise<State> => {
    const { floor, last } = queue;
    const known = states.get(stream);
    // A stream that went back counts its sequences again.
    if (known !== undefined && last >= known.origin && floor >= known.origin) return known;
    const stored = await read();
    const start = known === undefined ? await firstStart(stream, queue) : floor;
    const state = newState(queue, start, stored);
    states.set(stream, state);
    return state;
  };

  return {
    find: async (stream, queue, compared, read) => {
      const known = states.get(stream);
      if (known !== undefined) Object.assign(known, known.unwritten, { unwritten: undefined });
      // A stream that is gone has no gaps. Made again it begins above all numbers that there were.
      if (!queue.exists) return [];
      const state = await stateOf(stream, queue, read);
      note(state, compared);
      noteBegin(state, queue, compared.heads);
      await countGaps(state, compared, endOf(state, queue, elapsed()), (first, last) =>
        countSequences(stream, first, last),
      );
      const { found, excess } = judge(state, compared.redrives);
      const ofEarlier = explainedEarlier(state, compared);
      if (found <= 0 && excess <= 0 && ofEarlier.length === 0) return [];
      const { stored, reported, earlier } = state;
      state.unwritten = {
        ...{ stored: new Map(stored), reported: new Map(reported), earlier: new Map(earlier) },
      };
      const earlierBefore = sumOf(state.earlier.values());
      takeOver(state, await read());
      const changed = new Set(
        report(state, compared.redrives, 60 * Math.floor(now() / 60_000) + middleSeconds),
      );
      let byOthers = earlierBefore - sumOf(state.earlier.values());
      for (const { minute, messages } of ofEarlier) {
        for (const at of withdraw(state, state.earlier, messages - byOthers, minute)) changed.add(at);
        byOthers = Math.max(0, byOthers - messages);
      }
      return [...changed].map((at) => {
        const owner = { pipeline: pipelineOf(stream), dataId: 0, appId: 0 };
        const messages = state.stored.get(at) ?? 0;
        return { kind: 'lost_in_the_stream', stream, ...owner, minute: at, items: 0, messages };
      });
    },
    written: (stream) => {
      const state = states.get(stream);
      if (state !== undefined) state.unwritten = undefined;
    },
  };
};

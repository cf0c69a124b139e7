import { lineSeconds, minuteKey } from './listed-minutes.ts';
import type { Outline, OutlineScope } from './outlines.ts';

/**
 * Which minutes of the streams are to be compared: those in which something has changed, once they are quiet. Most looks read the outlines
 * of what was written since the one before, and of minutes that are open: those of two hours may be tens of millions of lines.
 */
export type DueMinutes = {
  /** Begins a look. `isTouched`: lines were changed or removed in ClickHouse. Returns which outlines it needs. */
  begin(isTouched: boolean): OutlineScope;
  /** The minutes of a stream (Unix seconds) that are due by the outlines of this look. `exists`: whether the stream does. */
  of(stream: string, outlines: readonly Outline[], exists: boolean): number[];
  /** Another process has stored something else of this minute of a stream: it is due once more. Before a look begins. */
  reopen(stream: string, minute: number): void;
  /** These minutes of the stream were compared; those of `pending` have something on its way. */
  compared(stream: string, minutes: readonly number[], pending: ReadonlySet<number>): void;
  /** Ends a look that compared what was due. */
  end(): void;
};

export type DueMinutesOptions = {
  /** Ms since the epoch. */
  readonly now: () => number;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
};

/** What is remembered of a minute of a stream. */
type MinuteState = {
  readonly stream: string;
  readonly minute: number;
  seen: string;
  /** Its records when they were read last. */
  recorded: string | undefined;
  compared: string;
  comparedAt: number;
  isPending: boolean;
};

/** Whether something is left to compare. */
const isOpen = ({ seen, compared, isPending }: MinuteState): boolean => seen !== compared || isPending;

/** Lines of this long before the first look are compared, in case an earlier process left some undone. */
export const firstSeconds = 48 * 3_600;
export const windowSeconds = 2 * 3_600;
/** An insert that began at the time of a look may end this much later, and still be stamped with its begin. */
const insertSecondsMax = 120;
/** The whole window is read this often, in case lines are gone of which ClickHouse says nothing. */
const windowEveryMs = 600_000;
/** And no more often than this where lines were changed or removed. */
const touchedEveryMs = 60_000;
const minutesPerLook = 240;
/** The lines of these messages are read at once. */
const messagesPerLook = 1_000_000;
/** Minutes with something on its way are compared again after this time, even without a change. */
const pendingEveryMs = 25_000;

/** A minute of a stream, as the outlines of its lives have it. */
type SeenMinute = {
  text: string;
  readonly placed: string;
  readonly recorded: string | undefined;
  messages: number;
  isCovered: boolean;
};

const seenMinutes = (stream: string, outlines: readonly Outline[]): Map<number, SeenMinute> => {
  const seen = new Map<number, SeenMinute>();
  for (const { stream: name, minute, life, messages, items, settledItems, placed, recorded } of outlines) {
    if (name !== stream) continue;
    const lives = seen.get(minute) ?? { text: '', placed, recorded, messages: 0, isCovered: true };
    seen.set(minute, lives);
    lives.text += ` ${life}:${messages}:${items}:${settledItems}`;
    lives.messages += messages;
    lives.isCovered &&= settledItems >= items;
  }
  return seen;
};

/**
 * As many as one look compares: changed ones, the newest first, so that what is lost now shows before a backlog is worked off; then those that
 * only wait, in turn. At least one.
 */
const firstOf = (
  minutes: readonly number[],
  seen: ReadonlyMap<number, SeenMinute>,
  stateOf: (minute: number) => MinuteState,
): number[] => {
  const isWaiting = (minute: number): boolean => stateOf(minute).seen === stateOf(minute).compared;
  const inOrder = (left: number, right: number): number =>
    Number(isWaiting(left)) - Number(isWaiting(right)) ||
    (isWaiting(left) ? stateOf(left).comparedAt - stateOf(right).comparedAt : 0) ||
    right - left;
  const taken: number[] = [];
  let sum = 0;
  for (const minute of minutes.toSorted(inOrder)) {
    sum += seen.get(minute)?.messages ?? 0;
    if (taken.length === minutesPerLook || (taken.length > 0 && sum > messagesPerLook)) break;
    taken.push(minute);
  }
  return taken.toSorted((left, right) => left - right);
};

class Minutes implements DueMinutes {
  private readonly minutes = new Map<string, MinuteState>();
  /** Until the first window was read by a look that ended. */
  private isFirst = true;
  /** Whether this look reads the whole window. */
  private isWhole = false;
  /** The next look is to read the whole window. */
  private isWholeDue = true;
  private isTouched = false;
  private wholeAt = 0;
  private beganAt = 0;
  /** When the last look began that ended. */
  private endedAt = 0;
  private asked: ReadonlySet<number> = new Set();
  private readonly existed = new Map<string, boolean>();
  private readonly options: DueMinutesOptions;

  constructor(options: DueMinutesOptions) {
    this.options = options;
  }

  begin(isTouched: boolean): OutlineScope {
    const now = this.options.elapsed();
    this.beganAt = now;
    this.isTouched ||= isTouched;
    const sinceWholeMs = now - this.wholeAt;
    const seconds = Math.ceil((now - this.endedAt) / 1000) + insertSecondsMax;
    this.isWhole =
      this.isWholeDue ||
      seconds >= windowSeconds ||
      sinceWholeMs >= (this.isTouched ? touchedEveryMs : windowEveryMs);
    const minutes = this.openMinutes();
    this.asked = new Set(minutes);
    const nowSeconds = Math.floor(this.options.now() / 1000);
    if (!this.isWhole) return { seconds, minutes, withRecords: false, now: nowSeconds };
    // Until the look has ended.
    this.isWholeDue = true;
    // Looks that failed for long have left more than a window.
    const windowOrMore = Math.min(firstSeconds, Math.max(windowSeconds, seconds));
    const window = this.isFirst ? firstSeconds : windowOrMore;
    return { seconds: window, minutes, withRecords: true, now: nowSeconds };
  }

  of(stream: string, outlines: readonly Outline[], exists: boolean): number[] {
    const now = this.options.elapsed();
    const hadExisted = this.existed.get(stream);
    this.existed.set(stream, exists);
    const seen = seenMinutes(stream, outlines);
    const minutes: number[] = [];
    for (const [minute, { text: lives, placed, recorded, isCovered }] of seen) {
      const text = `${lives} ${placed} ${exists}`;
      const state = this.stateOf(stream, minute);
      const isQuiet = state.seen === text;
      state.seen = text;
      // Records are gone, or have come, although the lines stayed as they were. Those of a minute that no whole look has seen are what its lines name.
      if (recorded !== undefined && recorded !== (state.recorded ?? placed)) state.compared = '';
      state.recorded = recorded ?? state.recorded;
      const isChanged = state.compared !== text;
      const isOverdue = now - state.comparedAt > pendingEveryMs;
      // While a minute goes on, what is settled of it covers what is counted, unless something is lost or late.
      const isWorth = isChanged && isOverdue && (!isCovered || this.isOver(minute));
      if (isQuiet ? isOpen(state) : isWorth) minutes.push(minute);
    }
    this.forget(stream, seen);
    // What its older minutes lack is due as soon as that of the present ones.
    if (hadExisted !== undefined && hadExisted !== exists) this.reopenAll(stream);
    return firstOf(minutes, seen, (minute) => this.stateOf(stream, minute));
  }

  reopen(stream: string, minute: number): void {
    // Of older ones that are not known lines may have expired: as many are compared as after a start.
    const isRecent = minute >= this.options.now() / 1000 - firstSeconds;
    if (isRecent || this.minutes.has(minuteKey(stream, minute)))
      this.stateOf(stream, minute).isPending = true;
  }

  compared(stream: string, minutes: readonly number[], pending: ReadonlySet<number>): void {
    const now = this.options.elapsed();
    for (const minute of minutes) {
      const state = this.minutes.get(minuteKey(stream, minute));
      if (state === undefined) continue;
      state.compared = state.seen;
      state.comparedAt = now;
      state.isPending = pending.has(minute);
    }
  }

  end(): void {
    this.endedAt = this.beganAt;
    if (!this.isWhole) return;
    this.wholeAt = this.beganAt;
    this.isFirst = false;
    this.isWholeDue = false;
    this.isTouched = false;
  }

  private stateOf(stream: string, minute: number): MinuteState {
    const key = minuteKey(stream, minute);
    const known = this.minutes.get(key);
    if (known !== undefined) return known;
    const state: MinuteState = {
      ...{ stream, minute, seen: '', compared: '' },
      ...{ recorded: undefined, comparedAt: 0, isPending: false },
    };
    this.minutes.set(key, state);
    return state;
  }

  /** The newest of those with something left to compare: as many as one look compares. */
  private openMinutes(): number[] {
    const open = new Set<number>();
    for (const state of this.minutes.values()) if (isOpen(state)) open.add(state.minute);
    return [...open].toSorted((left, right) => right - left).slice(0, minutesPerLook);
  }

  /** Every known minute of the stream is to be compared. */
  private reopenAll(stream: string): void {
    for (const state of this.minutes.values()) if (state.stream === stream) state.compared = '';
  }

  /** Whether the lines of this minute (Unix seconds) have come, by the clock of this process. */
  private isOver(minute: number): boolean {
    return this.options.now() / 1000 >= minute + 60 + lineSeconds;
  }

  /** What has left the window, and what is no longer there, is not compared again, so nothing of it is remembered. */
  private forget(stream: string, seen: ReadonlyMap<number, SeenMinute>): void {
    for (const [key, state] of this.minutes) {
      if (state.stream !== stream || seen.has(state.minute)) continue;
      if (this.asked.has(state.minute) || (this.isWhole && !isOpen(state))) this.minutes.delete(key);
    }
  }
}

export const createDueMinutes = (options: DueMinutesOptions): DueMinutes => new Minutes(options);

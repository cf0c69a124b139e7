import type { Outline } from './books.ts';

/**
 * Which minutes of the streams are to be compared: those in which something has changed, once they are quiet. Most looks read the outlines
 * of the last minutes alone, because those of two hours cost ClickHouse as much as all else of a look.
 */
export type DueMinutes = {
  /** Begins a look. Returns how far back the lines are read that it needs, in seconds. */
  begin(): number;
  /** The minutes of a stream (Unix seconds) that are due by the outlines of this look. `exists`: whether the stream does. */
  of(stream: string, outlines: readonly Outline[], exists: boolean): number[];
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
type MinuteState = { seen: string; compared: string; comparedAt: number; isPending: boolean };

/** Lines of this long before the first look are compared, in case an earlier process left some undone. */
const firstSeconds = 48 * 3_600;
export const windowSeconds = 2 * 3_600;
const recentSeconds = 600;
/** The whole window is read this often, and again at once where one of its older minutes has changed. */
const windowEveryMs = 60_000;
const minutesPerLook = 240;
/** The lines of these messages are read at once. */
const messagesPerLook = 1_000_000;
/** Lines are in ClickHouse after this time, unless something is late. */
const lineSeconds = 15;
/** Minutes with something on its way are compared again after this time, even without a change. */
const pendingEveryMs = 25_000;

/** A minute of a stream, as the outlines of its lives have it. */
type SeenMinute = { text: string; messages: number; isCovered: boolean };

const seenMinutes = (stream: string, outlines: readonly Outline[]): Map<number, SeenMinute> => {
  const seen = new Map<number, SeenMinute>();
  for (const { stream: name, minute, life, messages, items, settledItems, recordedItems } of outlines) {
    if (name !== stream) continue;
    const lives = seen.get(minute) ?? { text: '', messages: 0, isCovered: true };
    seen.set(minute, lives);
    lives.text += ` ${life}:${messages}:${items}:${settledItems}:${recordedItems}`;
    lives.messages += messages;
    lives.isCovered &&= settledItems >= items;
  }
  return seen;
};

/** As many as one look compares, the newest first: what is lost now shows before a backlog is worked off. At least one. */
const firstOf = (minutes: readonly number[], seen: ReadonlyMap<number, SeenMinute>): number[] => {
  const taken: number[] = [];
  let sum = 0;
  for (const minute of minutes.toSorted((left, right) => right - left)) {
    sum += seen.get(minute)?.messages ?? 0;
    if (taken.length === minutesPerLook || (taken.length > 0 && sum > messagesPerLook)) break;
    taken.push(minute);
  }
  return taken.toSorted((left, right) => left - right);
};

class Minutes implements DueMinutes {
  private readonly minutes = new Map<string, MinuteState>();
  /** Until every minute of the first window was compared. */
  private isFirst = true;
  /** Whether this look reads the whole window. */
  private isWhole = true;
  /** A minute that only a whole look reads has changed, has something on its way, or was left for the next look. */
  private isUnsettled = true;
  /** An older minute was never compared. One that goes on changing was: it must not hold the first window open. */
  private isIncomplete = false;
  /** False while a look goes on, and after one that failed. */
  private isEnded = true;
  private wholeDueAt = 0;
  private readonly existed = new Map<string, boolean>();
  private readonly options: DueMinutesOptions;

  constructor(options: DueMinutesOptions) {
    this.options = options;
  }

  begin(): number {
    const now = this.options.elapsed();
    this.isWhole = this.isUnsettled || !this.isEnded || now >= this.wholeDueAt;
    this.isEnded = false;
    if (!this.isWhole) return recentSeconds;
    this.wholeDueAt = now + windowEveryMs;
    this.isUnsettled = false;
    this.isIncomplete = false;
    return this.isFirst ? firstSeconds : windowSeconds;
  }

  of(stream: string, outlines: readonly Outline[], exists: boolean): number[] {
    const now = this.options.elapsed();
    // What its older minutes lack is due as soon as that of the present ones.
    if (this.existed.get(stream) !== exists) this.isUnsettled = true;
    this.existed.set(stream, exists);
    const oldBefore = this.oldBefore();
    const seen = seenMinutes(stream, outlines);
    const minutes: number[] = [];
    for (const [minute, { text: lives, isCovered }] of seen) {
      const key = `${stream} ${minute}`;
      const text = `${lives} ${exists}`;
      const state = this.minutes.get(key) ?? { seen: '', compared: '', comparedAt: 0, isPending: false };
      this.minutes.set(key, state);
      const isQuiet = state.seen === text;
      state.seen = text;
      const isChanged = state.compared !== text;
      const isOverdue = now - state.comparedAt > pendingEveryMs;
      // While a minute goes on, what is settled of it covers what is counted, unless something is lost or late.
      const isWorth = isChanged && isOverdue && (!isCovered || this.isOver(minute));
      if (isQuiet ? isChanged || state.isPending : isWorth) minutes.push(minute);
      else if (isChanged && minute < oldBefore) {
        this.isUnsettled = true;
        this.isIncomplete ||= state.compared === '';
      }
    }
    if (this.isWhole) this.forget(stream, seen);
    const taken = firstOf(minutes, seen);
    if (taken.length < minutes.length) {
      this.isUnsettled = true;
      this.isIncomplete = true;
    }
    return taken;
  }

  /** Minutes before this one (Unix seconds) may be read by whole looks alone. */
  private oldBefore(): number {
    return this.options.now() / 1000 - recentSeconds;
  }

  /** Whether the lines of this minute (Unix seconds) have come, by the clock of this process. */
  private isOver(minute: number): boolean {
    return this.options.now() / 1000 >= minute + 60 + lineSeconds;
  }

  /** What left the window is not compared again, so nothing of it is remembered. */
  private forget(stream: string, seen: ReadonlyMap<number, SeenMinute>): void {
    for (const key of this.minutes.keys())
      if (key.startsWith(`${stream} `) && !seen.has(Number(key.slice(stream.length + 1))))
        this.minutes.delete(key);
  }

  compared(stream: string, minutes: readonly number[], pending: ReadonlySet<number>): void {
    const now = this.options.elapsed();
    for (const minute of minutes) {
      const state = this.minutes.get(`${stream} ${minute}`);
      if (state === undefined) continue;
      state.compared = state.seen;
      state.comparedAt = now;
      state.isPending = pending.has(minute);
      if (state.isPending && minute < this.oldBefore()) this.isUnsettled = true;
    }
  }

  end(): void {
    this.isEnded = true;
    this.isFirst &&= this.isIncomplete;
  }
}

export const createDueMinutes = (options: DueMinutesOptions): DueMinutes => new Minutes(options);

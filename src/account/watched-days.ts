import { createDaysToCompare, dayKey, type SeenDay } from './days-to-compare.ts';
import { besideShare, changedShare, restAfter, searchShare, urgentShare } from './rest.ts';

/** Which days of the stores a look reads row by row, while others say enough by the sizes of their parts. */
export type WatchedDays = {
  /**
   * The days whose rows this look compares, from all that it saw; those of data ids whose sizes are unknown stay as they were. The days of
   * all applications of a signal of which it compares those that rest (`resting`), because others are written to. And whether the next look
   * is to come soon: a day is new, changes after it was quiet, or has changed and is to be read in a moment.
   */
  next(
    seen: readonly SeenDay[],
    unknownOwners?: Pick<ReadonlySet<number>, 'has'>,
  ): { readonly due: SeenDay[]; readonly resting: SeenDay[]; readonly isNextSoon: boolean };
  /**
   * These were equal, or their difference is known; it took `readMs` to read the rows of all that were due, and `restingMs`
   * those of `resting`.
   */
  compared(days: readonly SeenDay[], readMs: number, restingMs?: number): void;
};

export type WatchedDaysOptions = {
  /** Days since 1970. */
  readonly today: () => number;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
};

/** Days that one look compares row by row. */
const daysPerLook = 200;
/** Days of which one look compares the applications that rest: the newest ones. */
const restingDaysMax = 6;
/** The present days are compared again at each calm look and while they are written to, older ones in turn. */
const againMs = { busy: 38_000, recent: 38_000, older: 3_600_000, resting: 38_000 };
/** The rows of a write are seen at one look, and its records may come before the next one: a day that changes more often is written to. */
const newChangesMax = 2;

/** A look that comes soon comes after this time. */
const soonMs = 20_000;

/** The records are read before the store: what they name must be there, and what was there at the look before must be named now. */
const isContradicting = (day: SeenDay, before: SeenDay): boolean =>
  day.recorded > day.stored || before.stored > day.recorded;

/**
 * Whether the rows of a day are to be read: it is quiet, or was written to for a while. Whether a day is written to shows when it is seen
 * for the second time. `sinceComparedMs`: since it was compared or first seen.
 */
export const isToBeRead = (day: SeenDay, before: SeenDay | undefined, sinceComparedMs: number): boolean =>
  before !== undefined && (before.state === day.state || sinceComparedMs >= againMs.busy);

/** What the looks remember of a day. */
export type WatchedDay = {
  readonly seen: SeenDay;
  /** Looks in a row at which it was new, or other than at the one before. */
  readonly changes: number;
  /** When it was compared last, or first seen. */
  readonly comparedAt: number;
  /** Rows that the store had beyond the records when the day was compared last. */
  readonly comparedExcess: number | undefined;
  /** It has changed, or is new, and was not compared since. Of the days of before the start this is not known. */
  readonly isChanged: boolean;
};

const excessOf = ({ stored, recorded }: SeenDay): number => stored - recorded;

/** Whether its numbers contradict each other, and otherwise than when it was compared: then rows are missing, or have no record. */
export const isUrgent = (day: SeenDay, { seen, comparedExcess }: WatchedDay): boolean =>
  isContradicting(day, seen) && comparedExcess !== excessOf(day);

/** Whether it has changed since it was compared, and is quiet by now. */
const isQuietAgain = (day: SeenDay, { seen, isChanged }: WatchedDay): boolean =>
  seen.state === day.state && isChanged;

/** Days that contradict their records, those that have changed, and others; the most urgent first. */
const kinds = ['urgent', 'changed', 'calm'] as const;
type Kind = (typeof kinds)[number];
const shareOf: Readonly<Record<Kind, number>> = {
  urgent: urgentShare,
  changed: changedShare,
  calm: searchShare,
};

const kindOf = (day: SeenDay, before: WatchedDay): Kind => {
  if (isUrgent(day, before)) return 'urgent';
  return isQuietAgain(day, before) ? 'changed' : 'calm';
};

const seenAgain = (
  seen: SeenDay,
  before: WatchedDay | undefined,
  now: number,
  isFirstLook: boolean,
): WatchedDay => ({
  seen,
  changes: before?.seen.state === seen.state ? 0 : 1 + (before?.changes ?? 0),
  comparedAt: before?.comparedAt ?? now,
  comparedExcess: before?.comparedExcess,
  isChanged: before === undefined ? !isFirstLook : before.isChanged || before.seen.state !== seen.state,
});

const beganToChange = ({ changes }: WatchedDay): boolean => changes > 0 && changes <= newChangesMax;

export const createWatchedDays = ({ today, elapsed }: WatchedDaysOptions): WatchedDays => {
  const toCompare = createDaysToCompare(({ day }) => day >= today() - 1, againMs);
  let watched = new Map<string, WatchedDay>();
  /** When rows of each kind may be read again. */
  const readableAt = { urgent: 0, changed: 0, calm: 0, resting: 0 };
  /** Of the last look. */
  let kindsRead: ReadonlySet<Kind> = new Set();
  let isFirstLook = true;

  const change = (day: SeenDay, changed: Partial<WatchedDay>): void => {
    const known = watched.get(dayKey(day));
    if (known !== undefined) watched.set(dayKey(day), { ...known, ...changed });
  };

  return {
    next: (seen, unknownOwners = new Set()) => {
      const now = elapsed();
      const before = watched;
      const isUnknown = ({ seen: { pipeline, owner } }: WatchedDay): boolean =>
        pipeline === 'metrics' && unknownOwners.has(owner);
      watched = new Map([
        ...[...before].filter(([, each]) => isUnknown(each)),
        ...seen.map(
          (day) => [dayKey(day), seenAgain(day, before.get(dayKey(day)), now, isFirstLook)] as const,
        ),
      ]);
      isFirstLook = false;
      toCompare.keep((key) => watched.has(key));
      let isReadSoon = false;
      const busy: SeenDay[] = [];
      const readable = seen.filter((day) => {
        const known = before.get(dayKey(day));
        if (known === undefined) return false;
        if (!isToBeRead(day, known.seen, now - known.comparedAt)) {
          busy.push(day);
          return false;
        }
        const at = readableAt[kindOf(day, known)];
        if (now < at && known.seen.state !== day.state) busy.push(day);
        isReadSoon ||= isQuietAgain(day, known) && now < at && at <= now + soonMs;
        return now >= at;
      });
      const due = toCompare.next(readable, daysPerLook, now);
      const shared = busy.filter(({ owner }) => owner === 0).toSorted((a, b) => b.day - a.day);
      const resting = now >= readableAt.resting ? shared.slice(0, restingDaysMax) : [];
      if (resting.length > 0) readableAt.resting = now + againMs.resting;
      kindsRead = new Set(
        due.flatMap((day) => {
          const known = before.get(dayKey(day));
          return known === undefined ? [] : [kindOf(day, known)];
        }),
      );
      for (const day of due) change(day, { comparedAt: now });
      const hasNewlyWritten = [...watched.values()].some((each) => beganToChange(each) && !isUnknown(each));
      return { due, resting, isNextSoon: hasNewlyWritten || isReadSoon };
    },
    compared: (days, readMs, restingMs = 0) => {
      const now = elapsed();
      for (const day of days) {
        toCompare.compared(day, now);
        change(day, { comparedExcess: excessOf(day), isChanged: false });
      }
      readableAt.resting = Math.max(readableAt.resting, now + restAfter(restingMs, besideShare));
      // What is read often must not put off for ever what has to wait longer.
      const last = kinds.findLastIndex((kind) => kindsRead.has(kind));
      for (const kind of kinds.slice(0, last + 1))
        readableAt[kind] = Math.max(readableAt[kind], now + restAfter(readMs, shareOf[kind]));
    },
  };
};

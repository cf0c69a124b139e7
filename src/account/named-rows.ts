import { daySeconds } from '../model/time.ts';
import { type Difference, isOfStore } from './difference.ts';
import { ownerText } from './explain-losses.ts';
import { minuteKey } from './listed-minutes.ts';

/** What the looks of this process have explained by rows of the stores: by stream and minute, then by `ownerText`. */
export type ExplainedByStore = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** By owner: items that the books call unrecorded, and whose rows the store has: by minutes that were compared, else as they are stored. */
export const namedByBooks = (
  found: Iterable<Difference>,
  byStore: ExplainedByStore,
  isPossible: (stored: Difference) => boolean = () => true,
): Map<string, number> => {
  const named = new Map<string, number>();
  const add = (owner: string, items: number): void => {
    named.set(owner, items + (named.get(owner) ?? 0));
  };
  for (const owners of byStore.values()) for (const [owner, items] of owners) add(owner, items);
  // A later process compares old minutes no more.
  for (const each of found)
    if (
      each.kind === 'unrecorded' &&
      !isOfStore(each) &&
      !byStore.has(minuteKey(each.stream, each.minute)) &&
      isPossible(each)
    )
      add(ownerText(each), each.items);
  return named;
};

/**
 * Of the rows without a record by owner (`sums`; `byDay`: by event day, too) those that the books have not named. Of what an earlier process
 * found, minutes before the first of these days count not: their rows may have expired.
 */
export const notNamedByBooks = (
  sums: ReadonlyMap<string, number>,
  byDay: ReadonlyMap<string, ReadonlyMap<number, number>>,
  found: Iterable<Difference>,
  byStore: ExplainedByStore,
): Map<string, number> => {
  const firstDays = new Map([...byDay].map(([owner, days]) => [owner, Math.min(...days.keys())]));
  const isPossible = (each: Difference): boolean =>
    each.minute >= ((firstDays.get(ownerText(each)) ?? 0) - 1) * daySeconds;
  const named = namedByBooks(found, byStore, isPossible);
  return new Map([...sums].map(([owner, rows]) => [owner, Math.max(0, rows - (named.get(owner) ?? 0))]));
};

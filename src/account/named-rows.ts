import { sumOf } from '../model/sums.ts';
import { daySeconds } from '../model/time.ts';
import { type Difference, isOfStore, type Owner } from './difference.ts';
import { ownerText } from './explain-losses.ts';
import { minuteKey, minuteOfKey } from './listed-minutes.ts';

/** What the looks of this process have explained by rows of the stores: by stream and minute, then by `ownerText`. */
export type ExplainedByStore = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** By `ownerText` and day (days since 1970) of the minute of arrival. */
type ItemsByDay = Map<string, Map<number, number>>;

/** By owner: items that the books call unrecorded, and whose rows the store has: by minutes that were compared, else as they are stored. */
const namedByBooks = (
  found: Iterable<Difference>,
  byStore: ExplainedByStore,
  isPossible: (stored: Difference) => boolean = () => true,
): ItemsByDay => {
  const named: ItemsByDay = new Map();
  const add = (owner: string, minute: number, items: number): void => {
    const day = Math.floor(minute / daySeconds);
    const days = named.get(owner) ?? new Map<number, number>();
    named.set(owner, days.set(day, items + (days.get(day) ?? 0)));
  };
  for (const [key, owners] of byStore)
    for (const [owner, items] of owners) add(owner, minuteOfKey(key), items);
  // A later process compares old minutes no more.
  for (const each of found)
    if (
      each.kind === 'unrecorded' &&
      !isOfStore(each) &&
      !byStore.has(minuteKey(each.stream, each.minute)) &&
      isPossible(each)
    )
      add(ownerText(each), each.minute, each.items);
  return named;
};

/** Rows of an owner without a record, of an event day where it is known. */
type Rows = Owner & { readonly day?: number | undefined; readonly items: number };

/**
 * How many of each of these rows the books have named already. What arrived on an event day is taken off that day first, and what is left
 * off the others.
 */
export const takeNamed = <R extends Rows>(
  rows: readonly R[],
  found: Iterable<Difference>,
  byStore: ExplainedByStore,
): Map<R, number> => {
  const named = namedByBooks(found, byStore);
  const taken = new Map<R, number>();
  const take = (row: R, days: Map<number, number>, day: number): void => {
    const there = days.get(day) ?? 0;
    const known = taken.get(row) ?? 0;
    const items = Math.min(row.items - known, there);
    taken.set(row, known + items);
    days.set(day, there - items);
  };
  const placed = rows.flatMap((row) => {
    const days = named.get(ownerText(row));
    return days === undefined ? [] : { row, days };
  });
  for (const { row, days } of placed) if (row.day !== undefined) take(row, days, row.day);
  for (const { row, days } of placed) for (const day of days.keys()) take(row, days, day);
  return taken;
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
  return new Map(
    [...sums].map(([owner, rows]) => [owner, Math.max(0, rows - sumOf(named.get(owner)?.values() ?? []))]),
  );
};

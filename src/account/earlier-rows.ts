import { sumOf } from '../model/sums.ts';
import { daySeconds } from '../model/time.ts';
import { type Difference, isOfStore, type Owner } from './difference.ts';
import { ownerText } from './explain-losses.ts';

/**
 * Rows without a record that looks at the stores named before some messages arrived: foreign ones. They are not the rows of those messages,
 * and explain no loss of them.
 */
export type EarlierRows = {
  /** Takes over what is found now. To be called at each look. */
  note(found: Iterable<Difference>): void;
  /** Takes over the rows without a record that the stores have now, by `ownerText` and event day. Returns the sum of each owner. */
  read(rows: RowsByOwner): Map<string, number>;
  /** How many of the rows of an owner that were read last were named before this minute (Unix seconds). */
  before(owner: Owner, minute: number): number;
  /** The event days of the rows of an owner that were read last. */
  days(owner: Owner): readonly number[];
};

export type RowsByOwner = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** A figure of an event day, and since when it is known, Unix seconds. */
type Figure = { readonly at: number; readonly items: number };

/** The clocks of a receiver and of this process may differ by this much. */
const clockSeconds = 60;
/** Minutes of longer ago are seldom compared: of what was before, the last figure is enough. */
const keptSeconds = 48 * 3_600;

/** `now`: Unix seconds. */
export const createEarlierRows = (now: () => number): EarlierRows => {
  /** By owner and event day, the oldest first. */
  const owners = new Map<string, Map<number, Figure[]>>();
  const readLast = new Map<string, ReadonlyMap<number, number>>();

  const add = (owner: string, day: number, { at, items }: Figure): void => {
    const days = owners.get(owner) ?? new Map<number, Figure[]>();
    const figures = days.get(day) ?? [];
    if (figures.at(-1)?.items === items) return;
    owners.set(owner, days.set(day, figures));
    figures.push({ at, items });
    while (figures[1] !== undefined && figures[1].at < now() - keptSeconds) figures.shift();
  };

  return {
    note: (found) => {
      const present = new Set<string>();
      for (const each of found) {
        if (each.kind !== 'unrecorded' || !isOfStore(each)) continue;
        const day = each.minute / daySeconds;
        present.add(`${ownerText(each)} ${day}`);
        // Rows that are read are there, also where a clock that was ahead has stored them with a later time.
        add(ownerText(each), day, { at: Math.min(each.foundAt ?? now(), now()), items: each.items });
      }
      for (const [owner, days] of owners)
        for (const day of days.keys())
          if (!present.has(`${owner} ${day}`)) add(owner, day, { at: now(), items: 0 });
    },
    read: (rows) => {
      const sums = new Map<string, number>();
      for (const [owner, byDay] of rows) {
        readLast.set(owner, byDay);
        sums.set(owner, sumOf(byDay.values()));
      }
      return sums;
    },
    days: (owner) => [...(readLast.get(ownerText(owner))?.keys() ?? [])],
    before: (owner, minute) => {
      let rows = 0;
      for (const [day, figures] of owners.get(ownerText(owner)) ?? []) {
        const from = figures.findLastIndex(({ at }) => at + clockSeconds <= minute);
        if (from < 0) continue;
        // What has become less since then is not there any more.
        const named = figures.slice(from).map(({ items }) => items);
        rows += Math.min(readLast.get(ownerText(owner))?.get(day) ?? 0, ...named);
      }
      return rows;
    },
  };
};

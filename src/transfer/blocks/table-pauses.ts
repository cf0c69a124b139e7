import { setNewest } from '../../model/bounded-map.ts';
import { backOffMs } from '../../runtime/back-off.ts';
import type { Piece } from './pieces.ts';

/** A table and day: an insert has the rows of one. */
export type Place = Pick<Piece, 'table' | 'tableAndDay'>;

/**
 * The tables and days that take no rows while the store takes those of others: writes leave them out, and try them again at growing
 * pauses, so that the others do not wait for them.
 */
export type TablePauses = {
  /** Whether the next write leaves it out. Never while nothing else is stored: then it may be the store. */
  isPaused(place: Place): boolean;
  /** Whether its last try failed. */
  has(place: Place): boolean;
  stored(place: Place): void;
  failed(place: Place, why: string): void;
  /** Whether another table or day than those that fail was stored within the last minutes. */
  isStoreWell(): boolean;
  /** Time until its next try, ms. */
  waitMs(place: Place): number;
  /** The tables that take no rows, each with the reason; undefined without one. */
  readonly problem: string | undefined;
};

export type TablePausesOptions = {
  /** A steady clock, ms. */
  readonly now: () => number;
  /** A table takes no rows from now on, and why; undefined: all of its days take rows again. */
  readonly onChange: (table: string, why: string | undefined) => void;
};

type Paused = {
  readonly table: string;
  readonly why: string;
  readonly failures: number;
  readonly nextTryAt: number;
  seenAt: number;
};

const pauses = { firstMs: 1_000, mostMs: 30_000 };

/** Longer than the usual minute between two exports of metrics. */
const wellMs = 5 * 60_000;

/** Messages that wait come back after the longest pause at the latest. Without any for this time, another process has settled them. */
const unseenMsMax = 2 * pauses.mostMs;

/** Above this number the oldest are forgotten. */
const placesMax = 1_000;

export const createTablePauses = ({ now, onChange }: TablePausesOptions): TablePauses => {
  const paused = new Map<string, Paused>();
  const storedAt = new Map<string, number>();

  const isFailing = (table: string): boolean => paused.values().some((each) => each.table === table);
  const isStoreWell = (): boolean => storedAt.values().some((at) => now() - at <= wellMs);
  const waitMs = ({ tableAndDay }: Place): number =>
    Math.max(0, (paused.get(tableAndDay)?.nextTryAt ?? 0) - now());

  const forget = (tableAndDay: string): void => {
    const known = paused.get(tableAndDay);
    if (known === undefined) return;
    paused.delete(tableAndDay);
    if (!isFailing(known.table)) onChange(known.table, undefined);
  };

  const forgetUnseen = (): void => {
    for (const [key, { seenAt }] of paused) if (now() - seenAt > unseenMsMax) forget(key);
  };

  return {
    isPaused: (place) => {
      const known = paused.get(place.tableAndDay);
      if (known === undefined) return false;
      known.seenAt = now();
      return waitMs(place) > 0 && isStoreWell();
    },
    has: ({ tableAndDay }) => paused.has(tableAndDay),
    stored: ({ tableAndDay }) => {
      setNewest(storedAt, tableAndDay, now(), placesMax);
      forget(tableAndDay);
    },
    failed: ({ table, tableAndDay }, why) => {
      storedAt.delete(tableAndDay);
      // What fails with everything else does not wait longer for it.
      const failures = isStoreWell() ? (paused.get(tableAndDay)?.failures ?? 0) + 1 : 1;
      const isNew = !isFailing(table);
      const nextTryAt = now() + backOffMs(pauses, failures);
      setNewest(paused, tableAndDay, { table, why, failures, nextTryAt, seenAt: now() }, placesMax);
      if (isNew) onChange(table, why);
    },
    isStoreWell,
    waitMs,
    get problem() {
      forgetUnseen();
      const whys = new Map([...paused.values()].map(({ table, why }) => [table, why]));
      if (whys.size === 0) return undefined;
      return `takes no rows, its messages wait: ${[...whys].map(([table, why]) => `${table} (${why})`).join(', ')}`;
    },
  };
};

import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { type Difference, differenceKinds } from './day-difference.ts';
import { judgeSteady, readSteady, SteadyDay, type SteadyReading } from './steady-days.ts';
import type { SlicedStore } from './uid-slices.ts';

/** A day of an owner that may be written to. */
export type StoreDay = { readonly store: SlicedStore; readonly day: number };

/** Names an owner and day. */
export const storeDayName = ({ store: { pipeline, owner }, day }: StoreDay): string =>
  `${pipeline} ${owner} ${day}`;

/** Days that one comparison reads in slices: in turn, where more of them differ. Each takes some megabytes while it is read. */
const daysMax = 4;
const minuteMs = 60_000;
/** What was recorded in these seconds may have company on its way. Each round adds this number. */
const freshSeconds = 30;

/** Compares the days of one comparison that are written to, in slices of their uids, over its rounds. */
export class SteadyComparison {
  private readonly clickhouse: Clickhouse;
  private readonly startedAt = performance.now();
  private readonly first: number;
  private rounds = 0;
  /** The days that the first round has chosen. */
  private chosen: ReadonlySet<string> | undefined;
  private readonly readings = new Map<string, SteadyReading>();
  private readonly days = new Map<string, SteadyDay>();
  /** Of days as a whole. */
  private readonly certain = new Map<string, readonly Difference[]>();

  constructor(clickhouse: Clickhouse, now: number) {
    this.clickhouse = clickhouse;
    this.first = Math.floor(now / minuteMs) * daysMax;
  }

  /** Reads the slices of days that seem to differ; what is on its way then is to be waited for. Throws the Faults of the stores. */
  async read(days: readonly StoreDay[]): Promise<void> {
    const elapsedSeconds = Math.ceil((performance.now() - this.startedAt) / 1_000);
    this.rounds++;
    this.readings.clear();
    for (const each of this.choose(days)) {
      const seconds = this.rounds * freshSeconds + elapsedSeconds;
      const reading = await readSteady(this.clickhouse, each.store, each.day, seconds);
      if (reading !== undefined) this.readings.set(storeDayName(each), reading);
    }
  }

  isRead(day: StoreDay): boolean {
    return this.readings.has(storeDayName(day));
  }

  /** Judges what was read of a day that was written to; `certain` differs of the day as a whole. Throws the Faults of the stores. */
  async judge(each: StoreDay, isCaughtUp: boolean, certain: readonly Difference[]): Promise<void> {
    const name = storeDayName(each);
    this.certain.set(name, largerOf(certain, this.certain.get(name) ?? []));
    const reading = this.readings.get(name);
    this.readings.delete(name);
    if (reading === undefined) return;
    const day = this.days.get(name) ?? new SteadyDay();
    day.add(await judgeSteady(this.clickhouse, each.store, reading, isCaughtUp));
    this.days.set(name, day);
  }

  /** All but the newest rows of the day were compared. */
  isWhole(day: StoreDay): boolean {
    return this.days.get(storeDayName(day))?.isWhole ?? false;
  }

  /** Another round has to confirm what was found. */
  isAsking(day: StoreDay): boolean {
    return this.days.get(storeDayName(day))?.isAsking ?? false;
  }

  /** Of each kind the larger figure: of the day as a whole, or of its slices. */
  differences(day: StoreDay): Difference[] {
    const name = storeDayName(day);
    return largerOf(this.days.get(name)?.differences ?? [], this.certain.get(name) ?? []);
  }

  private choose(days: readonly StoreDay[]): StoreDay[] {
    const { chosen } = this;
    if (chosen !== undefined) return days.filter((each) => chosen.has(storeDayName(each)));
    const first = days.length > daysMax ? this.first % days.length : 0;
    const inTurn = [...days.slice(first), ...days.slice(0, first)].slice(0, daysMax);
    this.chosen = new Set(inTurn.map(storeDayName));
    return inTurn;
  }
}

/** Of each kind the larger figure. */
const largerOf = (...all: (readonly Difference[])[]): Difference[] =>
  differenceKinds.flatMap((kind) => {
    const rows = Math.max(0, ...all.flat().flatMap((each) => (each.kind === kind ? [each.rows] : [])));
    return rows === 0 ? [] : [{ kind, rows }];
  });

import { dayMs } from '../../model/time.ts';

/** Rows of one event day (days since 1970, UTC) in a run: their number and the sum of their ordinals. */
export type RunDay = { readonly day: number; readonly rows: number; readonly ordinals: number };

/** Event days that a run distinguishes. */
export const runDaysMax = 512;

type Count = { readonly day: number; rows: number; ordinals: number };

const newCount = (day: number): Count => ({ day, rows: 0, ordinals: 0 });

/** Counts the rows of a run by event day. A row of the same day as the row before costs two comparisons and two additions. */
export class DayTally {
  /** The current day in milliseconds: [from, until). */
  private from = 0;
  private until = 0;
  private current = newCount(0);
  /** All days, as soon as there are two. */
  private readonly days = new Map<number, Count>();

  /** Adds rows of one time (ms), with the sum of their ordinals. */
  add(time: number, rows: number, ordinals: number): void {
    if (time < this.from || time >= this.until) this.turn(time);
    const { current } = this;
    current.rows += rows;
    current.ordinals += ordinals;
  }

  /** The days so far, ascending; none where there are more than `runDaysMax`. The tally is empty afterwards. */
  take(): RunDay[] {
    const { current, days } = this;
    let taken: RunDay[] = current.rows === 0 ? [] : [current];
    if (days.size > 0)
      taken = days.size > runDaysMax ? [] : [...days.values()].toSorted((a, b) => a.day - b.day);
    this.clear();
    return taken;
  }

  clear(): void {
    this.from = this.until = 0;
    this.current = newCount(0);
    if (this.days.size > 0) this.days.clear();
  }

  private turn(time: number): void {
    const { current, days } = this;
    const day = Math.floor(time / dayMs);
    this.from = day * dayMs;
    this.until = this.from + dayMs;
    if (current.rows > 0 && days.size === 0) days.set(current.day, current);
    const known = days.get(day);
    this.current = known ?? newCount(day);
    // One more than are reported shows that there are too many.
    if (known === undefined && days.size > 0 && days.size <= runDaysMax) days.set(day, this.current);
  }
}

import { dayMs } from '../../model/time.ts';

/** Rows of one event day (days since 1970, UTC) in a run: their number and the sum of their ordinals. */
export type RunDay = { readonly day: number; readonly rows: number; readonly ordinals: number };

/** Event days that a run tells apart. */
export const runDaysMax = 512;

type Count = { readonly rows: number; readonly ordinals: number };

/** Counts the rows of a run by event day. A row of the same day as the row before costs two comparisons and two additions. */
export class DayTally {
  /** The current day in milliseconds: [from, until). */
  private from = 0;
  private until = 0;
  private rows = 0;
  private ordinals = 0;
  /** The other days. */
  private readonly others = new Map<number, Count>();
  private isTooMany = false;

  /** Adds rows of one time (ms), with the sum of their ordinals. */
  add(time: number, rows: number, ordinals: number): void {
    if (time < this.from || time >= this.until) this.turn(time);
    this.rows += rows;
    this.ordinals += ordinals;
  }

  /** The days so far, ascending; none where there are more than `runDaysMax`. The tally is empty afterwards. */
  take(): RunDay[] {
    const days: RunDay[] = [];
    if (this.rows > 0) days.push({ day: this.from / dayMs, rows: this.rows, ordinals: this.ordinals });
    if (this.others.size > 0) {
      for (const [day, { rows, ordinals }] of this.others) days.push({ day, rows, ordinals });
      days.sort((a, b) => a.day - b.day);
    }
    const isTold = !this.isTooMany && days.length <= runDaysMax;
    this.clear();
    return isTold ? days : [];
  }

  clear(): void {
    this.from = this.until = this.rows = this.ordinals = 0;
    this.isTooMany = false;
    if (this.others.size > 0) this.others.clear();
  }

  private turn(time: number): void {
    const { others } = this;
    if (others.size >= runDaysMax) this.isTooMany = true;
    else if (this.rows > 0) others.set(this.from / dayMs, { rows: this.rows, ordinals: this.ordinals });
    const day = Math.floor(time / dayMs);
    this.from = day * dayMs;
    this.until = this.from + dayMs;
    const known = this.isTooMany ? undefined : others.get(day);
    this.rows = known?.rows ?? 0;
    this.ordinals = known?.ordinals ?? 0;
    if (known !== undefined) others.delete(day);
  }
}

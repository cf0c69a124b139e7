import { randomInt } from 'node:crypto';

const word = 3;
const slotsMin = 64;
/** A slot that was never filled has this minute. */
const empty = 0;

/** A table in a form that passes between threads by structured clone. */
export type SeriesSnapshot = { readonly slots: Int32Array; readonly held: number; readonly seed: number };

const newSnapshot = (): SeriesSnapshot => ({
  slots: new Int32Array(word * slotsMin),
  held: 0,
  seed: randomInt(2 ** 32),
});

/**
 * The series of one application by their 64-bit hashes, each with the minute of its latest data point: an open-addressed table of 12
 * bytes a slot, filled to three quarters at most, so 16 to 32 bytes a series. Minutes are whole numbers above 0.
 */
export class SeriesTable {
  private slots: Int32Array;
  private mask: number;
  private count: number;

  /** Senders choose their series, but not which of them share a slot. */
  private readonly seed: number;

  constructor({ slots, held, seed }: SeriesSnapshot = newSnapshot()) {
    this.slots = slots;
    this.mask = slots.length / word - 1;
    this.count = held;
    this.seed = seed;
  }

  /** Series in the table, those that have expired since the last sweep among them. */
  get held(): number {
    return this.count;
  }

  get bytes(): number {
    return this.slots.byteLength;
  }

  get snapshot(): SeriesSnapshot {
    return { slots: this.slots, held: this.count, seed: this.seed };
  }

  /** The slot where the search for a series begins. */
  private homeOf(low: number, high: number): number {
    const mixed = Math.imul(low ^ this.seed, 0x9e3779b1) ^ Math.imul(high + this.seed, 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & this.mask;
  }

  /** The index of the slot of a series, or of the empty one where it belongs. */
  private indexOf(low: number, high: number): number {
    const { slots, mask } = this;
    let slot = this.homeOf(low, high);
    for (;;) {
      const at = word * slot;
      if (slots[at + 2] === empty || (slots[at] === (low | 0) && slots[at + 1] === (high | 0))) return at;
      slot = (slot + 1) & mask;
    }
  }

  /** Notes a data point of a series that the table holds; false where it does not hold it. */
  touch(low: number, high: number, minute: number): boolean {
    const at = this.indexOf(low, high);
    if (this.slots[at + 2] === empty) return false;
    this.slots[at + 2] = minute;
    return true;
  }

  /** Adds a series, or notes a data point of one that is there: then false. */
  add(low: number, high: number, minute: number): boolean {
    if (this.touch(low, high, minute)) return false;
    // A full table is copied, so that probing always ends at an empty slot.
    if (4 * (this.count + 1) > 3 * (this.mask + 1)) this.rebuild(0, 2 * (this.mask + 1));
    this.put(low, high, minute);
    return true;
  }

  /** Removes a series, if it is there. */
  remove(low: number, high: number): void {
    const { slots, mask } = this;
    let hole = this.indexOf(low, high) / word;
    if (slots[word * hole + 2] === empty) return;
    this.count--;
    // A series behind the hole moves into it unless its search begins behind the hole: no search may end at an empty slot before it.
    for (let slot = (hole + 1) & mask; slots[word * slot + 2] !== empty; slot = (slot + 1) & mask) {
      const at = word * slot;
      const home = this.homeOf(slots[at] ?? 0, slots[at + 1] ?? 0);
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      slots.copyWithin(word * hole, at, at + word);
      hole = slot;
    }
    slots[word * hole + 2] = empty;
  }

  private put(low: number, high: number, minute: number): void {
    const at = this.indexOf(low, high);
    this.slots[at] = low;
    this.slots[at + 1] = high;
    this.slots[at + 2] = minute;
    this.count++;
  }

  /** Removes the series whose latest data point is older than this minute, and frees the room that they had. */
  sweep(oldestMinute: number): void {
    const oldest = Math.max(empty + 1, oldestMinute);
    let kept = 0;
    for (let at = 2; at < this.slots.length; at += word) if ((this.slots[at] ?? empty) >= oldest) kept++;
    let slots = slotsMin;
    while (4 * kept > 3 * slots) slots *= 2;
    if (kept === this.count && slots > this.mask) return;
    this.rebuild(oldest, slots);
  }

  private rebuild(oldest: number, slots: number): void {
    const old = this.slots;
    this.slots = new Int32Array(word * slots);
    this.mask = slots - 1;
    this.count = 0;
    for (let at = 0; at < old.length; at += word) {
      const minute = old[at + 2] ?? empty;
      if (minute !== empty && minute >= oldest) this.put(old[at] ?? 0, old[at + 1] ?? 0, minute);
    }
  }

  /** The series with a data point in this minute: low and high halves in turn. */
  seenIn(minute: number): Int32Array<ArrayBuffer> {
    const seen: number[] = [];
    for (let at = 0; at < this.slots.length; at += word)
      if (this.slots[at + 2] === minute) seen.push(this.slots[at] ?? 0, this.slots[at + 1] ?? 0);
    return Int32Array.from(seen);
  }
}

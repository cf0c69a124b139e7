import { MapColumn } from '../native/nested-columns.ts';
import { LowTextColumn, TextColumn } from '../native/text-columns.ts';
import { type ItemTally, PlaceReader } from './place.ts';
import type { ReadState } from './read-state.ts';
import type { AttributeSlots } from './slots.ts';

/** No place of a reader. */
const nowhere = -(2 ** 31);

/** Appends attributes to a column of maps; of equal keys the last one stays. */
export class AttributeWriter {
  readonly column: MapColumn<LowTextColumn, TextColumn>;
  private readonly tally: ItemTally;
  private readonly place: PlaceReader;
  /** The numbers of the keys of the current row, −1 where the key occurs again later. */
  private keys = new Int32Array(16);
  /**
   * By position: the key at that position in the row before. Spans of one kind have the same keys in the same order.
   */
  private likely = new Int32Array(16);
  /** By position: where that key was read. In one body a place has one text. */
  private likelyStarts = new Int32Array(16).fill(nowhere);
  /** By key: the row that had it last, and where. */
  private rowOf = new Int32Array(16);
  private positionOf = new Int32Array(16);
  private row = 0;
  /** The number of keys of the row before; −1 where one of them was repeated. */
  private wholeCount = -1;

  constructor(tally: ItemTally) {
    this.tally = tally;
    this.place = new PlaceReader(tally);
    this.column = new MapColumn(new LowTextColumn(tally), new TextColumn(tally));
  }

  /** Appends the attributes [from, to) of the list as one row. */
  append(state: ReadState, list: AttributeSlots, from: number, to: number): void {
    const { column, place } = this;
    const { keys, values } = column;
    const { valueBytesMax } = state.limits;
    const count = to - from;
    const kept = this.hasSameKeys(list, from, to) ? count : this.numberKeys(state, list, from, to);
    const isWhole = kept === count;
    this.wholeCount = isWhole ? count : -1;
    if (isWhole) keys.pushFirst(this.keys, kept);
    for (let index = from; index < to; index++) {
      if (!isWhole) {
        const key = this.keys[index - from] ?? 0;
        if (key < 0) continue;
        keys.pushIndex(key);
      }
      const start = list.valueStarts[index] ?? 0;
      const end = list.valueEnds[index] ?? 0;
      if (start >= 0 && end - start <= valueBytesMax) values.push(state.body, start, end);
      else {
        place.locate(state, start, end);
        values.push(place.source, place.start, place.end);
      }
    }
    column.endRow(kept);
  }

  clear(): void {
    this.column.clear();
    this.likelyStarts.fill(nowhere);
    this.wholeCount = -1;
    this.rowOf.fill(0);
    this.row = 0;
  }

  /** Whether the keys are those of the row before, because they were read in the same places; then `keys` holds them. */
  private hasSameKeys(list: AttributeSlots, from: number, to: number): boolean {
    if (to - from !== this.wholeCount) return false;
    for (let index = from; index < to; index++)
      if (list.keyStarts[index] !== this.likelyStarts[index - from]) return false;
    return true;
  }

  /** Fills `keys`; returns the number of keys that remain. */
  private numberKeys(state: ReadState, list: AttributeSlots, from: number, to: number): number {
    const { dictionary } = this.column.keys;
    if (to - from > this.keys.length) {
      this.keys = new Int32Array(2 * (to - from));
      this.likely = new Int32Array(2 * (to - from));
      this.likelyStarts = new Int32Array(2 * (to - from)).fill(nowhere);
    }
    const row = ++this.row;
    let kept = to - from;
    for (let index = from; index < to; index++) {
      const position = index - from;
      const start = list.keyStarts[index] ?? 0;
      let key = this.likely[position] ?? 0;
      if (start !== this.likelyStarts[position]) {
        const end = list.keyEnds[index] ?? 0;
        // Only of a text that is in the dictionary as it was sent.
        if (start >= 0 && dictionary.is(key, state.body, start, end)) this.likelyStarts[position] = start;
        else {
          key = this.numberOf(state, start, end);
          this.likely[position] = key;
          this.likelyStarts[position] = nowhere;
        }
      }
      if (this.rowOf[key] === row) {
        this.keys[this.positionOf[key] ?? 0] = -1;
        this.tally.repeatedKeys++;
        kept--;
      }
      this.rowOf[key] = row;
      this.positionOf[key] = position;
      this.keys[position] = key;
    }
    return kept;
  }

  private numberOf(state: ReadState, start: number, end: number): number {
    const { place } = this;
    place.locate(state, start, end);
    const key = this.column.keys.dictionary.indexOf(place.source, place.start, place.end);
    if (key >= this.rowOf.length) this.widen();
    return key;
  }

  private widen(): void {
    const rowOf = new Int32Array(2 * this.rowOf.length);
    rowOf.set(this.rowOf);
    this.rowOf = rowOf;
    const positionOf = new Int32Array(2 * this.positionOf.length);
    positionOf.set(this.positionOf);
    this.positionOf = positionOf;
  }
}

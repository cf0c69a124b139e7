import { isValidName } from '../../wire/column-naming.ts';
import type { ColumnMap } from './point-table.ts';
import type { PushCursor } from './push-cursor.ts';

/** A name that points may have, as bytes. */
export type PointColumn = {
  readonly name: Uint8Array;
  /** `,column=`. */
  readonly assignment: Uint8Array;
  /** Where the name has no column yet. */
  readonly newName: string | undefined;
  /** The point that had it last. */
  stamp: number;
};

const noColumns: ColumnMap = new Map<string, string>();
const slotsMin = 256;
const slotsMax = 65_536;
/** Names that meet in this many places are not kept: whoever makes names for that gains nothing. */
const probesMax = 16;

const hashBytes = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
};

/**
 * The columns that a request's names stand for. Points name the same columns in the same order, so the next one is looked at first,
 * then a table by the bytes of the name; the table's registry is asked once a request and name.
 */
export class PointColumns {
  private known = noColumns;
  private gathered: Set<string> = new Set();
  private columnsMax = 0;
  private readonly list: PointColumn[] = [];
  /** Places in the list plus one, by hash; 0 for none. */
  private slots = new Uint16Array(slotsMin);
  private next = 0;
  private stamp = 0;
  /** Names that were new with the point at hand. */
  readonly newNames: string[] = [];

  /** `gathered`: names of kept points that are to be registered; `columnsMax` bounds them and the known ones together. */
  open(known: ColumnMap, gathered: Set<string>, columnsMax: number): void {
    this.known = known;
    this.gathered = gathered;
    this.columnsMax = columnsMax;
    this.list.length = 0;
    this.stamp = 0;
    if (this.slots.length > slotsMin) this.slots = new Uint16Array(slotsMin);
    else this.slots.fill(0);
  }

  /** Another point begins. */
  beginPoint(): void {
    this.stamp++;
    this.newNames.length = 0;
  }

  /** The members of a point begin. */
  begin(): void {
    this.next = 0;
  }

  /**
   * The column of the name that was read last; undefined where the point had it before, and for a name that is invalid or not kept.
   * `isUnique`: the point has no name twice, so what is not kept is no matter.
   */
  find(cursor: PushCursor, isUnique: boolean): PointColumn | undefined {
    let column = this.list[this.next];
    if (column === undefined || !cursor.isLast(column.name)) {
      const place = this.placeOf(cursor);
      if (place < 0) return isUnique ? this.make(cursor) : undefined;
      this.next = place;
      column = this.list[place];
    }
    this.next++;
    if (column === undefined || column.stamp === this.stamp) return undefined;
    column.stamp = this.stamp;
    return column;
  }

  /** Whether a point gets this column: a name without one does while there are some left. */
  has({ newName }: PointColumn): boolean {
    if (newName === undefined || this.gathered.has(newName)) return true;
    if (!this.hasRoom(this.newNames.length)) return false;
    this.newNames.push(newName);
    return true;
  }

  /** Whether a point that has this valid name alone gets a column for it. */
  hasFor(name: string): boolean {
    return this.known.get(name) !== undefined || this.gathered.has(name) || this.hasRoom(0);
  }

  isValid(name: string): boolean {
    return this.known.get(name) !== undefined || isValidName(name);
  }

  private hasRoom(more: number): boolean {
    return this.known.size + this.gathered.size + more < this.columnsMax;
  }

  /** The point was kept: its new names are to be registered. */
  keepPoint(): void {
    for (const name of this.newNames) this.gathered.add(name);
  }

  private make(cursor: PushCursor): PointColumn | undefined {
    const name = cursor.shown();
    const column = this.known.get(name);
    if (column === undefined && !isValidName(name)) return undefined;
    return {
      name: Buffer.from(name),
      assignment: Buffer.from(`,${column ?? name}=`),
      newName: column === undefined ? name : undefined,
      stamp: 0,
    };
  }

  /** The place of the name in the list, where it is added if it is new; -1 for one that is not kept. */
  private placeOf(cursor: PushCursor): number {
    if (4 * this.list.length >= this.slots.length && !this.grow()) return -1;
    const { slots, list } = this;
    let slot = hashBytes(cursor.source, cursor.start, cursor.end) & (slots.length - 1);
    for (let probe = 0; probe < probesMax; probe++) {
      const place = (slots[slot] ?? 0) - 1;
      if (place < 0) {
        const made = this.make(cursor);
        if (made === undefined) return -1;
        slots[slot] = list.push(made);
        return list.length - 1;
      }
      const column = list[place];
      if (column !== undefined && cursor.isLast(column.name)) return place;
      slot = (slot + 1) & (slots.length - 1);
    }
    return -1;
  }

  private grow(): boolean {
    if (this.slots.length === slotsMax) return false;
    const slots = new Uint16Array(4 * this.slots.length);
    for (const [place, { name }] of this.list.entries()) {
      let slot = hashBytes(name, 0, name.length) & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = place + 1;
    }
    this.slots = slots;
    return true;
  }
}

import { isValidName } from '../../wire/column-naming.ts';
import type { ColumnMap } from './point-table.ts';
import { colon, type PushCursor } from './push-cursor.ts';

/** A name that points may have, as bytes. */
export type PointColumn = {
  readonly text: string;
  /** The name in quotes with its colon. */
  readonly quoted: Uint8Array;
  /** Undefined for a name without a column: until it is registered, rows use the name itself. */
  column: string | undefined;
  /** Its column takes no further values. */
  isFull: boolean;
  /** `,column=`. */
  assignment: Uint8Array;
  /** The last request that looked up the column. */
  request: number;
  /** The last point that had the name. */
  stamp: number;
  /** The column that followed this one in a point. */
  next: PointColumn | undefined;
};

const noColumns: ColumnMap = new Map<string, string>();
const slotsMin = 256;
/** Room for 4,096 names: a body has room for millions, and points with further names are read as odd points. */
const slotsMax = 16_384;
/** Names whose hashes meet in this many places are not kept: an attack by colliding names gains nothing. */
const probesMax = 16;
/** Names that are kept from one request to the next. */
const keptMax = 2048;
/** Small integers count faster. */
const requestsMax = 2 ** 30;

const hashBytes = (bytes: Uint8Array, start: number, end: number): number => {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
};

const newColumn = (text: string): PointColumn => ({
  text,
  quoted: Buffer.from(`"${text}":`),
  column: undefined,
  isFull: false,
  assignment: Buffer.from(`,${text}=`),
  request: 0,
  stamp: 0,
  next: undefined,
});

/**
 * The columns that the names of points stand for. Points name the same columns in the same order, so the column that came next
 * before is compared first, then a table by the bytes of the name. The table's registry is read once per request and name.
 */
export class PointColumns {
  private known = noColumns;
  private gathered: Set<string> = new Set();
  private columnsMax = 0;
  private list: PointColumn[] = [];
  /** Places in the list plus one, by hash; 0 for none. */
  private slots = new Uint16Array(slotsMin);
  private readonly first = newColumn('');
  private last = this.first;
  private request = 0;
  private stamp = 0;
  /** Names that were new in the current point. */
  readonly newNames: string[] = [];

  /** `gathered`: names of kept points, to be registered; `columnsMax` bounds them and the known names together. */
  open(known: ColumnMap, gathered: Set<string>, columnsMax: number): void {
    this.known = known;
    this.gathered = gathered;
    this.columnsMax = columnsMax;
    this.stamp = 0;
    this.request++;
    if (this.list.length <= keptMax && this.request < requestsMax) return;
    this.request = 1;
    this.list = [];
    this.slots = new Uint16Array(slotsMin);
    this.first.next = undefined;
  }

  /** Releases the references that no request needs until the next one. */
  close(): void {
    this.known = noColumns;
    this.gathered = new Set();
  }

  /** Begins another point. */
  beginPoint(): void {
    this.stamp++;
    if (this.newNames.length > 0) this.newNames.length = 0;
  }

  /** Begins the members of a point. */
  begin(): void {
    this.last = this.first;
  }

  /**
   * Reads a name up to its value; undefined where the point had it before, and for a name that is invalid or not kept. `isUnique`:
   * the point has no name twice, so a name that is not kept is allowed.
   */
  read(cursor: PushCursor, isUnique: boolean): PointColumn | undefined {
    const { last } = this;
    let column = last.next;
    if (column === undefined || !cursor.name(column.quoted)) {
      if (cursor.text() < 0) return undefined;
      if (cursor.hasEscapes) cursor.isStrict = false;
      column = this.lookUp(cursor) ?? (isUnique ? this.make(cursor) : undefined);
      if (column === undefined || !cursor.take(colon)) return undefined;
      last.next = column;
    }
    if (column.request !== this.request) this.ask(column);
    this.last = column;
    if (column.stamp === this.stamp) return undefined;
    column.stamp = this.stamp;
    return column;
  }

  /** Looks up the column of a name in the registry. */
  private ask(column: PointColumn): void {
    const registered = this.known.get(column.text);
    column.isFull = registered !== undefined && this.known.full?.has(column.text) === true;
    const known = column.isFull ? undefined : registered;
    column.request = this.request;
    column.stamp = 0;
    if (known === column.column) return;
    column.column = known;
    column.assignment = Buffer.from(`,${known ?? column.text}=`);
  }

  /** Whether a point gets this column: a name without one does while there are some left. */
  has({ column, text, isFull }: PointColumn): boolean {
    if (isFull) return false;
    if (column !== undefined || this.gathered.has(text)) return true;
    if (!this.hasRoom(this.newNames.length)) return false;
    this.newNames.push(text);
    return true;
  }

  /** Whether a point whose only name is this valid one gets a column for it. */
  hasFor(name: string): boolean {
    return this.known.get(name) !== undefined || this.gathered.has(name) || this.hasRoom(0);
  }

  private hasRoom(more: number): boolean {
    return this.known.size + this.gathered.size + more < this.columnsMax;
  }

  /** Keeps the point: its new names will be registered. */
  keepPoint(): void {
    for (const name of this.newNames) this.gathered.add(name);
  }

  private make(cursor: PushCursor): PointColumn | undefined {
    const name = cursor.shown();
    return isValidName(name) ? newColumn(name) : undefined;
  }

  /**
   * The column of the name that was read last, which is kept from now on; undefined for an invalid name and one that is not kept.
   */
  private lookUp(cursor: PushCursor): PointColumn | undefined {
    if (4 * this.list.length >= this.slots.length && !this.grow()) return undefined;
    const { slots, list } = this;
    let slot = hashBytes(cursor.source, cursor.start, cursor.end) & (slots.length - 1);
    for (let probe = 0; probe < probesMax; probe++) {
      const column = list[(slots[slot] ?? 0) - 1];
      if (column === undefined) {
        const made = this.make(cursor);
        if (made !== undefined) slots[slot] = list.push(made);
        return made;
      }
      if (cursor.isLastIn(column.quoted)) return column;
      slot = (slot + 1) & (slots.length - 1);
    }
    return undefined;
  }

  private grow(): boolean {
    if (this.slots.length === slotsMax) return false;
    const slots = new Uint16Array(4 * this.slots.length);
    for (const [place, { quoted }] of this.list.entries()) {
      let slot = hashBytes(quoted, 1, quoted.length - 2) & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = place + 1;
    }
    this.slots = slots;
    return true;
  }
}

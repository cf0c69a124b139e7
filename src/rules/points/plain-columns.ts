import type { PlainCursor } from './plain-cursor.ts';
import type { ColumnMap } from './point-table.ts';

type Column = { readonly name: Uint8Array; readonly assignment: Uint8Array; stamp: number };

/**
 * The columns that a request's names stand for, as bytes. Points name the same columns in the same order, so the next one is looked
 * at first; the table's registry is asked once a request and name.
 */
export class PlainColumns {
  private known: ColumnMap | undefined;
  private readonly list: Column[] = [];
  private readonly places = new Map<string, number>();
  private next = 0;

  open(known: ColumnMap): void {
    this.known = known;
    this.list.length = 0;
    this.places.clear();
  }

  /** Another point begins. */
  begin(): void {
    this.next = 0;
  }

  /** `column=` of the name that was read last; undefined for one that has no column, or was there before with this stamp. */
  find(cursor: PlainCursor, stamp: number): Uint8Array | undefined {
    let column = this.list[this.next];
    if (column === undefined || !cursor.isLast(column.name)) {
      const place = this.placeOf(cursor.shown());
      if (place === undefined) return undefined;
      this.next = place;
      column = this.list[place];
    }
    this.next++;
    if (column === undefined || column.stamp === stamp) return undefined;
    column.stamp = stamp;
    return column.assignment;
  }

  private placeOf(name: string): number | undefined {
    const place = this.places.get(name);
    if (place !== undefined) return place;
    const column = this.known?.get(name);
    if (column === undefined) return undefined;
    const added = this.list.length;
    this.places.set(name, added);
    this.list.push({ name: Buffer.from(name), assignment: Buffer.from(`${column}=`), stamp: 0 });
    return added;
  }
}

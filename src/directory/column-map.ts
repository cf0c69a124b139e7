import type { RegisteredName } from '../model/records.ts';
import type { ColumnMap } from '../rules/points/point-table.ts';

type Entry = { readonly column: string; readonly lastSeen: number; isSeen: boolean };

/** A column map that remembers which of its names were read, at the price of one write per name. */
export class SightedColumns implements ColumnMap {
  private readonly known = new Map<string, Entry>();

  readonly full: ReadonlySet<string>;

  constructor(names: readonly RegisteredName[]) {
    this.full = new Set(names.flatMap(({ name, full_since }) => (full_since === undefined ? [] : [name])));
    for (const { name, column, last_seen } of names) {
      this.known.set(name, { column, lastSeen: last_seen, isSeen: false });
    }
  }

  get size(): number {
    return this.known.size;
  }

  get(name: string): string | undefined {
    const entry = this.known.get(name);
    if (entry === undefined) return undefined;
    entry.isSeen = true;
    return entry.column;
  }

  keys(): Iterable<string> {
    return this.known.keys();
  }

  *entries(): Iterable<[string, string]> {
    for (const [name, { column }] of this.known) yield [name, column];
  }

  /** The names that were read since the last call and whose registry entry was last seen before `seconds` (Unix). */
  takeLastSeen(seconds: number): string[] {
    const names: string[] = [];
    for (const [name, entry] of this.known) {
      if (entry.isSeen && entry.lastSeen < seconds) names.push(name);
      entry.isSeen = false;
    }
    return names;
  }
}

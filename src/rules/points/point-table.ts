import type { Layout } from '../../model/records.ts';

/** The columns of a table's metrics or dimensions, by the names that senders use. */
export type ColumnMap = {
  readonly size: number;
  /** The column; undefined for a name that is not registered. */
  get(name: string): string | undefined;
  /** Names whose column takes no further values: points keep theirs in more_dimensions. Absent: none. */
  readonly full?: ReadonlySet<string>;
  /** The names. */
  keys(): Iterable<string>;
  /** All names with their columns. */
  entries(): Iterable<[name: string, column: string]>;
};

/** The properties of a point's table that encoding needs. */
export type PointTable = {
  readonly tableId: string;
  readonly layout: Layout;
  readonly metrics: ColumnMap;
  readonly dimensions: ColumnMap;
};

/** How a data id's points are laid out: `wide` = one row per point, `narrow` = one row per metric (is_split_measurement). */
export type Layout = 'wide' | 'narrow';

/** A name of the column registry: what producers call it and what the table (or, for a split metric, the view) calls it. */
export type RegisteredName = {
  name: string;
  column: string;
  first_seen: number;
  last_seen: number;
  /** Unix seconds since when the column of a dimension is full: its values go to more_dimensions. Absent otherwise. */
  full_since?: number | undefined;
};

/** The column registry of one table. Order is order of registration. */
export type ColumnRegistry = {
  mon_data_id: number;
  metrics: RegisteredName[];
  dimensions: RegisteredName[];
};

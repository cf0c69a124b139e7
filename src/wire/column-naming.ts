import type { ColumnRegistry, Layout, RegisteredName } from '../model/records.ts';

/** Columns that every table has (QuestDB folds case, so does this). */
export const fixedColumns = ['timestamp', 'uid', 'target', 'metric', 'value', 'more_dimensions'];

/** Columns that no new name is given: QuestDB takes `and` for its operator in every condition, also in quotes (9.3.4). */
const takenColumns = [...fixedColumns, 'and'];

/** The placeholder measurement of table_id: a metric of that name cannot keep it. */
const placeholderMeasurement = '__default__';

const namePattern = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export const nameLengthMax = 100;

/** QuestDB's cap on the bytes of a table's or view's name. */
const viewNameBytesMax = 127;

/** Whether a metric or dimension may be called so (architecture 4.3). */
export const isValidName = (name: string): boolean => name.length <= nameLengthMax && namePattern.test(name);

export type ColumnCaps = { readonly metricsMax: number; readonly dimensionsMax: number };

/** The common beginning of a table's views: its table_id up to and with the dot before `__default__`. */
export const viewPrefix = (tableId: string): string => tableId.slice(0, tableId.lastIndexOf('.') + 1);

/** The longest that the column of a metric, or in a narrow table its view behind the prefix, may be called. */
export const metricColumnLengthMax = (layout: Layout, tableId: string): number =>
  layout === 'wide' ? viewNameBytesMax : viewNameBytesMax - viewPrefix(tableId).length;

const freeName = (wanted: string, taken: ReadonlySet<string>, lengthMax: number): string => {
  const cut = wanted.slice(0, lengthMax);
  if (!taken.has(cut.toLowerCase())) return cut;
  for (let count = 2; ; count++) {
    const suffix = `__${count}`;
    const candidate = wanted.slice(0, lengthMax - suffix.length) + suffix;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
};

const addNames = (
  known: readonly RegisteredName[],
  names: readonly string[],
  countMax: number,
  taken: Set<string>,
  lengthMax: number,
  nowSeconds: number,
): RegisteredName[] => {
  const result = [...known];
  const have = new Set(known.map((entry) => entry.name));
  for (const name of names) {
    if (have.has(name)) continue;
    if (result.length >= countMax) break;
    const column = freeName(name, taken, lengthMax);
    taken.add(column.toLowerCase());
    have.add(name);
    result.push({ name, column, first_seen: nowSeconds, last_seen: nowSeconds });
  }
  return result;
};

const columnsOf = (entries: readonly RegisteredName[]): string[] =>
  entries.map((entry) => entry.column.toLowerCase());

/**
 * Adds names to a registry, in order, until the limits are reached: the first name keeps its form, later ones that fold
 * to the same get `__2`, `__3`… In a wide table metrics and dimensions share the columns; in a narrow one dimensions
 * name columns and metrics name views. Existing names do not change. Returns the same object when nothing was added.
 */
export const registerNames = (
  registry: ColumnRegistry,
  layout: Layout,
  tableId: string,
  caps: ColumnCaps,
  metrics: readonly string[],
  dimensions: readonly string[],
  nowSeconds: number,
): ColumnRegistry => {
  const dimensionColumns = columnsOf(registry.dimensions);
  const isWide = layout === 'wide';
  const metricsTaken = new Set([placeholderMeasurement, ...columnsOf(registry.metrics)]);
  if (isWide) for (const column of [...takenColumns, ...dimensionColumns]) metricsTaken.add(column);
  const metricLengthMax = metricColumnLengthMax(layout, tableId);
  const newMetrics = addNames(
    registry.metrics,
    metrics,
    caps.metricsMax,
    metricsTaken,
    metricLengthMax,
    nowSeconds,
  );

  const dimensionsTaken = new Set([
    ...takenColumns,
    ...dimensionColumns,
    ...(isWide ? columnsOf(newMetrics) : []),
  ]);
  const newDimensions = addNames(
    registry.dimensions,
    dimensions,
    caps.dimensionsMax,
    dimensionsTaken,
    viewNameBytesMax,
    nowSeconds,
  );
  if (newMetrics.length === registry.metrics.length && newDimensions.length === registry.dimensions.length)
    return registry;
  return { mon_data_id: registry.mon_data_id, metrics: newMetrics, dimensions: newDimensions };
};

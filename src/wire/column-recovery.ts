import type { ColumnRegistry, Layout, RegisteredName } from '../model/records.ts';
import { fixedColumns, isValidName, metricColumnLengthMax } from './column-naming.ts';

/**
 * The contents of a table in QuestDB: columns of metrics (of a split table its views) and of dimensions, in their
 * order.
 */
export type FoundColumns = { readonly metrics: readonly string[]; readonly dimensions: readonly string[] };

/** The suffix of the second and later names that fold to the same column. */
const numbered = /^(.+)__\d+$/;

/**
 * The names of which it is certain that they made these columns. A column without a number is called as its name is. One with a number
 * may have been made by a name that ends so, or by a later comer to the name before it: that is certain only where the very name
 * before it has another column.
 */
const certainNames = (
  known: readonly RegisteredName[],
  columns: readonly string[],
  taken: ReadonlySet<string>,
  nowSeconds: number,
): RegisteredName[] => {
  const isTaken = new Set(taken);
  const names = new Set(known.map(({ name }) => name));
  const result = [...known];
  const add = (name: string): void => {
    if (isTaken.has(name.toLowerCase()) || names.has(name) || !isValidName(name)) return;
    isTaken.add(name.toLowerCase());
    names.add(name);
    result.push({ name, column: name, first_seen: nowSeconds, last_seen: nowSeconds });
  };
  for (const column of columns) if (!numbered.test(column)) add(column);
  for (const column of columns) if (names.has(numbered.exec(column)?.[1] ?? '')) add(column);
  return result;
};

/**
 * A registry that is older than its table, with the missing names that certainly made existing columns. Uncertain names
 * are omitted; a receiver registers them when they occur. Returns the same object when nothing was added.
 */
export const recoverNames = (
  registry: ColumnRegistry,
  layout: Layout,
  tableId: string,
  found: FoundColumns,
  nowSeconds: number,
): ColumnRegistry => {
  const fold = (entries: readonly RegisteredName[]): string[] =>
    entries.map(({ column }) => column.toLowerCase());
  const [metricColumns, dimensionColumns] = [fold(registry.metrics), fold(registry.dimensions)];
  const fixed = layout === 'wide' ? fixedColumns : [];
  const forMetrics = new Set([...fixed, ...metricColumns, ...(layout === 'wide' ? dimensionColumns : [])]);
  const forDimensions = new Set([
    ...fixedColumns,
    ...dimensionColumns,
    ...(layout === 'wide' ? metricColumns : []),
  ]);
  // A name of the greatest length may be truncated.
  const lengthMax = metricColumnLengthMax(layout, tableId);
  const whole = found.metrics.filter((column) => column.length < lengthMax);
  const metrics = certainNames(registry.metrics, whole, forMetrics, nowSeconds);
  const dimensions = certainNames(registry.dimensions, found.dimensions, forDimensions, nowSeconds);
  if (metrics.length === registry.metrics.length && dimensions.length === registry.dimensions.length)
    return registry;
  return { mon_data_id: registry.mon_data_id, metrics, dimensions };
};

import { registryIn } from '../../directory/column-registry.ts';
import { columnsKey } from '../../directory/keys.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import type { ColumnRegistry, Layout } from '../../model/records.ts';
import { isValidName } from '../../wire/column-naming.ts';
import { FieldFault, fieldFault, notFound } from '../problem.ts';
import type { Records } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';
import type { Named, Place } from './point-sql.ts';

/** What a caller calls a table by: one of the two. */
export type AskedTable = { readonly data_id?: number | undefined; readonly table?: string | undefined };

/** A table of points with its names, as the records have it. */
export type PointTable = {
  readonly dataId: number;
  readonly tableId: string;
  readonly layout: Layout;
  /** Its QuestDB instance. */
  readonly instance: string;
  readonly registry: Pick<ColumnRegistry, 'metrics' | 'dimensions'>;
};

type Source = Pick<Records, 'groups' | 'tables' | 'purges' | 'placements' | 'columns'>;

const askedDataId = ({ data_id: dataId, table }: AskedTable): number => {
  if (dataId !== undefined && table !== undefined)
    throw fieldFault('invalid_value', 'table', 'cannot be combined with data_id');
  if (dataId !== undefined) return dataId;
  if (table === undefined) throw fieldFault('invalid_value', 'data_id', 'is required, or table');
  const found = dataIdOfTableId(table);
  if (found === undefined) throw notFound(`table ${table}`);
  return found;
};

const nothingStored = (what: string, isPurged: boolean): Fault => {
  const why = isPurged ? 'its rows were purged' : 'it has no table yet, or none any more';
  return new Fault('permanent', 'not_found', `nothing is stored of ${what}: ${why}`);
};

/** The table of a data id that exists in the records. Permanent Faults `not_found`, `invalid_value`. */
export const findTable = async (records: Source, asked: AskedTable): Promise<PointTable> => {
  const dataId = askedDataId(asked);
  const [group, table, placement, columns] = await Promise.all([
    records.groups.get(dataId),
    records.tables.get(dataId),
    records.placements.get(dataId),
    records.columns.get(columnsKey(dataId)),
  ]);
  const tableId = table?.value.table_id;
  const isPurged = records.purges.known(dataId) !== undefined;
  const isOther = asked.table !== undefined && tableId !== undefined && asked.table !== tableId;
  if (isOther) throw notFound(`table ${asked.table}`);
  if (isPurged || group === undefined || tableId === undefined)
    throw nothingStored(asked.table === undefined ? `data id ${dataId}` : `table ${asked.table}`, isPurged);
  return {
    dataId,
    tableId,
    layout: group.value.is_split_measurement ? 'narrow' : 'wide',
    instance: placement?.value.questdb ?? defaultInstance,
    // What is left of a table that is gone need not be readable.
    registry: registryIn(columns, dataId),
  };
};

const unknownName = (field: string, kind: string, name: string, { tableId }: PointTable): FieldFault =>
  new FieldFault('unknown_name', field, `table ${tableId} has no ${kind} ${JSON.stringify(name)}`);

/** The metric of this name. Permanent Fault `unknown_name`. */
export const metricOf = (table: PointTable, name: string, field: string): Named => {
  const found = table.registry.metrics.find((metric) => metric.name === name);
  if (found === undefined) throw unknownName(field, 'metric', name, table);
  return found;
};

const targetColumn = 'target';

/**
 * Where points may have a dimension: `target` is the field of that name of every point; a dimension that producers call so too is
 * found by its column. One without a column may be in more_dimensions. Permanent Fault `unknown_name`.
 */
export const dimensionPlace = (table: PointTable, name: string, field: string): Place => {
  if (name === targetColumn) return { column: targetColumn };
  const { dimensions } = table.registry;
  const found =
    dimensions.find((dimension) => dimension.name === name) ??
    dimensions.find((dimension) => dimension.column === name);
  if (found !== undefined) return { column: found.column, member: found.name };
  if (!isValidName(name)) throw unknownName(field, 'dimension', name, table);
  return { member: name };
};

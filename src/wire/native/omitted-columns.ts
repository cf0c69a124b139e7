import type { Column, NamedColumn, OmittableColumn } from './column.ts';
import { nameColumn } from './encode-block.ts';

/**
 * The columns that a block of items leaves out where every row has the default of its type: most senders never set them. A block
 * without such a column can be merged with one that has it. No key of a table is among them.
 */
const omitted: ReadonlySet<string> = new Set([
  'TraceState',
  'StatusMessage',
  'TraceFlags',
  'EventName',
  'ObservedTimestamp',
  'ResourceSchemaUrl',
  'ScopeName',
  'ScopeVersion',
  'ScopeAttributes',
  'ScopeDroppedAttrCount',
  'ScopeSchemaUrl',
  'MetricDescription',
  'MetricUnit',
  'MetricMetadata',
  'StartTimeUnix',
  'Flags',
  'ValueInt',
]);

/** Whether the column of this name is one of them. */
export const isOmittable = (name: string): boolean => omitted.has(name);

const lists = ['Events.', 'Links.', 'Exemplars.'];

const isOfList = (name: string): boolean => lists.some((list) => name.startsWith(list));

/** Whether a block may lack the column of this name: one of those, or of the lists that no item of a block has. */
export const mayLack = (name: string): boolean => isOmittable(name) || isOfList(name);

/** A column of a block of items, with its name in the table. */
export const nameItemColumn = (name: string, column: Column | OmittableColumn): NamedColumn => {
  const named = nameColumn(name, column);
  return isOmittable(name) && 'isDefault' in column ? { ...named, omittable: column } : named;
};

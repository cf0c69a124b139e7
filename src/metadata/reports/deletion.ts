import type { CustomReport, DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import type { RecordSet, Records } from '../records/store.ts';
import { modified } from '../records/values.ts';

/** The states of a report whose name is free. */
const goneStates: readonly CustomReport['state'][] = ['deleted', 'purging', 'purged'];

/** True once a report was deleted, with or without its rows. */
export const isGone = ({ state }: Pick<CustomReport, 'state'>): boolean => goneStates.includes(state);

/** Changes the record if it exists. */
const changeIfThere = async <T>(set: RecordSet<T>, id: number, edit: (value: T) => T): Promise<void> => {
  if ((await set.get(id)) !== undefined) await set.change(id, edit);
};

const disabled =
  (operator: string) =>
  (source: DataSource): DataSource =>
    source.is_enable ? modified(source, operator, { is_enable: false }) : source;

const groupDeleted =
  (operator: string) =>
  (group: TimeSeriesGroup): TimeSeriesGroup =>
    group.is_enable || !group.is_delete
      ? modified(group, operator, { is_enable: false, is_delete: true })
      : group;

const tableDeleted =
  (operator: string) =>
  (table: ResultTable): ResultTable =>
    table.is_enable || !table.is_deleted
      ? modified(table, operator, { is_enable: false, is_deleted: true })
      : table;

/** Sets the flags of a deleted data id on those of its records that exist (architecture 8.3). May be repeated. */
export const flagDeleted = async (records: Records, dataId: number, operator: string): Promise<void> => {
  await changeIfThere(records.groups, dataId, groupDeleted(operator));
  await changeIfThere(records.tables, dataId, tableDeleted(operator));
  await changeIfThere(records.dataSources, dataId, disabled(operator));
};

/** The rest of the deletion of a report in state `deleted`. */
export const finishDeletion = (
  records: Records,
  { mon_data_id, last_modify_user }: CustomReport,
): Promise<void> => flagDeleted(records, mon_data_id, last_modify_user);

/** True when the copies show that a deletion was interrupted before the last flag. */
export const isDeletionOpen = (records: Records, report: CustomReport): boolean => {
  if (!isGone(report)) return false;
  const dataId = report.mon_data_id;
  const group = records.groups.known(dataId)?.value;
  const table = records.tables.known(dataId)?.value;
  const source = records.dataSources.known(dataId)?.value;
  return (
    (group !== undefined && (group.is_enable || !group.is_delete)) ||
    (table !== undefined && (table.is_enable || !table.is_deleted)) ||
    source?.is_enable === true
  );
};

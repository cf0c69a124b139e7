import { unlessConflict } from '../../bus/kv.ts';
import type {
  Application,
  CustomReport,
  DataSource,
  Purge,
  ResultTable,
  TimeSeriesGroup,
} from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import { notFound } from '../problem.ts';
import { preconditionFailed, type RecordSet, type Records, type Versioned } from '../records/store.ts';
import { modified } from '../records/values.ts';
import { isDataIdAlive } from './creation.ts';
import { finishDeletion, flagDeleted, isGone } from './deletion.ts';

/** Who changes something, and (If-Match) the revision the record must have. */
export type ChangeBy = { readonly operator: string; readonly revision: number | undefined };

/** A report and those of its records that exist: all of them once it was `active`. */
export type ReportWithRecords = {
  custom_report: CustomReport;
  data_source?: DataSource;
  time_series_group?: TimeSeriesGroup;
  result_table?: ResultTable;
};

const requireReport = async (records: Records, reportId: number): Promise<Versioned<CustomReport>> => {
  const report = await records.reports.get(reportId);
  if (report === undefined) throw notFound(`custom report ${reportId}`);
  return report;
};

/** The report with its records as they are now, and its revision. Permanent Fault `not_found`. */
export const readReport = async (
  records: Records,
  reportId: number,
): Promise<Versioned<ReportWithRecords>> => {
  const report = await requireReport(records, reportId);
  const dataId = report.value.mon_data_id;
  const [source, group, table] = await Promise.all([
    records.dataSources.get(dataId),
    records.groups.get(dataId),
    records.tables.get(dataId),
  ]);
  return {
    revision: report.revision,
    value: {
      custom_report: report.value,
      ...(source && { data_source: source.value }),
      ...(group && { time_series_group: group.value }),
      ...(table && { result_table: table.value }),
    },
  };
};

type Flagged = DataSource | TimeSeriesGroup | ResultTable;

const isDeleted = (record: Flagged): boolean =>
  ('is_delete' in record && record.is_delete) || ('is_deleted' in record && record.is_deleted);

const recordDeleted = (): Fault =>
  new Fault('permanent', 'record_deleted', 'a deleted record cannot be enabled');

const switched =
  (isEnabled: boolean, operator: string) =>
  <T extends Flagged>(record: T): T => {
    if (record.is_enable === isEnabled) return record;
    if (isEnabled && isDeleted(record)) {
      throw recordDeleted();
    }
    return { ...modified(record, operator, {}), is_enable: isEnabled };
  };

/**
 * Sets only is_enable of one data source, group or table. A repeat of the call changes nothing. Permanent Faults
 * `not_found`, `precondition_failed`, `record_deleted`.
 */
export const setRecordEnabled = async <T extends Flagged>(
  records: Records,
  set: RecordSet<T>,
  dataId: number,
  isEnabled: boolean,
  { operator, revision }: ChangeBy,
): Promise<Versioned<T>> => {
  // A DataSource has no flag for that.
  if (isEnabled && !(await isDataIdAlive(records, dataId))) throw recordDeleted();
  return set.change(dataId, switched(isEnabled, operator), revision);
};

/** Permanent Fault `report_not_active` for a report in another state. */
export const requireActive = (report: CustomReport): void => {
  if (report.state === 'active') return;
  throw new Fault(
    'permanent',
    'report_not_active',
    `custom report ${report.custom_report_id} is ${report.state}`,
  );
};

/**
 * Sets the three is_enable of an active report. The same call again changes nothing more. Permanent Faults `not_found`,
 * `report_not_active`, `precondition_failed`.
 */
export const setReportEnabled = async (
  records: Records,
  reportId: number,
  isEnabled: boolean,
  { operator, revision }: ChangeBy,
): Promise<Versioned<ReportWithRecords>> => {
  const before = await readReport(records, reportId);
  requireActive(before.value.custom_report);
  const { data_source, time_series_group, result_table } = before.value;
  const isSet = [data_source, time_series_group, result_table].every(
    (record) => record?.is_enable === isEnabled,
  );
  if (isSet) {
    if (revision !== undefined && revision !== before.revision) throw preconditionFailed(before.revision);
    return before;
  }
  // The report first: of two calls with one revision, only one continues.
  await records.reports.change(
    reportId,
    (report) => {
      requireActive(report);
      return modified(report, operator, {});
    },
    revision,
  );
  const dataId = before.value.custom_report.mon_data_id;
  const set = switched(isEnabled, operator);
  await records.dataSources.change(dataId, set);
  await records.groups.change(dataId, set);
  await records.tables.change(dataId, set);
  return readReport(records, reportId);
};

/**
 * Deletes a report: its state first, which frees the name, then the flags of its records (architecture 8.3). The data
 * id is never used again; rows stay, and transfer still stores the points in the stream. A repeat of the call finishes
 * an interrupted one. Permanent Faults `not_found`, `precondition_failed`.
 */
export const deleteReport = async (
  records: Records,
  reportId: number,
  { operator, revision }: ChangeBy,
): Promise<Versioned<ReportWithRecords>> => {
  const deleted = await records.reports.change(
    reportId,
    (report) => (isGone(report) ? report : modified(report, operator, { state: 'deleted' })),
    revision,
  );
  await finishDeletion(records, deleted.value);
  return readReport(records, reportId);
};

const requireConfirmation = (tableId: string, typed: string): void => {
  if (typed === tableId) return;
  throw new Fault(
    'permanent',
    'purge_not_confirmed',
    `a purge drops the rows of ${tableId}: to confirm, table_id must be exactly this name`,
  );
};

const beginPurge = async (
  records: Records,
  purge: Pick<Purge, 'mon_data_id' | 'table_id' | 'requested_by'>,
): Promise<void> => {
  const begun: Purge = { ...purge, state: 'purging', requested_at: Date.now() };
  await unlessConflict(records.purges.create(purge.mon_data_id, begun));
};

/**
 * Begins to purge a report, which it first deletes if need be: from now on transfer drops its items, and the keeper
 * drops the table once no write can be in flight. `typedTableId` must be the table's name. A repeat of the call changes
 * nothing. Permanent Faults `not_found`, `purge_not_confirmed`, `report_not_active` for an unfinished creation,
 * `precondition_failed`.
 */
export const purgeReport = async (
  records: Records,
  reportId: number,
  typedTableId: string,
  { operator, revision }: ChangeBy,
): Promise<Versioned<ReportWithRecords>> => {
  const report = (await requireReport(records, reportId)).value;
  if (report.state === 'creating') requireActive(report);
  requireConfirmation(report.table_id, typedTableId);
  await deleteReport(records, reportId, { operator, revision });
  const { mon_data_id, table_id } = report;
  await beginPurge(records, { mon_data_id, table_id, requested_by: operator });
  await records.reports.change(reportId, (current) =>
    current.state === 'deleted' ? modified(current, operator, { state: 'purging' }) : current,
  );
  return readReport(records, reportId);
};

/** The same for a data id that was made by its own operations. Permanent Faults also `belongs_to_report`, `table_missing`. */
export const purgeDataSource = async (
  records: Records,
  dataId: number,
  typedTableId: string,
  { operator, revision }: ChangeBy,
): Promise<Versioned<DataSource>> => {
  refuseReports(records, dataId);
  const source = await records.dataSources.change(dataId, (current) => current, revision);
  const table = (await records.tables.get(dataId))?.value;
  if (table === undefined) {
    throw new Fault('permanent', 'table_missing', `data id ${dataId} has no table to purge`);
  }
  requireConfirmation(table.table_id, typedTableId);
  await flagDeleted(records, dataId, operator);
  await beginPurge(records, { mon_data_id: dataId, table_id: table.table_id, requested_by: operator });
  return (await records.dataSources.get(dataId)) ?? source;
};

/** The records of a report are deleted and purged with it. Permanent Fault `belongs_to_report`. */
const refuseReports = (records: Records, dataId: number): void => {
  const report = records.reportOf(dataId);
  if (report === undefined) return;
  throw new Fault(
    'permanent',
    'belongs_to_report',
    `data id ${dataId} belongs to custom report ${report.custom_report_id}`,
  );
};

/** Deletes a group that no report has: one record, one way. Permanent Faults `not_found`, `belongs_to_report`, `precondition_failed`. */
export const deleteGroup = (
  records: Records,
  dataId: number,
  { operator, revision }: ChangeBy,
): Promise<Versioned<TimeSeriesGroup>> => {
  refuseReports(records, dataId);
  return records.groups.change(
    dataId,
    (group) => (group.is_delete ? group : modified(group, operator, { is_enable: false, is_delete: true })),
    revision,
  );
};

/** The same of a table's record; the rows stay. */
export const deleteTable = (
  records: Records,
  dataId: number,
  { operator, revision }: ChangeBy,
): Promise<Versioned<ResultTable>> => {
  refuseReports(records, dataId);
  return records.tables.change(
    dataId,
    (table) => (table.is_deleted ? table : modified(table, operator, { is_enable: false, is_deleted: true })),
    revision,
  );
};

/** Sets is_enable of an application. Permanent Faults `not_found`, `application_deleted`, `precondition_failed`. */
export const setApplicationEnabled = (
  records: Records,
  appId: number,
  isEnabled: boolean,
  { operator, revision }: ChangeBy,
): Promise<Versioned<Application>> =>
  records.applications.change(
    appId,
    (application) => {
      if (application.is_delete) {
        throw new Fault('permanent', 'application_deleted', `application ${appId} is deleted`);
      }
      return application.is_enable === isEnabled
        ? application
        : modified(application, operator, { is_enable: isEnabled });
    },
    revision,
  );

/** Deletes an application, one way; its name is free again. Permanent Faults `not_found`, `precondition_failed`. */
export const deleteApplication = (
  records: Records,
  appId: number,
  { operator, revision }: ChangeBy,
): Promise<Versioned<Application>> =>
  records.applications.change(
    appId,
    (application) =>
      application.is_delete
        ? application
        : modified(application, operator, { is_enable: false, is_delete: true }),
    revision,
  );

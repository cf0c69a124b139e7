import { isConflict } from '../../bus/kv.ts';
import { recordKeys } from '../../directory/keys.ts';
import { retentionDaysOf } from '../../directory/policies.ts';
import type { CustomReport, DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import type { ReportRequest } from '../records/requests.ts';
import { type RecordSet, type Records, reservedNames, type Versioned } from '../records/store.ts';
import {
  dataName,
  modified,
  newDataSource,
  newGroup,
  newReport,
  newResultTable,
  owningBusiness,
} from '../records/values.ts';
import { ensurePlacement, type Placing } from '../tables/placement.ts';
import { finishDeletion, isGone } from './deletion.ts';

export type ReportRecords = {
  custom_report: CustomReport;
  data_source: DataSource;
  time_series_group: TimeSeriesGroup;
  result_table: ResultTable;
};

export type CreationDeps = {
  readonly records: Records;
  readonly tables: QuestdbTables;
  readonly placing: Placing;
  readonly tablePrefix: string;
  /** The days that rows of what is created are kept; undefined: for ever. */
  readonly retentionDays?: number | undefined;
};

/** The values of a report in state `creating`: the call that finishes it must have the same. */
const recordedFields = [
  'scenario',
  'data_label',
  'description',
  'is_split_measurement',
] as const satisfies readonly (keyof CustomReport & keyof ReportRequest)[];

const differs = (name: string, field: string, value: unknown): Fault =>
  new Fault(
    'permanent',
    'creation_differs',
    `report ${JSON.stringify(name)} is half created with ${field} ${JSON.stringify(value)}; to finish it, repeat the call with that value`,
  );

/** The same for a record below the report that an earlier call made. */
const refuseOther = <T>(
  name: string,
  record: T,
  wanted: NoInfer<T>,
  fields: readonly (keyof T & string)[],
): void => {
  const field = fields.find((each) => record[each] !== wanted[each]);
  if (field !== undefined) throw differs(name, field, record[field]);
};

const refuseOtherValues = (report: CustomReport, request: ReportRequest): void => {
  const isPlatform = request.is_platform || request.mon_biz_id === 0;
  const differing = recordedFields.find((field) => report[field] !== request[field]);
  const field = differing ?? (report.is_platform === isPlatform ? undefined : 'is_platform');
  if (field !== undefined) throw differs(report.name, field, report[field]);
};

const inProgress = (name: string): Fault =>
  new Fault(
    'permanent',
    'creation_in_progress',
    `another call is creating report ${JSON.stringify(name)} now`,
  );

/** A lost compare-and-set on the report means that another call continues it now. */
const asInProgress =
  (name: string) =>
  (error: unknown): never => {
    throw isConflict(error) ? inProgress(name) : error;
  };

const isReportGone = async (records: Records, id: number): Promise<boolean> => {
  const report = await records.reports.get(id);
  return report !== undefined && isGone(report.value);
};

/** True unless the data id is purged or belongs to a report that was deleted. Sources made alone have no report. */
export const isDataIdAlive = async (records: Records, dataId: number): Promise<boolean> => {
  if ((await records.purges.get(dataId)) !== undefined) return false;
  const owner = records.reportOf(dataId);
  return owner === undefined || !(await isReportGone(records, owner.custom_report_id));
};

/** Holds a data_name for a data id. Permanent Fault `name_taken` when another source has it. */
const reserveDataName = async (records: Records, name: string, dataId: number): Promise<void> => {
  await records.reserve(
    reservedNames.dataName(name),
    async () => dataId,
    async (holder) => {
      if (holder === dataId) return 'own';
      return (await isDataIdAlive(records, holder)) ? 'other' : 'gone';
    },
  );
};

type GroupName = Pick<TimeSeriesGroup, 'mon_biz_id' | 'time_series_group_name'>;

/**
 * True while the group of `holder` has this name, or may still get it: a call that ended before it wrote the group has
 * left the name to its data id. A data id whose group got another name by another call holds no name.
 */
const isGroupNameHeld = async (records: Records, wanted: GroupName, holder: number): Promise<boolean> => {
  const group = (await records.groups.get(holder))?.value;
  if (group === undefined) return isDataIdAlive(records, holder);
  return (
    !group.is_delete &&
    group.mon_biz_id === wanted.mon_biz_id &&
    group.time_series_group_name === wanted.time_series_group_name
  );
};

/** Holds a group name within its business. Permanent Fault `name_taken` when another undeleted group has it. */
export const reserveGroupName = async (
  records: Records,
  group: GroupName & Pick<TimeSeriesGroup, 'mon_data_id'>,
): Promise<void> => {
  await records.reserve(
    reservedNames.group(group.mon_biz_id, group.time_series_group_name),
    async () => group.mon_data_id,
    async (holder) => {
      if (holder === group.mon_data_id) return 'own';
      return (await isGroupNameHeld(records, group, holder)) ? 'other' : 'gone';
    },
  );
};

/**
 * Refuses before anything is written, and before ids are taken, which are never given back: afterwards the report would
 * stay half created until the other name is free.
 */
const refuseHeldNames = async (records: Records, report: ReportRequest): Promise<void> => {
  const source = reservedNames.dataName(dataName(report.mon_biz_id, report.name));
  const sourceHolder = await records.holderOf(source);
  const wanted = { mon_biz_id: owningBusiness(report), time_series_group_name: report.name };
  const group = reservedNames.group(wanted.mon_biz_id, wanted.time_series_group_name);
  const groupHolder = await records.holderOf(group);
  const taken =
    sourceHolder !== undefined && (await isDataIdAlive(records, sourceHolder))
      ? source
      : groupHolder !== undefined && (await isGroupNameHeld(records, wanted, groupHolder))
        ? group
        : undefined;
  if (taken !== undefined) {
    throw new Fault('permanent', 'name_taken', `${taken.text} exists already`);
  }
};

/**
 * The report in state `creating` that this call continues: a new one, or that of an earlier call. To take it over, the
 * call writes it, so that of several calls only the last one can finish.
 */
const openReport = async (deps: CreationDeps, request: ReportRequest): Promise<Versioned<CustomReport>> => {
  const { records } = deps;
  const reportId = await records.reserve(
    reservedNames.report(request.mon_biz_id, request.name),
    () => records.nextId('custom_report_id'),
    async (holder) => {
      const report = await records.reports.get(holder);
      if (report === undefined || report.value.state === 'creating') return 'own';
      if (!isGone(report.value)) return 'other';
      // An interrupted deletion may still hold the names of the records below it.
      await finishDeletion(records, report.value);
      return 'gone';
    },
  );
  const left = await records.reports.get(reportId);
  if (left !== undefined) {
    if (left.value.state !== 'creating') throw inProgress(request.name);
    refuseOtherValues(left.value, request);
    const claimed = modified(left.value, request.operator, {});
    return records.reports.update(reportId, claimed, left.revision).catch(asInProgress(request.name));
  }
  await refuseHeldNames(records, request);
  const ids = {
    custom_report_id: reportId,
    mon_data_id: await records.nextId('data_id'),
    time_series_group_id: await records.nextId('time_series_group_id'),
  };
  const report = newReport(request, ids, deps.tablePrefix);
  return records.reports.create(reportId, report).catch(asInProgress(request.name));
};

/** The record of this id: that of an earlier call, else `make()`. */
export const ensure = async <T>(set: RecordSet<T>, id: number, make: () => T): Promise<T> => {
  const there = await set.get(id);
  if (there !== undefined) return there.value;
  try {
    return (await set.create(id, make())).value;
  } catch (error) {
    const other = isConflict(error) ? await set.get(id) : undefined;
    if (other === undefined) throw error;
    return other.value;
  }
};

const ensureDataSource = async (
  { records }: CreationDeps,
  report: CustomReport,
  request: ReportRequest,
): Promise<DataSource> => {
  const name = dataName(report.mon_biz_id, report.name);
  await reserveDataName(records, name, report.mon_data_id);
  const wanted = newDataSource({
    mon_data_id: report.mon_data_id,
    data_name: name,
    data_description: name,
    etl_config: 'mon_standard_v2_time_series',
    is_custom_source: true,
    custom_label: null,
    source_system: request.source_system,
    mon_biz_id: owningBusiness(report),
    space_uid: request.space_uid,
    operator: request.operator,
  });
  const source = await ensure(records.dataSources, report.mon_data_id, () => wanted);
  refuseOther(report.name, source, wanted, ['source_system', 'space_uid']);
  return source;
};

const ensureGroup = async (
  { records }: CreationDeps,
  report: CustomReport,
  request: ReportRequest,
): Promise<TimeSeriesGroup> => {
  const values = {
    time_series_group_id: report.time_series_group_id,
    time_series_group_name: report.name,
    mon_data_id: report.mon_data_id,
    mon_biz_id: owningBusiness(report),
    table_id: report.table_id,
    max_rate: request.max_rate,
    label: report.scenario,
    is_split_measurement: report.is_split_measurement,
    operator: request.operator,
  };
  await reserveGroupName(records, values);
  await records.point(recordKeys.groupId(report.time_series_group_id), report.mon_data_id);
  const group = await ensure(records.groups, report.mon_data_id, () => newGroup(values));
  if (group.time_series_group_id !== report.time_series_group_id || group.table_id !== report.table_id) {
    throw new Fault(
      'permanent',
      'group_exists',
      `data id ${report.mon_data_id} has group ${group.time_series_group_id}, which another call created`,
    );
  }
  refuseOther(report.name, group, newGroup(values), ['max_rate']);
  return group;
};

const ensureResultTable = (
  { records }: CreationDeps,
  report: CustomReport,
  request: ReportRequest,
): Promise<ResultTable> =>
  ensure(records.tables, report.mon_data_id, () =>
    newResultTable({
      table_id: report.table_id,
      table_name_zh: report.name,
      mon_biz_id: owningBusiness(report),
      label: report.scenario,
      data_label: report.data_label,
      operator: request.operator,
    }),
  );

/** Creates the table, which keeps its rows as the policy says: that of an earlier call, else the default of the deployment. */
export const makeTable = async (
  { records, tables, retentionDays }: CreationDeps,
  {
    mon_data_id: dataId,
    is_split_measurement,
  }: Pick<TimeSeriesGroup, 'mon_data_id' | 'is_split_measurement'>,
  tableId: string,
): Promise<void> => {
  const policy =
    retentionDays === undefined
      ? (await records.sourcePolicies.get(dataId))?.value
      : await ensure(records.sourcePolicies, dataId, () => ({ retention_days_initial: retentionDays }));
  await tables.createTable(is_split_measurement ? 'narrow' : 'wide', tableId, retentionDaysOf(policy));
};

const activate = async (
  { records }: CreationDeps,
  report: Versioned<CustomReport>,
  operator: string,
): Promise<CustomReport> => {
  const active = modified(report.value, operator, { state: 'active' });
  const stored = await records.reports
    .update(active.custom_report_id, active, report.revision)
    .catch(asInProgress(active.name));
  return stored.value;
};

/**
 * Creates a custom report, its DataSource, placement, TimeSeriesGroup and ResultTable and the table in QuestDB, in this order, and
 * then calls the report `active`. If a call ends between two steps, the report stays `creating` and
 * the same call again finishes it with the same ids. Permanent Faults: `name_taken` when the name belongs to an undeleted
 * report, `creation_in_progress` when another call is at it, `creation_differs` when the half created one has other values.
 */
export const createCustomTimeSeries = async (
  deps: CreationDeps,
  request: ReportRequest,
): Promise<ReportRecords> => {
  const report = await openReport(deps, request);
  const dataSource = await ensureDataSource(deps, report.value, request);
  await ensurePlacement(deps, report.value, request.questdb);
  const group = await ensureGroup(deps, report.value, request);
  const table = await ensureResultTable(deps, report.value, request);
  await makeTable(deps, group, table.table_id);
  const active = await activate(deps, report, request.operator);
  return { custom_report: active, data_source: dataSource, time_series_group: group, result_table: table };
};

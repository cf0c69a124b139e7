import { isDeepStrictEqual } from 'node:util';
import { isConflict } from '../../bus/kv.ts';
import { recordKeys } from '../../directory/keys.ts';
import type { ApplicationPolicy } from '../../directory/policies.ts';
import type { Application, DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import { fieldFault } from '../problem.ts';
import type {
  ApplicationRequest,
  DataSourceRequest,
  GroupRequest,
  ResultTableRequest,
} from '../records/requests.ts';
import { type Records, reservedNames } from '../records/store.ts';
import {
  newApplication,
  newDataSource,
  newGroup,
  newResultTable,
  newToken,
  tableIdOf,
} from '../records/values.ts';
import { ensurePlacement } from '../tables/placement.ts';
import { type CreationDeps, ensure, isDataIdAlive, makeTable, reserveGroupName } from './creation.ts';

const exists = (code: string, text: string) => (error: unknown) => {
  throw isConflict(error) ? new Fault('permanent', code, text) : error;
};

/** Another process may be creating a report with this data_name that this copy does not have yet. */
const readReportOf = async (records: Records, dataName: string): Promise<void> => {
  const [, biz = '', name = ''] = /^(-?\d+)_custom_time_series_(.+)$/.exec(dataName) ?? [];
  const reportId = await records.holderOf(reservedNames.report(Number(biz), name));
  if (reportId !== undefined) await records.reports.get(reportId);
};

/**
 * CreateDataIDResource alone: only a DataSource with a data id and a token. The call holds the name first: a repeat of
 * the call finishes one that ended before its record. Permanent Fault `name_taken`.
 */
export const createDataSource = async (
  { records }: CreationDeps,
  request: DataSourceRequest,
): Promise<DataSource> => {
  const dataId = await records.reserve(
    reservedNames.dataName(request.data_name),
    () => records.nextId('data_id'),
    async (holder) => {
      await readReportOf(records, request.data_name);
      if (!(await isDataIdAlive(records, holder))) return 'gone';
      const isMade = (await records.dataSources.get(holder)) !== undefined;
      return isMade || records.reportOf(holder) !== undefined ? 'other' : 'own';
    },
  );
  const taken = `another call is creating data source ${JSON.stringify(request.data_name)} now`;
  const created = await records.dataSources
    .create(dataId, newDataSource({ ...request, mon_data_id: dataId }))
    .catch(exists('creation_in_progress', taken));
  return created.value;
};

/** The data source, which must exist and not belong to a deleted report. */
const requireDataSource = async (records: Records, dataId: number): Promise<DataSource> => {
  if ((await records.purges.get(dataId)) !== undefined) {
    throw new Fault('permanent', 'data_id_purged', `data id ${dataId} is purged`);
  }
  const source = (await records.dataSources.get(dataId))?.value;
  if (source === undefined) {
    throw new Fault(
      'permanent',
      'data_source_missing',
      `data source ${dataId} does not exist; create it first`,
    );
  }
  if (!(await isDataIdAlive(records, dataId))) {
    throw new Fault('permanent', 'record_deleted', `the report of data id ${dataId} is deleted`);
  }
  return source;
};

/** The table of a data id carries its business: that of data_name, or 0 for a platform data id. */
const requireBusiness = (source: DataSource, bizId: number): void => {
  const own = source.is_platform_data_id ? 0 : Number.parseInt(source.data_name, 10);
  if (own === bizId) return;
  throw fieldFault('invalid_value', 'mon_biz_id', `must be ${own}, the business of the data source`);
};

/** Records of a report in state `creating` are written by its own creation only. */
const refuseWhileCreating = (records: Records, dataId: number): void => {
  const report = records.reportOf(dataId);
  if (report?.state !== 'creating') return;
  throw new Fault(
    'permanent',
    'creation_in_progress',
    `data id ${dataId} belongs to report ${JSON.stringify(report.name)}, which is half created; to finish it, repeat the call that created it`,
  );
};

/** CreateTimeSeriesGroupResource alone; it decides where the table will lie. Permanent Faults `data_source_missing`, `group_exists`, `name_taken`. */
export const createGroup = async (
  deps: CreationDeps,
  { questdb, ...request }: GroupRequest,
): Promise<TimeSeriesGroup> => {
  const { records, tablePrefix } = deps;
  const dataId = request.mon_data_id;
  requireBusiness(await requireDataSource(records, dataId), request.mon_biz_id);
  refuseWhileCreating(records, dataId);
  const taken = `data id ${dataId} already has a time series group`;
  if ((await records.groups.get(dataId)) !== undefined) {
    throw new Fault('permanent', 'group_exists', taken);
  }
  await reserveGroupName(records, request);
  const tableId = tableIdOf(request.mon_biz_id, tablePrefix, dataId);
  await ensurePlacement(deps, { mon_data_id: dataId, table_id: tableId }, questdb);
  const groupId = await records.nextId('time_series_group_id');
  await records.point(recordKeys.groupId(groupId), dataId);
  const group = newGroup({
    ...request,
    time_series_group_id: groupId,
    table_id: tableId,
  });
  return (await records.groups.create(dataId, group).catch(exists('group_exists', taken))).value;
};

/**
 * create_result_table alone: the table in QuestDB and then its record. Permanent Faults `data_source_missing`,
 * `group_missing`, `table_exists`, `table_id_differs`.
 */
export const createResultTable = async (
  deps: CreationDeps,
  request: ResultTableRequest,
): Promise<ResultTable> => {
  const { records } = deps;
  const dataId = request.mon_data_id;
  await requireDataSource(records, dataId);
  const group = (await records.groups.get(dataId))?.value;
  if (group === undefined) {
    throw new Fault(
      'permanent',
      'group_missing',
      `data id ${dataId} has no time series group; create it first`,
    );
  }
  refuseWhileCreating(records, dataId);
  if (request.table_id !== undefined && request.table_id !== group.table_id) {
    throw new Fault('permanent', 'table_id_differs', `the table of data id ${dataId} is ${group.table_id}`);
  }
  const taken = `table ${group.table_id} exists already`;
  if ((await records.tables.get(dataId)) !== undefined) {
    throw new Fault('permanent', 'table_exists', taken);
  }
  await makeTable(deps, group, group.table_id);
  const table = newResultTable({
    table_id: group.table_id,
    table_name_zh: request.table_name_zh ?? group.time_series_group_name,
    mon_biz_id: group.mon_biz_id,
    label: request.label ?? group.label,
    data_label: request.data_label,
    operator: request.operator,
  });
  return (await records.tables.create(dataId, table).catch(exists('table_exists', taken))).value;
};

/**
 * The first call writes the policy, even an empty one: of two calls with different policies one is refused, and neither
 * gives its policy to the application of the other. An existing application does not change.
 */
const beginPolicy = async (
  { applicationPolicies }: Records,
  appId: number,
  { app_name, deduplicate, fill_dimensions }: ApplicationRequest,
  retentionDays: number | undefined,
): Promise<void> => {
  const wanted: ApplicationPolicy = {
    ...(deduplicate === undefined ? {} : { deduplicate }),
    ...(fill_dimensions === undefined ? {} : { fill_dimensions }),
  };
  const initial = retentionDays === undefined ? {} : { retention_days_initial: retentionDays };
  const there = await ensure(applicationPolicies, appId, () => ({ ...wanted, ...initial }));
  const { retention_days_initial: _, ...asked } = there;
  if (isDeepStrictEqual(asked, wanted)) return;
  throw new Fault(
    'permanent',
    'creation_differs',
    `application ${JSON.stringify(app_name)} is half created with ${JSON.stringify(asked)}; to finish it, repeat the call with that value`,
  );
};

/**
 * A new application with a write token. The name is held first and the record written last: a call that ended in between
 * is finished by the same call. Permanent Faults `name_taken`, `creation_in_progress`, `creation_differs`.
 */
export const createApplication = async (
  { records, retentionDays }: CreationDeps,
  request: ApplicationRequest,
): Promise<Application> => {
  const appId = await records.reserve(
    reservedNames.application(request.mon_biz_id, request.app_name),
    () => records.nextId('app_id'),
    async (holder) => {
      const there = await records.applications.get(holder);
      if (there === undefined) return 'own';
      return there.value.is_delete ? 'gone' : 'other';
    },
  );
  await beginPolicy(records, appId, request, retentionDays);
  const token = newToken();
  await records.point(recordKeys.applicationToken(token), appId);
  const taken = `another call is creating application ${JSON.stringify(request.app_name)} now`;
  const created = await records.applications
    .create(appId, newApplication(appId, token, request))
    .catch(exists('creation_in_progress', taken));
  return created.value;
};

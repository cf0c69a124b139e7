import { randomBytes } from 'node:crypto';
import { newRecord } from '../../directory/record-fields.ts';
import {
  type Application,
  applicationSchema,
  type CustomReport,
  customReportSchema,
  type DataSource,
  dataSourceSchema,
  type ResultTable,
  resultTableSchema,
  type TimeSeriesGroup,
  timeSeriesGroupSchema,
} from '../../directory/records.ts';
import { nowSeconds } from '../../model/time.ts';
import type { ApplicationRequest, ReportRequest } from './requests.ts';
import { spaceOf } from './spaces.ts';

/** A new access token: 32 lowercase hex characters from the system's random source. */
export const newToken = (): string => randomBytes(16).toString('hex');

type Authorship = Pick<CustomReport, 'creator' | 'create_time' | 'last_modify_user' | 'last_modify_time'>;

/** The author and the time of a record; a new record was last modified by its author. */
export const authoredBy = (user: string, at: number): Authorship => ({
  creator: user,
  create_time: at,
  last_modify_user: user,
  last_modify_time: at,
});

/** The same record, modified by `user` now. */
export const modified = <T extends Authorship>(record: T, user: string, change: Partial<T>): T => ({
  ...record,
  ...change,
  last_modify_user: user,
  last_modify_time: nowSeconds(),
});

/** A data source names its business only in data_name: `<biz>_custom_time_series_<name>`. */
export const bizOfDataSource = ({ data_name }: DataSource): number | undefined => {
  const biz = /^(-?\d{1,10})_/.exec(data_name.slice(0, 16))?.[1];
  return biz === undefined ? undefined : Number(biz);
};

/** The business whose tables and spaces a report uses: a platform report belongs to business 0. */
export const owningBusiness = (report: Pick<CustomReport, 'mon_biz_id' | 'is_platform'>): number =>
  report.is_platform ? 0 : report.mon_biz_id;

/** `<biz>_custom_time_series_<name>`, specification 2.1. */
export const dataName = (bizId: number, name: string): string => `${bizId}_custom_time_series_${name}`;

/** `<biz>_<prefix>_time_series_<data_id>.__default__`, specification 2.2; business 0 has no `<biz>_`. */
export const tableIdOf = (bizId: number, prefix: string, dataId: number): string =>
  `${bizId === 0 ? '' : `${bizId}_`}${prefix}_time_series_${dataId}.__default__`;

/** Longer than `_time_series_<data_id>.__default__`. */
const tableIdEndLength = 64;

/** The data id in a table_id; undefined without one. */
export const dataIdOfTableId = (tableId: string): number | undefined => {
  const digits = /_time_series_(\d{1,15})\.__default__$/.exec(tableId.slice(-tableIdEndLength))?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** A report in creation, with the ids that its records will have. */
export const newReport = (
  { operator, ...request }: ReportRequest,
  ids: Pick<CustomReport, 'custom_report_id' | 'mon_data_id' | 'time_series_group_id'>,
  tablePrefix: string,
): CustomReport => {
  const is_platform = request.is_platform || request.mon_biz_id === 0;
  const owner = owningBusiness({ ...request, is_platform });
  return newRecord(customReportSchema, {
    ...request,
    ...ids,
    is_platform,
    state: 'creating',
    table_id: tableIdOf(owner, tablePrefix, ids.mon_data_id),
    ...authoredBy(operator, nowSeconds()),
  });
};

/** The values of a DataSource that its creation chooses. */
type DataSourceValues = Pick<
  DataSource,
  'mon_data_id' | 'data_name' | 'data_description' | 'etl_config' | 'is_custom_source' | 'custom_label'
> & { source_system: string; mon_biz_id: number; space_uid: string; operator: string };

/** A new, enabled DataSource with a token of its own. */
export const newDataSource = ({ mon_biz_id, operator, ...values }: DataSourceValues): DataSource =>
  newRecord(dataSourceSchema, {
    ...values,
    token: newToken(),
    ...authoredBy(operator, nowSeconds()),
    ...spaceOf(mon_biz_id, values.space_uid),
  });

/** A TimeSeriesGroup without its times and flags. */
type GroupValues = Omit<TimeSeriesGroup, keyof Authorship | 'is_enable' | 'is_delete'> & { operator: string };

/** A new, enabled TimeSeriesGroup. */
export const newGroup = ({ operator, ...values }: GroupValues): TimeSeriesGroup =>
  newRecord(timeSeriesGroupSchema, { ...values, ...authoredBy(operator, nowSeconds()) });

/** The values of a ResultTable that its creation chooses. */
type ResultTableValues = Pick<
  ResultTable,
  'table_id' | 'table_name_zh' | 'mon_biz_id' | 'label' | 'data_label'
> & { operator: string };

/** A new, enabled ResultTable. */
export const newResultTable = ({ operator, ...values }: ResultTableValues): ResultTable =>
  newRecord(resultTableSchema, { ...values, ...authoredBy(operator, nowSeconds()) });

/** A new, enabled application. */
export const newApplication = (
  app_id: number,
  token: string,
  { operator, ...values }: ApplicationRequest,
): Application =>
  newRecord(applicationSchema, { ...values, app_id, token, ...authoredBy(operator, nowSeconds()) });

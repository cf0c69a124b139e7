import { randomBytes } from 'node:crypto';
import type {
  Application,
  CustomReport,
  DataSource,
  ResultTable,
  TimeSeriesGroup,
} from '../../model/records.ts';
import type { ApplicationRequest, ReportRequest } from './requests.ts';
import { spaceOf } from './spaces.ts';

/** Integer Unix seconds. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** A new access token: 32 lowercase hex characters from the system's random source. */
export const newToken = (): string => randomBytes(16).toString('hex');

type Authorship = Pick<CustomReport, 'creator' | 'create_time' | 'last_modify_user' | 'last_modify_time'>;

/** Who made a record and when; a new record was last modified by its maker. */
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

/** The data id that a table_id embeds; undefined when it embeds none. */
export const dataIdOfTableId = (tableId: string): number | undefined => {
  const digits = /_time_series_(\d{1,15})\.__default__$/.exec(tableId.slice(-tableIdEndLength))?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** A new report that is being created, with the ids its records will have. */
export const newReport = (
  request: ReportRequest,
  ids: Pick<CustomReport, 'custom_report_id' | 'mon_data_id' | 'time_series_group_id'>,
  tablePrefix: string,
): CustomReport => {
  const isPlatform = request.is_platform || request.mon_biz_id === 0;
  const owner = isPlatform ? 0 : request.mon_biz_id;
  return {
    custom_report_id: ids.custom_report_id,
    mon_biz_id: request.mon_biz_id,
    name: request.name,
    scenario: request.scenario,
    data_label: request.data_label,
    description: request.description,
    is_split_measurement: request.is_split_measurement,
    is_platform: isPlatform,
    state: 'creating',
    mon_data_id: ids.mon_data_id,
    time_series_group_id: ids.time_series_group_id,
    table_id: tableIdOf(owner, tablePrefix, ids.mon_data_id),
    ...authoredBy(request.operator, nowSeconds()),
  };
};

/** What a DataSource says besides the ids and times; the rest of its fields are the same for every one. */
export type DataSourceValues = Pick<
  DataSource,
  | 'mon_data_id'
  | 'data_name'
  | 'data_description'
  | 'etl_config'
  | 'is_custom_source'
  | 'custom_label'
  | 'source_system'
> & { mon_biz_id: number; space_uid: string; operator: string };

/** A new DataSource with a token of its own. */
export const newDataSource = (values: DataSourceValues): DataSource => ({
  mon_data_id: values.mon_data_id,
  token: newToken(),
  data_name: values.data_name,
  data_description: values.data_description,
  mq_cluster_id: 1,
  mq_config_id: 1,
  etl_config: values.etl_config,
  is_custom_source: values.is_custom_source,
  ...authoredBy(values.operator, nowSeconds()),
  type_label: 'time_series',
  source_label: 'custom',
  custom_label: values.custom_label,
  source_system: values.source_system,
  is_enable: true,
  transfer_cluster_id: 'default',
  ...spaceOf(values.mon_biz_id, values.space_uid),
});

/** What a TimeSeriesGroup says besides its times and flags. */
export type GroupValues = Pick<
  TimeSeriesGroup,
  | 'time_series_group_id'
  | 'time_series_group_name'
  | 'mon_data_id'
  | 'mon_biz_id'
  | 'table_id'
  | 'max_rate'
  | 'label'
  | 'is_split_measurement'
> & { operator: string };

/** A new, enabled TimeSeriesGroup. */
export const newGroup = ({ operator, ...values }: GroupValues): TimeSeriesGroup => ({
  ...values,
  is_enable: true,
  is_delete: false,
  ...authoredBy(operator, nowSeconds()),
});

/** What a ResultTable says besides its times and flags. */
export type ResultTableValues = Pick<
  ResultTable,
  'table_id' | 'table_name_zh' | 'mon_biz_id' | 'label' | 'data_label'
> & { operator: string };

/** A new, enabled ResultTable. */
export const newResultTable = ({ operator, ...values }: ResultTableValues): ResultTable => ({
  ...values,
  is_custom_table: true,
  schema_type: 'free',
  default_storage: 'questdb',
  ...authoredBy(operator, nowSeconds()),
  is_deleted: false,
  is_enable: true,
});

/** A new, enabled application. */
export const newApplication = (appId: number, token: string, request: ApplicationRequest): Application => ({
  app_id: appId,
  mon_biz_id: request.mon_biz_id,
  app_name: request.app_name,
  token,
  is_enable: true,
  is_delete: false,
  max_rate: request.max_rate,
  ...authoredBy(request.operator, nowSeconds()),
});

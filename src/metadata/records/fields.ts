import type {
  Application,
  CustomReport,
  DataSource,
  ResultTable,
  TimeSeriesGroup,
} from '../../model/records.ts';
import {
  authorship,
  dataId,
  type Facts,
  type FieldFacts,
  monBizId,
  splitFacts,
  tableIdFacts,
} from './field-facts.ts';

export type { Changer, FieldDefault, FieldFacts } from './field-facts.ts';

/** DataSource, specification 2.1. */
export const dataSourceFields: Facts<DataSource> = {
  mon_data_id: dataId,
  token: {
    default: { made: '32 random hex digits', looks: /^[0-9a-f]{32}$/ },
    changedBy: ['rotate_token'],
    effect: 'The write token of its pushes. Shown in full by its creation, its rotation and reveal-token.',
    example: '0123456789abcdef0123456789abcdef',
  },
  data_name: {
    default: { template: '{mon_biz_id}_custom_time_series_{name}' },
    changedBy: [],
    effect: 'Its unique name, built from the business and the requested name.',
    example: '2_custom_time_series_demo',
  },
  data_description: {
    default: { template: '{mon_biz_id}_custom_time_series_{name}' },
    changedBy: ['patch'],
    effect: 'Information only.',
    example: '2_custom_time_series_demo',
  },
  mq_cluster_id: {
    default: { is: 1 },
    changedBy: [],
    effect: 'The JetStream cluster that its points go through; there is one.',
    example: 1,
  },
  mq_config_id: {
    default: { is: 1 },
    changedBy: [],
    effect: 'The stream in that cluster; there is one for metrics.',
    example: 1,
  },
  etl_config: {
    default: { is: 'mon_standard_v2_time_series' },
    changedBy: [],
    effect: 'Format of its points; the only one.',
    example: 'mon_standard_v2_time_series',
  },
  is_custom_source: {
    default: { is: true },
    changedBy: [],
    effect: 'Information only: external producers send to it.',
    example: true,
  },
  ...authorship,
  type_label: {
    default: { is: 'time_series' },
    changedBy: [],
    effect: 'Type of its data; the only supported type.',
    example: 'time_series',
  },
  source_label: {
    default: { is: 'custom' },
    changedBy: [],
    effect: 'Origin of its data; the only supported origin.',
    example: 'custom',
  },
  custom_label: {
    default: { is: null },
    changedBy: ['patch'],
    effect: 'Information only; lists can be filtered by it.',
    example: null,
  },
  source_system: {
    default: { is: 'unknown' },
    changedBy: ['patch'],
    effect: 'Information only: the system that requested it.',
    example: 'unknown',
  },
  is_enable: {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: its pushes are refused. Points that are already in the stream are stored.',
    example: true,
  },
  transfer_cluster_id: {
    default: { is: 'default' },
    changedBy: [],
    effect: 'The group of transfer processes that stores its points; there is one group.',
    example: 'default',
  },
  is_platform_data_id: {
    default: { is: false },
    changedBy: [],
    effect: 'true: it belongs to business 0, whose space is all of them.',
    example: false,
  },
  space_type_id: {
    default: { is: 'moncc' },
    changedBy: [],
    effect: 'The part of space_uid before `__`.',
    example: 'moncc',
  },
  space_uid: {
    default: { template: 'moncc__{mon_biz_id}' },
    changedBy: [],
    effect: 'The space that owns it: that of the business, or the given one where the business is below 0.',
    example: 'moncc__2',
  },
};

/** TimeSeriesGroup, specification 2.2. */
export const timeSeriesGroupFields: Facts<TimeSeriesGroup> = {
  mon_data_id: dataId,
  mon_biz_id: monBizId,
  table_id: tableIdFacts,
  max_rate: {
    default: { is: -1 },
    changedBy: ['patch', 'report_patch'],
    effect:
      'Push requests per second that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none.',
    example: -1,
  },
  label: {
    default: { is: 'others' },
    changedBy: ['patch', 'report_patch'],
    effect: 'Its subject, from the label vocabulary; information only. The scenario of its report.',
    example: 'others',
  },
  is_enable: {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: pushes of its data id are refused.',
    example: true,
  },
  is_delete: {
    default: { is: false },
    changedBy: ['delete', 'purge'],
    effect: 'true, for ever: pushes of its data id are refused, and its name is free again.',
    example: false,
  },
  ...authorship,
  is_split_measurement: splitFacts,
  time_series_group_id: {
    default: { made: 'the next group id', looks: /^[1-9]\d*$/ },
    changedBy: [],
    effect: 'Its own id, in paths.',
    example: 1,
  },
  time_series_group_name: {
    default: { template: '{name}' },
    changedBy: [],
    effect: 'Its name, unique within the business.',
    example: 'demo',
  },
};

/** ResultTable, specification 2.3. */
export const resultTableFields: Facts<ResultTable> = {
  table_id: tableIdFacts,
  table_name_zh: {
    default: { template: '{name}' },
    changedBy: ['patch'],
    effect: 'Its name for people.',
    example: 'demo',
  },
  is_custom_table: {
    default: { is: true },
    changedBy: [],
    effect: 'Information only: the table of a custom report.',
    example: true,
  },
  schema_type: {
    default: { is: 'free' },
    changedBy: [],
    effect: 'The points define the columns; the only schema type.',
    example: 'free',
  },
  default_storage: {
    default: { is: 'questdb' },
    changedBy: [],
    effect: 'The database of the rows; the only one.',
    example: 'questdb',
  },
  ...authorship,
  mon_biz_id: monBizId,
  is_deleted: {
    default: { is: false },
    changedBy: ['delete', 'purge'],
    effect: 'true, for ever: pushes of its data id are refused. The rows stay until a purge.',
    example: false,
  },
  is_enable: {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: pushes of its data id are refused. Its rows stay readable.',
    example: true,
  },
  label: {
    default: { is: 'others' },
    changedBy: ['patch', 'report_patch'],
    effect: 'Its subject, from the label vocabulary; information only. The scenario of its report.',
    example: 'others',
  },
  data_label: {
    default: { is: '' },
    changedBy: ['patch', 'report_patch'],
    effect: 'Names for queries, separated by commas; no effect on routing.',
    example: '',
  },
};

/** The custom report that the three belong to. */
export const customReportFields: Facts<CustomReport> = {
  custom_report_id: {
    default: { made: 'the next report id', looks: /^[1-9]\d*$/ },
    changedBy: [],
    effect: 'Its own id, in paths.',
    example: 1,
  },
  mon_biz_id: monBizId,
  name: {
    default: { template: '{name}' },
    changedBy: [],
    effect: 'Its name, unique within the business among reports that are not deleted.',
    example: 'demo',
  },
  scenario: {
    default: { is: 'others' },
    changedBy: ['patch'],
    effect: 'Its subject, from the label vocabulary: the label of its group and its table.',
    example: 'others',
  },
  data_label: {
    default: { is: '' },
    changedBy: ['patch'],
    effect: 'The data_label of its table.',
    example: '',
  },
  description: { default: { is: '' }, changedBy: ['patch'], effect: 'Information only.', example: '' },
  is_split_measurement: splitFacts,
  is_platform: {
    default: { is: false },
    changedBy: [],
    effect: 'true: its three records belong to business 0 and to all spaces.',
    example: false,
  },
  state: {
    default: { is: 'active' },
    changedBy: ['delete', 'purge'],
    effect:
      'creating until all records and the table exist, then active; deleted; purging until the table is dropped, then purged.',
    example: 'active',
  },
  mon_data_id: dataId,
  time_series_group_id: {
    default: { made: 'the next group id', looks: /^[1-9]\d*$/ },
    changedBy: [],
    effect: 'The id of its group.',
    example: 1,
  },
  table_id: tableIdFacts,
  ...authorship,
};

/** An application. */
export const applicationFields: Facts<Application> = {
  app_id: {
    default: { made: 'the next application id', looks: /^[1-9]\d*$/ },
    changedBy: [],
    effect: 'Its own id, in paths.',
    example: 1,
  },
  mon_biz_id: monBizId,
  app_name: {
    default: { template: '{name}' },
    changedBy: [],
    effect: 'Its name, unique within the business among applications that are not deleted.',
    example: 'shop',
  },
  token: {
    default: { made: '32 random hex digits', looks: /^[0-9a-f]{32}$/ },
    changedBy: ['rotate_token'],
    effect: 'The write token of its exporters. Shown in full by its creation, its rotation and reveal-token.',
    example: '0123456789abcdef0123456789abcdef',
  },
  is_enable: {
    default: { is: true },
    changedBy: ['switch', 'delete'],
    effect: 'false: its traces are refused.',
    example: true,
  },
  is_delete: {
    default: { is: false },
    changedBy: ['delete'],
    effect: 'true, for ever: its traces are refused, and its name is free again.',
    example: false,
  },
  max_rate: {
    default: { is: 0 },
    changedBy: ['patch'],
    effect:
      'Trace requests per second that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none.',
    example: 0,
  },
  ...authorship,
};

/** The facts of all records, by the names of their JSON Schemas. */
export const recordFields = {
  'data-source': dataSourceFields,
  'time-series-group': timeSeriesGroupFields,
  'result-table': resultTableFields,
  'custom-report': customReportFields,
  application: applicationFields,
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldFacts>>>>;

/** DataSource, with exactly the fields of specification 2.1. Times are Unix seconds. */
export type DataSource = {
  mon_data_id: number;
  token: string;
  data_name: string;
  data_description: string;
  mq_cluster_id: number;
  mq_config_id: number;
  etl_config: string;
  is_custom_source: boolean;
  creator: string;
  create_time: number;
  last_modify_user: string;
  last_modify_time: number;
  type_label: string;
  source_label: string;
  custom_label: string | null;
  source_system: string;
  is_enable: boolean;
  transfer_cluster_id: string;
  is_platform_data_id: boolean;
  space_type_id: string;
  space_uid: string;
};

/** TimeSeriesGroup, specification 2.2. `max_rate` counts requests per second: < -1 none, -1 the default, 0 unlimited. */
export type TimeSeriesGroup = {
  mon_data_id: number;
  mon_biz_id: number;
  table_id: string;
  max_rate: number;
  label: string;
  is_enable: boolean;
  is_delete: boolean;
  creator: string;
  create_time: number;
  last_modify_user: string;
  last_modify_time: number;
  is_split_measurement: boolean;
  time_series_group_id: number;
  time_series_group_name: string;
};

/** ResultTable, specification 2.3. */
export type ResultTable = {
  table_id: string;
  table_name_zh: string;
  is_custom_table: boolean;
  schema_type: string;
  default_storage: string;
  creator: string;
  create_time: number;
  last_modify_user: string;
  last_modify_time: number;
  mon_biz_id: number;
  is_deleted: boolean;
  is_enable: boolean;
  label: string;
  data_label: string;
};

/** Which QuestDB instance the table and the views of a data id lie on. Without such a record it is the first one, `default`. */
export type Placement = { mon_data_id: number; table_id: string; questdb: string };

/** Where a custom report stands: `creating` until every record and the table are there. */
export type CustomReportState = 'creating' | 'active' | 'deleted' | 'purging' | 'purged';

/** The custom report that the three records of specification 2 belong to; while `creating`, the log of its own creation. */
export type CustomReport = {
  custom_report_id: number;
  mon_biz_id: number;
  name: string;
  scenario: string;
  data_label: string;
  description: string;
  is_split_measurement: boolean;
  is_platform: boolean;
  state: CustomReportState;
  mon_data_id: number;
  time_series_group_id: number;
  table_id: string;
  creator: string;
  create_time: number;
  last_modify_user: string;
  last_modify_time: number;
};

/** An APM application: the write token of trace ingestion belongs to it (specification 5). */
export type Application = {
  app_id: number;
  mon_biz_id: number;
  app_name: string;
  token: string;
  is_enable: boolean;
  is_delete: boolean;
  max_rate: number;
  creator: string;
  create_time: number;
  last_modify_user: string;
  last_modify_time: number;
};

/** How a data id's points are laid out: `wide` = one row per point, `narrow` = one row per metric (is_split_measurement). */
export type Layout = 'wide' | 'narrow';

/** A name of the column registry: what producers call it and what the table (or, for a split metric, the view) calls it. */
export type RegisteredName = { name: string; column: string; first_seen: number; last_seen: number };

/** The column registry of one table. Order is order of registration. */
export type ColumnRegistry = {
  mon_data_id: number;
  metrics: RegisteredName[];
  dimensions: RegisteredName[];
};

/** A write token that a rotation replaced: receivers still take it until `expires_at` (Unix seconds). */
export type PreviousToken = { token: string; expires_at: number };

/**
 * The write token that repeats of requests are recognised by, whichever token they come with now: the one before the first rotation.
 * There is none before that.
 */
export type IdentityCredential = { identity_credential: string };

/**
 * The purge of a data id, by its mon_data_id. Transfer drops its items from the moment it is there, and for ever: the id is never
 * given out again. `purging` until the table is dropped.
 */
export type Purge = {
  mon_data_id: number;
  table_id: string;
  state: 'purging' | 'purged';
  /** Unix milliseconds. */
  requested_at: number;
  requested_by: string;
};

import { z } from 'zod';
import { isInstanceName } from '../../model/instances.ts';
import type {
  Application,
  CustomReport,
  DataSource,
  IdentityCredential,
  Placement,
  PreviousToken,
  Purge,
  ResultTable,
  TimeSeriesGroup,
} from '../../model/records.ts';

const unixSeconds = z.int().nonnegative();
const token = z.string().regex(/^[0-9a-f]{32}$/);

const authorship = {
  creator: z.string(),
  create_time: unixSeconds,
  last_modify_user: z.string(),
  last_modify_time: unixSeconds,
};

/** DataSource, specification 2.1. */
export const dataSourceSchema = z.object({
  mon_data_id: z.int(),
  token,
  data_name: z.string(),
  data_description: z.string(),
  mq_cluster_id: z.int(),
  mq_config_id: z.int(),
  etl_config: z.string(),
  is_custom_source: z.boolean(),
  ...authorship,
  type_label: z.string(),
  source_label: z.string(),
  custom_label: z.string().nullable(),
  source_system: z.string(),
  is_enable: z.boolean(),
  transfer_cluster_id: z.string(),
  is_platform_data_id: z.boolean(),
  space_type_id: z.string(),
  space_uid: z.string(),
}) satisfies z.ZodType<DataSource>;

/** TimeSeriesGroup, specification 2.2. */
export const timeSeriesGroupSchema = z.object({
  mon_data_id: z.int(),
  mon_biz_id: z.int(),
  table_id: z.string(),
  max_rate: z.int(),
  label: z.string(),
  is_enable: z.boolean(),
  is_delete: z.boolean(),
  ...authorship,
  is_split_measurement: z.boolean(),
  time_series_group_id: z.int(),
  time_series_group_name: z.string(),
}) satisfies z.ZodType<TimeSeriesGroup>;

/** ResultTable, specification 2.3. */
export const resultTableSchema = z.object({
  table_id: z.string(),
  table_name_zh: z.string(),
  is_custom_table: z.boolean(),
  schema_type: z.string(),
  default_storage: z.string(),
  ...authorship,
  mon_biz_id: z.int(),
  is_deleted: z.boolean(),
  is_enable: z.boolean(),
  label: z.string(),
  data_label: z.string(),
}) satisfies z.ZodType<ResultTable>;

/** Where the table of a data id lies. */
export const placementSchema = z.object({
  mon_data_id: z.int(),
  table_id: z.string(),
  questdb: z
    .string()
    .refine(isInstanceName, 'must be the name of a QuestDB instance')
    .meta({ description: 'The QuestDB instance', examples: ['default'] }),
}) satisfies z.ZodType<Placement>;

/** The custom report that the three records above belong to. */
export const customReportSchema = z.object({
  custom_report_id: z.int(),
  mon_biz_id: z.int(),
  name: z.string(),
  scenario: z.string(),
  data_label: z.string(),
  description: z.string(),
  is_split_measurement: z.boolean(),
  is_platform: z.boolean(),
  state: z.enum(['creating', 'active', 'deleted', 'purging', 'purged']),
  mon_data_id: z.int(),
  time_series_group_id: z.int(),
  table_id: z.string(),
  ...authorship,
}) satisfies z.ZodType<CustomReport>;

/** An APM application and its write token. */
export const applicationSchema = z.object({
  app_id: z.int(),
  mon_biz_id: z.int(),
  app_name: z.string(),
  token,
  is_enable: z.boolean(),
  is_delete: z.boolean(),
  max_rate: z.int(),
  ...authorship,
}) satisfies z.ZodType<Application>;

/** The token that a rotation replaced. */
export const previousTokenSchema: z.ZodType<PreviousToken> = z.object({ token, expires_at: unixSeconds });

/** What repeats of requests are recognised by after a rotation. */
export const identityCredentialSchema: z.ZodType<IdentityCredential> = z.object({
  identity_credential: token,
});

/** The purge of a data id. */
export const purgeSchema: z.ZodType<Purge> = z.object({
  mon_data_id: z.int(),
  table_id: z.string(),
  state: z.enum(['purging', 'purged']),
  requested_at: z.int().nonnegative(),
  requested_by: z.string(),
});

/** What `schemas/records/<name>.schema.json` promises, by name. */
export const recordSchemas: Readonly<Record<string, z.ZodType>> = {
  'data-source': dataSourceSchema,
  'time-series-group': timeSeriesGroupSchema,
  'result-table': resultTableSchema,
  'custom-report': customReportSchema,
  application: applicationSchema,
};

/** The JSON Schema (draft 2020-12) of a record. */
export const recordJsonSchema = (title: string, schema: z.ZodType): Record<string, unknown> => ({
  title,
  ...z.toJSONSchema(schema),
});

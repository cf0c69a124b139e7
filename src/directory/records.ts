import { z } from 'zod';
import { isInstanceName } from '../model/instances.ts';
import type { ColumnRegistry } from '../model/records.ts';
import { field } from './record-fields.ts';

// The records in KV, each field declared once: its type, default, effect, example and who changes it. Types, values at creation,
// answers of the admin API, its OpenAPI document, schemas/records and docs/records.md follow from these declarations.

const unixSeconds = () => z.int().nonnegative();
const tokenForm = /^[0-9a-f]{32}$/;
const token = () => z.string().regex(tokenForm);
const newToken = { made: '32 random hex digits', looks: tokenForm };
const tokenExample = '0123456789abcdef0123456789abcdef';
const id = /^[1-9]\d*$/;
const now = { made: 'the time of the creation', looks: /^\d{10}$/ };

const authorship = {
  creator: field(z.string(), {
    default: { is: 'admin' },
    effect:
      'Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator.',
  }),
  create_time: field(unixSeconds(), {
    default: now,
    effect: 'When the record was created, Unix seconds.',
    example: 1_795_000_000,
  }),
  last_modify_user: field(z.string(), {
    default: { is: 'admin' },
    changedBy: ['every_change'],
    effect: 'Who changed the record last, in the same form.',
  }),
  last_modify_time: field(unixSeconds(), {
    default: now,
    changedBy: ['every_change'],
    effect: 'When the record was changed last, Unix seconds.',
    example: 1_795_000_000,
  }),
};

const dataId = field(z.int(), {
  default: { made: 'the next data id', looks: /^(1[5-9]|20)\d{5}$/ },
  effect: 'The data id: producers send it, and the name of the table contains it. Never used again.',
  example: 1_500_001,
});

const bizId = field(z.int(), {
  default: { template: '{mon_biz_id}' },
  effect: 'The business; 0 is the platform, below 0 are spaces that are no business.',
  example: 2,
});

const tableId = field(z.string(), {
  default: { template: '{mon_biz_id}_mon_time_series_{mon_data_id}.__default__' },
  effect:
    'The name of the QuestDB table. `mon` is TIDEMARK_TABLE_PREFIX. Tables of business 0 and of platform reports have no business in front, see below.',
  example: '2_mon_time_series_1500001.__default__',
});

const isSplit = field(z.boolean(), {
  default: { is: false },
  effect:
    'false: one row per point with a column per metric. true: one row per metric, and a view per metric with its own name.',
});

const label = field(z.string(), {
  default: { is: 'others' },
  changedBy: ['patch', 'report_patch'],
  effect: 'Its subject, from the label vocabulary; information only. The scenario of its report.',
});

/** DataSource, with exactly the fields of specification 2.1. Times are Unix seconds. */
export const dataSourceSchema = z.object({
  mon_data_id: dataId,
  token: field(token(), {
    default: newToken,
    changedBy: ['rotate_token'],
    effect:
      'The write token of its pushes. Shown in full by its creation, its rotation and reveal-token; the view of one record has its first four digits, a list has none.',
    example: tokenExample,
  }),
  data_name: field(z.string(), {
    default: { template: '{mon_biz_id}_custom_time_series_{name}' },
    effect: 'Its unique name, built from the business and the requested name.',
    example: '2_custom_time_series_demo',
  }),
  data_description: field(z.string(), {
    default: { template: '{mon_biz_id}_custom_time_series_{name}' },
    changedBy: ['patch'],
    effect: 'Information only.',
    example: '2_custom_time_series_demo',
  }),
  mq_cluster_id: field(z.int(), {
    default: { is: 1 },
    effect: 'The JetStream cluster that its points go through; there is one.',
  }),
  mq_config_id: field(z.int(), {
    default: { is: 1 },
    effect: 'The stream in that cluster; there is one for metrics.',
  }),
  etl_config: field(z.string(), {
    default: { is: 'mon_standard_v2_time_series' },
    effect: 'Format of its points; the only one.',
  }),
  is_custom_source: field(z.boolean(), {
    default: { is: true },
    effect: 'Information only: external producers send to it.',
  }),
  ...authorship,
  type_label: field(z.string(), {
    default: { is: 'time_series' },
    effect: 'Type of its data; the only supported type.',
  }),
  source_label: field(z.string(), {
    default: { is: 'custom' },
    effect: 'Origin of its data; the only supported origin.',
  }),
  custom_label: field(z.string().nullable(), {
    default: { is: null },
    changedBy: ['patch'],
    effect: 'Information only; lists can be filtered by it.',
  }),
  source_system: field(z.string(), {
    default: { is: 'unknown' },
    changedBy: ['patch'],
    effect: 'Information only: the system that requested it.',
  }),
  is_enable: field(z.boolean(), {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: its pushes are refused. Points that are already in the stream are stored.',
  }),
  transfer_cluster_id: field(z.string(), {
    default: { is: 'default' },
    effect: 'The group of transfer processes that stores its points; there is one group.',
  }),
  is_platform_data_id: field(z.boolean(), {
    default: { is: false },
    effect: 'true: it belongs to business 0, whose space is all of them.',
  }),
  space_type_id: field(z.string(), {
    default: { is: 'moncc' },
    effect: 'The part of space_uid before `__`.',
  }),
  space_uid: field(z.string(), {
    default: { template: 'moncc__{mon_biz_id}' },
    effect:
      'The space that owns it: that of the business, `all__0` of the platform, or the given one where the business is below 0, see below.',
    example: 'moncc__2',
  }),
});

/** TimeSeriesGroup, specification 2.2. `max_rate` counts requests per second: < -1 none, -1 the default, 0 unlimited. */
export const timeSeriesGroupSchema = z.object({
  mon_data_id: dataId,
  mon_biz_id: bizId,
  table_id: tableId,
  max_rate: field(z.int(), {
    default: { is: -1 },
    changedBy: ['patch', 'report_patch'],
    effect:
      'Push requests per second that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none.',
  }),
  label,
  is_enable: field(z.boolean(), {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: pushes of its data id are refused.',
  }),
  is_delete: field(z.boolean(), {
    default: { is: false },
    changedBy: ['delete', 'purge'],
    effect: 'true, for ever: pushes of its data id are refused, and its name is free again.',
  }),
  ...authorship,
  is_split_measurement: isSplit,
  time_series_group_id: field(z.int(), {
    default: { made: 'the next group id', looks: id },
    effect: 'Its own id, in paths.',
    example: 1,
  }),
  time_series_group_name: field(z.string(), {
    default: { template: '{name}' },
    effect: 'Its name, unique within the business.',
    example: 'demo',
  }),
});

/** ResultTable, specification 2.3. */
export const resultTableSchema = z.object({
  table_id: tableId,
  table_name_zh: field(z.string(), {
    default: { template: '{name}' },
    changedBy: ['patch'],
    effect: 'Its name for people.',
    example: 'demo',
  }),
  is_custom_table: field(z.boolean(), {
    default: { is: true },
    effect: 'Information only: the table of a custom report.',
  }),
  schema_type: field(z.string(), {
    default: { is: 'free' },
    effect: 'The points define the columns; the only schema type.',
  }),
  default_storage: field(z.string(), {
    default: { is: 'questdb' },
    effect: 'The database of the rows; the only one.',
  }),
  ...authorship,
  mon_biz_id: bizId,
  is_deleted: field(z.boolean(), {
    default: { is: false },
    changedBy: ['delete', 'purge'],
    effect: 'true, for ever: pushes of its data id are refused. The rows stay until a purge.',
  }),
  is_enable: field(z.boolean(), {
    default: { is: true },
    changedBy: ['switch', 'delete', 'purge'],
    effect: 'false: pushes of its data id are refused. Its rows stay readable.',
  }),
  label,
  data_label: field(z.string(), {
    default: { is: '' },
    changedBy: ['patch', 'report_patch'],
    effect: 'Names for queries, separated by commas; no effect on routing.',
  }),
});

/** The custom report that the three records above belong to; while `creating`, the log of its own creation. */
export const customReportSchema = z.object({
  custom_report_id: field(z.int(), {
    default: { made: 'the next report id', looks: id },
    effect: 'Its own id, in paths.',
    example: 1,
  }),
  mon_biz_id: bizId,
  name: field(z.string(), {
    default: { template: '{name}' },
    effect: 'Its name, unique within the business among reports that are not deleted.',
    example: 'demo',
  }),
  scenario: field(z.string(), {
    default: { is: 'others' },
    changedBy: ['patch'],
    effect: 'Its subject, from the label vocabulary: the label of its group and its table.',
  }),
  data_label: field(z.string(), {
    default: { is: '' },
    changedBy: ['patch'],
    effect: 'The data_label of its table.',
  }),
  description: field(z.string(), {
    default: { is: '' },
    changedBy: ['patch'],
    effect: 'Information only.',
  }),
  is_split_measurement: isSplit,
  is_platform: field(z.boolean(), {
    default: { is: false },
    effect: 'true: its three records belong to business 0 and to all spaces.',
  }),
  state: field(z.enum(['creating', 'active', 'deleted', 'purging', 'purged']), {
    default: { is: 'active' },
    changedBy: ['delete', 'purge'],
    effect:
      'creating until all records and the table exist, then active; deleted; purging until the table is dropped, then purged.',
  }),
  mon_data_id: dataId,
  time_series_group_id: field(z.int(), {
    default: { made: 'the next group id', looks: id },
    effect: 'The id of its group.',
    example: 1,
  }),
  table_id: tableId,
  ...authorship,
});

/** An APM application: the write token of trace ingestion belongs to it (specification 5). */
export const applicationSchema = z.object({
  app_id: field(z.int(), {
    default: { made: 'the next application id', looks: id },
    effect: 'Its own id, in paths.',
    example: 1,
  }),
  mon_biz_id: bizId,
  app_name: field(z.string(), {
    default: { template: '{name}' },
    effect: 'Its name, unique within the business among applications that are not deleted.',
    example: 'shop',
  }),
  token: field(token(), {
    default: newToken,
    changedBy: ['rotate_token'],
    effect:
      'The write token of its exporters. Shown in full by its creation, its rotation and reveal-token; the view of one record has its first four digits, a list has none.',
    example: tokenExample,
  }),
  is_enable: field(z.boolean(), {
    default: { is: true },
    changedBy: ['switch', 'delete'],
    effect: 'false: its traces, logs and metrics are refused.',
  }),
  is_delete: field(z.boolean(), {
    default: { is: false },
    changedBy: ['delete'],
    effect: 'true, for ever: its traces, logs and metrics are refused, and its name is free again.',
  }),
  max_rate: field(z.int(), {
    default: { is: 0 },
    changedBy: ['patch'],
    effect:
      'Requests of OTLP per second, of all signals together, that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none.',
  }),
  ...authorship,
});

/** The records with documented fields, by the names of schemas/records/<name>.schema.json. */
export const recordSchemas = {
  'data-source': dataSourceSchema,
  'time-series-group': timeSeriesGroupSchema,
  'result-table': resultTableSchema,
  'custom-report': customReportSchema,
  application: applicationSchema,
} as const;

/** Which QuestDB instance the table and the views of a data id lie on. Without such a record it is the first one, `default`. */
export const placementSchema = z.object({
  mon_data_id: z.int(),
  table_id: z.string(),
  questdb: z
    .string()
    .refine(isInstanceName, 'must be the name of a QuestDB instance')
    .meta({ description: 'The QuestDB instance', examples: ['default'] }),
});

/** A write token that a rotation replaced: receivers still take it until `expires_at` (Unix seconds). */
export const previousTokenSchema = z.object({ token: token(), expires_at: unixSeconds() });

/**
 * The write token that repeats of requests are recognised by, whichever token they come with now: the one before the first rotation.
 * There is none before that.
 */
export const identityCredentialSchema = z.object({ identity_credential: token() });

/**
 * The purge of a data id, by its mon_data_id. Transfer drops its items from the moment it is there, and for ever: the id is never
 * given out again. `purging` until the table is dropped. `requested_at` is in Unix milliseconds.
 */
export const purgeSchema = z.object({
  mon_data_id: z.int(),
  table_id: z.string(),
  state: z.enum(['purging', 'purged']),
  requested_at: z.int().nonnegative(),
  requested_by: z.string(),
});

const registeredNames = z.array(
  z.object({
    name: z.string(),
    column: z.string(),
    first_seen: z.number(),
    last_seen: z.number(),
    full_since: z.number().optional(),
  }),
);

/** The column registry of a table. */
export const columnRegistrySchema = z.object({
  mon_data_id: z.number(),
  metrics: registeredNames,
  dimensions: registeredNames,
}) satisfies z.ZodType<ColumnRegistry>;

export type DataSource = z.infer<typeof dataSourceSchema>;
export type TimeSeriesGroup = z.infer<typeof timeSeriesGroupSchema>;
export type ResultTable = z.infer<typeof resultTableSchema>;
export type CustomReport = z.infer<typeof customReportSchema>;
export type Application = z.infer<typeof applicationSchema>;
export type Placement = z.infer<typeof placementSchema>;
export type PreviousToken = z.infer<typeof previousTokenSchema>;
export type IdentityCredential = z.infer<typeof identityCredentialSchema>;
export type Purge = z.infer<typeof purgeSchema>;

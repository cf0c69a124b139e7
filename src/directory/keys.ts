import { createHash } from 'node:crypto';
import { z } from 'zod';

/**
 * KV buckets. Every role watches the records and the column registry; the system bucket holds counters and epochs; in
 * the rates bucket the receivers publish their demand; the sessions bucket has the sessions of the console.
 */
export const buckets = {
  records: 'tidemark-records',
  columns: 'tidemark-columns',
  system: 'tidemark-system',
  rates: 'tidemark-rates',
  sessions: 'tidemark-sessions',
} as const;

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Keys of the records bucket. Data source, group and table of one data id share that id in their keys, so that a
 * receiver finds all three with the id alone; texts of users are hashed, because KV keys allow few characters.
 */
export const recordKeys = {
  report: (customReportId: number): string => `report.${customReportId}`,
  dataSource: (dataId: number): string => `data_source.${dataId}`,
  group: (dataId: number): string => `group.${dataId}`,
  table: (dataId: number): string => `table.${dataId}`,
  application: (appId: number): string => `application.${appId}`,
  /** The QuestDB instance of a data id's table, written before its group and its table. */
  placement: (dataId: number): string => `placement.${dataId}`,
  /** The differences of a data id or an application from the pipeline files. */
  sourcePolicy: (dataId: number): string => `source_policy.${dataId}`,
  applicationPolicy: (appId: number): string => `application_policy.${appId}`,
  /** The write token before the last rotation. */
  previousToken: (dataId: number): string => `previous_token.${dataId}`,
  previousApplicationToken: (appId: number): string => `previous_application_token.${appId}`,
  /** The identity of requests is computed with this, also after a rotation of the token. */
  sourceIdentity: (dataId: number): string => `source_identity.${dataId}`,
  applicationIdentity: (appId: number): string => `application_identity.${appId}`,
  purge: (dataId: number): string => `purge.${dataId}`,
  /** The key of the digests of large bodies: `identityKeySchema`. */
  identityKey: 'identity_key',
  subscription: (dataId: number): string => `subscription.${dataId}`,
  /** Index: report name within a business -> custom_report_id. */
  reportName: (bizId: number, name: string): string => `report_name.${sha256Hex(`${bizId}:${name}`)}`,
  /** Index: application name within a business -> app_id. */
  applicationName: (bizId: number, name: string): string =>
    `application_name.${sha256Hex(`${bizId}:${name}`)}`,
  /** Index: SHA-256 of an application's token, current or previous -> app_id. */
  applicationToken: (token: string): string => `application_token.${sha256Hex(token)}`,
  /** Index: time_series_group_id -> mon_data_id. */
  groupId: (timeSeriesGroupId: number): string => `group_id.${timeSeriesGroupId}`,
} as const;

/** Key of one table's registry in the columns bucket. */
export const columnsKey = (dataId: number): string => `columns.${dataId}`;

/** The ids that are counted up. */
export const counterNames = ['data_id', 'custom_report_id', 'time_series_group_id', 'app_id'] as const;
export type CounterName = (typeof counterNames)[number];

/** Keys of the system bucket. */
export const systemKeys = {
  boot: 'boot',
  counter: (name: CounterName): string => `counter.${name}`,
  /** A value here lets the consumers of a pipeline continue that their breaker stopped. */
  resume: (pipeline: string): string => `resume.${pipeline}`,
  /** The retention of what is created where no setting names one: `retentionRecordSchema`. */
  retention: 'retention',
  /** When each part was last backed up: backup-record.ts. */
  backup: 'backup',
  /**
   * A day (since 1970 UTC) that needs a merge because rows are doubled, `20000` of spans, `logs-20000` of log records and
   * `<table>-20000` of other items; erased after the merge. `late-<table>-20000-<slot>`: rows that inserts without an answer
   * may double later, by the minute of their record, 0 to 7; erased after a look for them.
   */
  owedMerge: (day: string): string => `merge.${day}`,
} as const;

/**
 * The secret key with which the receivers digest large bodies for the identity of their requests (architecture 5.2), as hexadecimal
 * digits. An installation has it before its first owner or never: so all receivers agree on the identity of each request.
 */
export const identityKeySchema = z.object({
  algorithm: z.literal('aes-256-gcm'),
  key: z.hex().length(64),
});

export type IdentityKeyRecord = z.infer<typeof identityKeySchema>;

/** The retention that an installation began with; null: for ever. */
export const retentionRecordSchema = z.object({ days: z.int().positive().nullable() });

/** Data ids are handed out from this range, both ends included, as in the original system. */
export const dataIdRange = { first: 1_500_001, last: 2_097_151 } as const;

import { z } from 'zod';
import { applicationPolicySchema, sourcePolicySchema } from '../../directory/policies.ts';
import {
  applicationSchema,
  columnRegistrySchema,
  customReportSchema,
  dataSourceSchema,
  identityCredentialSchema,
  placementSchema,
  previousTokenSchema,
  purgeSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../../directory/records.ts';
import { heldSubscriptionSchema } from '../refresh/subscriptions.ts';

const byId = <T extends z.ZodType>(schema: T) =>
  z
    .record(z.string().regex(/^[1-9]\d{0,14}$/), schema)
    .meta({ propertyNames: { pattern: '^[1-9]\\d{0,14}$' } });

const counters = z.strictObject({
  data_id: z.int().nonnegative(),
  custom_report_id: z.int().nonnegative(),
  time_series_group_id: z.int().nonnegative(),
  app_id: z.int().nonnegative(),
});

/**
 * All records of a deployment as one document, each kind by its id: `custom_reports` by custom_report_id, applications and their
 * records by app_id, all others by mon_data_id. It holds the tokens. Admin tokens, the audit log and run records are not in it.
 */
export const backupSchema = z.strictObject({
  format: z.literal('tidemark-records'),
  version: z.literal(1),
  /** Unix seconds. */
  exported_at: z.int(),
  /** The last assigned ids. */
  counters,
  custom_reports: byId(customReportSchema),
  data_sources: byId(dataSourceSchema),
  time_series_groups: byId(timeSeriesGroupSchema),
  result_tables: byId(resultTableSchema),
  /** Missing in documents from before several QuestDB instances: every table is on the first one then. */
  placements: byId(placementSchema).default({}),
  source_policies: byId(sourcePolicySchema),
  previous_tokens: byId(previousTokenSchema),
  /** Missing in documents from before identities outlived tokens. */
  source_identities: byId(identityCredentialSchema).default({}),
  purges: byId(purgeSchema),
  applications: byId(applicationSchema),
  application_policies: byId(applicationPolicySchema),
  previous_application_tokens: byId(previousTokenSchema),
  application_identities: byId(identityCredentialSchema).default({}),
  /** The subscriptions in node management, so that a deployment that was moved continues with them. */
  subscriptions: byId(heldSubscriptionSchema),
  /** The column registries: the column of each name in its table. */
  columns: byId(columnRegistrySchema),
});

export type Backup = z.output<typeof backupSchema>;

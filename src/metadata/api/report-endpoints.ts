import { z } from 'zod';
import { customReportSchema } from '../../directory/records.ts';
import { isSystemReport } from '../../directory/system-owners.ts';
import { listRecords, recordQuerySchema } from '../records/listing.ts';
import { masked } from '../records/masking.ts';
import { actionRequestSchema, purgeRequestSchema, reportChangeSchema } from '../records/requests.ts';
import { existing, type Records, type Versioned } from '../records/store.ts';
import { patchReport } from '../reports/changes.ts';
import {
  deleteReport,
  purgeReport,
  type ReportWithRecords,
  readReport,
  setReportEnabled,
} from '../reports/life-cycle.ts';
import { customReport, pageOf, reportRecords } from './contract.ts';
import { type Answer, type AuditTarget, type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

/** By custom_report_id. */
const systemReports = ({ reports }: Pick<Records, 'reports'>): Set<number> =>
  new Set(
    reports
      .list()
      .filter(({ value }) => isSystemReport(value))
      .map(({ id }) => id),
  );

const states = customReportSchema.shape.state.options;
const stateFilter = z.enum(states, `must be one of ${states.join(', ')}`);

const tag = 'Custom reports';
const path = '/api/v1/custom-reports';

const shown = ({ value, revision }: Versioned<ReportWithRecords>): Answer => ({
  body: { ...value, ...(value.data_source && { data_source: masked(value.data_source) }) },
  revision,
});

const audit =
  (verb: 'change' | 'enable' | 'disable' | 'delete' | 'purge') =>
  ({ id }: { id: number }): AuditTarget => ({
    action: `custom_report.${verb}`,
    kind: 'report',
    id: String(id),
  });

const revisionOf = async ({ id }: { id: number }, records: Records): Promise<number> =>
  (await existing(records.reports, id)).revision;

const common = { tag, params: idParams, revisionOf, answer: reportRecords } as const;

const switchTo = (isEnabled: boolean): Endpoint => {
  const verb = isEnabled ? 'enable' : 'disable';
  return endpoint({
    ...common,
    method: 'POST',
    path: `${path}/{id}/${verb}`,
    summary: `Sets is_enable of the report's three records to ${isEnabled}`,
    role: 'editor',
    body: actionRequestSchema,
    audit: audit(verb),
    run: async ({ params, author, revision, records }) =>
      shown(await setReportEnabled(records, params.id, isEnabled, { operator: author, revision })),
  });
};

/** /api/v1/custom-reports: a report together with its three records. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of endpoints.
export const reportEndpoints = (): Endpoint[] => [
  endpoint({
    method: 'GET',
    path,
    tag,
    summary: 'Lists reports by ascending id',
    role: 'viewer',
    query: recordQuerySchema({
      mon_biz_id: 'integer',
      mon_data_id: 'integer',
      time_series_group_id: 'integer',
      name: 'text',
      table_id: 'text',
      state: stateFilter,
      scenario: 'text',
      is_platform: 'flag',
      is_split_measurement: 'flag',
    }),
    answer: pageOf(customReport),
    run: async ({ query, records }) => ({
      body: listRecords(records.reports, query, {
        show: (report) => report,
        systemIds: systemReports(records),
      }),
    }),
  }),
  endpoint({
    method: 'GET',
    path: `${path}/{id}`,
    tag,
    summary: 'Shows a report',
    hasEtag: true,
    role: 'viewer',
    params: idParams,
    answer: customReport,
    run: async ({ params, records }) => {
      const { value, revision } = await existing(records.reports, params.id);
      return { body: value, revision };
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/{id}/records`,
    tag,
    summary: 'Shows a report with its data source, group and table',
    hasEtag: true,
    role: 'viewer',
    params: idParams,
    answer: reportRecords,
    run: async ({ params, records }) => shown(await readReport(records, params.id)),
  }),
  endpoint({
    ...common,
    method: 'PATCH',
    path: `${path}/{id}`,
    summary: 'Changes fields of a report, and of its records with it (JSON merge patch)',
    role: 'editor',
    body: z.looseObject(reportChangeSchema.shape),
    audit: audit('change'),
    run: async ({ params, body, revision, author, records }) =>
      shown(await patchReport(records, params.id, body, { operator: author, revision })),
  }),
  switchTo(true),
  switchTo(false),
  endpoint({
    ...common,
    method: 'DELETE',
    path: `${path}/{id}`,
    summary: 'Deletes a report and frees its name; its rows stay; cannot be undone',
    role: 'editor',
    body: actionRequestSchema,
    audit: audit('delete'),
    run: async ({ params, author, revision, records }) =>
      shown(await deleteReport(records, params.id, { operator: author, revision })),
  }),
  endpoint({
    ...common,
    method: 'POST',
    path: `${path}/{id}/purge`,
    summary: 'Deletes a report and drops its table with all rows; table_id confirms it',
    role: 'admin',
    needsProof: true,
    body: purgeRequestSchema,
    audit: audit('purge'),
    run: async ({ params, body, revision, author, records }) =>
      shown(await purgeReport(records, params.id, body.table_id, { operator: author, revision })),
  }),
];

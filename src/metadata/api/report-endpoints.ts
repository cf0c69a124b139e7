import { z } from 'zod';
import { type CustomReport, customReportSchema } from '../../directory/records.ts';
import { isSystemReport } from '../../directory/system-owners.ts';
import { askedId } from '../records/listing.ts';
import { masked } from '../records/masking.ts';
import { actionRequestSchema, purgeRequestSchema, reportChangeSchema } from '../records/requests.ts';
import { patchReport } from '../reports/changes.ts';
import {
  deleteReport,
  purgeReport,
  type ReportWithRecords,
  readReport,
  setReportEnabled,
} from '../reports/life-cycle.ts';
import { customReport, reportRecords } from './contract.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';
import { changing, type Kind, listing, showing, switching } from './record-kind.ts';

const states = customReportSchema.shape.state.options;
const stateFilter = z.enum(states, `must be one of ${states.join(', ')}`);

const reports: Kind<CustomReport, typeof idParams, ReportWithRecords> = {
  path: '/api/v1/custom-reports',
  tag: 'Custom reports',
  kind: 'report',
  actions: 'custom_report',
  answer: customReport,
  filters: {
    mon_biz_id: 'integer',
    mon_data_id: 'integer',
    time_series_group_id: 'integer',
    name: 'text',
    table_id: 'text',
    state: stateFilter,
    scenario: 'text',
    is_platform: 'flag',
    is_split_measurement: 'flag',
  },
  searched:
    () =>
    ({ name, mon_data_id: id, mon_biz_id: biz }) => ({ name, id, biz }),
  systemIds: (records) =>
    new Set(records.reports.list().flatMap(({ id, value }) => (isSystemReport(value) ? [id] : []))),
  namedId: (records, query) => {
    const dataId = askedId(query, 'mon_data_id');
    // No report has the id 0.
    return dataId === undefined ? undefined : (records.reportOf(dataId)?.custom_report_id ?? 0);
  },
  params: idParams,
  setOf: (records) => records.reports,
  idOf: async (_, { id }) => id,
  changed: reportRecords,
  showChanged: ({ value, revision }) => ({
    body: { ...value, ...(value.data_source && { data_source: masked(value.data_source) }) },
    revision,
  }),
};

/** /api/v1/custom-reports: a report together with its three records. */
export const reportEndpoints = (): Endpoint[] => [
  listing(reports, 'Lists reports by ascending id'),
  showing(reports, 'Shows a report'),
  endpoint({
    method: 'GET',
    path: `${reports.path}/{id}/records`,
    tag: reports.tag,
    summary: 'Shows a report with its data source, group and table',
    hasEtag: true,
    role: 'viewer',
    params: idParams,
    answer: reportRecords,
    run: async ({ params, records }) => reports.showChanged(await readReport(records, params.id)),
  }),
  changing(reports, {
    method: 'PATCH',
    action: 'custom_report.change',
    summary: 'Changes fields of a report, and of its records with it (JSON merge patch)',
    body: z.looseObject(reportChangeSchema.shape),
    change: patchReport,
  }),
  ...switching(
    reports,
    (isEnabled) => `Sets is_enable of the report's three records to ${isEnabled}`,
    setReportEnabled,
  ),
  changing(reports, {
    method: 'DELETE',
    action: 'custom_report.delete',
    summary: 'Deletes a report and frees its name; its rows stay; cannot be undone',
    body: actionRequestSchema,
    change: (records, reportId, _, by) => deleteReport(records, reportId, by),
  }),
  changing(reports, {
    method: 'POST',
    suffix: '/purge',
    action: 'custom_report.purge',
    summary: 'Deletes a report and drops its table with all rows; table_id confirms it',
    role: 'admin',
    needsProof: true,
    body: purgeRequestSchema,
    change: (records, reportId, { table_id }, by) => purgeReport(records, reportId, table_id, by),
  }),
];

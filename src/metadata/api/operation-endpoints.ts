import type { z } from 'zod';
import {
  dataSourceRequestSchema,
  groupRequestSchema,
  reportRequestSchema,
  resultTableRequestSchema,
} from '../records/requests.ts';
import type { Records } from '../records/store.ts';
import { createCustomTimeSeries } from '../reports/creation.ts';
import { createDataSource, createGroup, createResultTable } from '../reports/operations.ts';
import { createdDataSource, createdReport, resultTable, timeSeriesGroup } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

type Operation<B extends z.ZodType<object>> = {
  readonly name: string;
  readonly summary: string;
  /** The kind of the created record, in the audit. */
  readonly kind: 'report' | 'data_source' | 'group' | 'table';
  readonly body: B;
  readonly answer: z.ZodType;
  readonly run: (records: Records, request: z.output<B> & { readonly operator: string }) => Promise<object>;
};

const operation = <B extends z.ZodType<object>>({ name, kind, run, ...rest }: Operation<B>): Endpoint =>
  endpoint({
    ...rest,
    method: 'POST',
    path: `/operations/${name}`,
    tag: 'Operations',
    role: 'editor',
    audit: () => ({ action: `${kind}.create`, kind, id: undefined }),
    run: async ({ body, author, records }) => ({ body: await run(records, { ...body, operator: author }) }),
  });

/** The creation operations of specification 4.3, by their exact names; the answer is the bare result. */
export const operationEndpoints = (deps: ApiDeps): Endpoint[] => [
  operation({
    name: 'monitor_web.custom_report.resources.CreateCustomTimeSeries',
    summary: 'Creates a custom report with its data source, time series group, result table and token',
    kind: 'report',
    body: reportRequestSchema,
    answer: createdReport,
    run: async (records, request) => {
      const created = await createCustomTimeSeries({ ...deps, records }, request);
      const { time_series_group_id, mon_data_id, table_id } = created.custom_report;
      deps.log.info({ mon_data_id, table_id }, 'custom report created');
      return { time_series_group_id, mon_data_id, ...created };
    },
  }),
  operation({
    name: 'metadata.resources.resources.CreateDataIDResource',
    summary: 'Creates only a data source, with its data id and token',
    kind: 'data_source',
    body: dataSourceRequestSchema,
    answer: createdDataSource,
    run: (records, request) => createDataSource({ ...deps, records }, request),
  }),
  operation({
    name: 'metadata.resources.resources.CreateTimeSeriesGroupResource',
    summary: 'Creates the time series group of a data source that has none',
    kind: 'group',
    body: groupRequestSchema,
    answer: timeSeriesGroup,
    run: (records, request) => createGroup({ ...deps, records }, request),
  }),
  operation({
    name: 'metadata.models.result_table.ResultTable.create_result_table',
    summary: 'Creates the result table of a group that has none, and the table in QuestDB',
    kind: 'table',
    body: resultTableRequestSchema,
    answer: resultTable,
    run: (records, request) => createResultTable({ ...deps, records }, request),
  }),
];

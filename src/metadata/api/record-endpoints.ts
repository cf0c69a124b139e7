import { z } from 'zod';
import { readRegistry } from '../../directory/column-registry.ts';
import type { DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { askedId } from '../records/listing.ts';
import {
  actionRequestSchema,
  dataSourceChangeSchema,
  groupChangeSchema,
  purgeRequestSchema,
  resultTableChangeSchema,
} from '../records/requests.ts';
import type { Records } from '../records/store.ts';
import { bizOfDataSource } from '../records/values.ts';
import { patchDataSource, patchGroup, patchResultTable } from '../reports/changes.ts';
import { deleteGroup, deleteTable, purgeDataSource, setRecordEnabled } from '../reports/life-cycle.ts';
import { column, dataSource, pageOf, resultTable, timeSeriesGroup } from './contract.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { dataIdOfGroup, dataIdOfTable, idParams, tableIdParams } from './params.ts';
import { changing, type Kind, listing, showing, shown, switching } from './record-kind.ts';

/** What the records of a data id have in common. */
const ofDataId = {
  systemIds: (records: Records) => systemOwners(records).dataIds,
  namedId: (_: Records, query: object) => askedId(query, 'mon_data_id'),
  showChanged: shown,
};

const hasReport = (records: Records) => ({
  has_report: (_: unknown, id: number) => records.reportOf(id) !== undefined,
});

const dataSources: Kind<DataSource, typeof idParams> = {
  ...ofDataId,
  path: '/api/v1/data-sources',
  tag: 'Data sources',
  kind: 'data_source',
  actions: 'data_source',
  answer: dataSource,
  changed: dataSource,
  filters: {
    mon_biz_id: 'integer',
    mon_data_id: 'integer',
    data_name: 'text',
    name: 'text',
    space_uid: 'text',
    custom_label: 'text',
    is_enable: 'flag',
    is_platform_data_id: 'flag',
    has_report: 'flag',
  },
  derivedOf: (records) => ({
    mon_biz_id: bizOfDataSource,
    name: ({ data_name }) => data_name,
    ...hasReport(records),
  }),
  // A report and its data source are found by the same words.
  searched: (records) => (source, id) => {
    const { name, mon_biz_id: biz } = records.reportOf(id) ?? {};
    const ownBiz = source.is_platform_data_id ? 0 : bizOfDataSource(source);
    return { id, name: name ?? source.data_name, biz: biz ?? ownBiz };
  },
  params: idParams,
  setOf: (records) => records.dataSources,
  idOf: async (_, { id }) => id,
};

const groups: Kind<TimeSeriesGroup, typeof idParams> = {
  ...ofDataId,
  path: '/api/v1/time-series-groups',
  tag: 'Time series groups',
  kind: 'group',
  actions: 'group',
  answer: timeSeriesGroup,
  changed: timeSeriesGroup,
  filters: {
    mon_biz_id: 'integer',
    mon_data_id: 'integer',
    time_series_group_id: 'integer',
    time_series_group_name: 'text',
    name: 'text',
    table_id: 'text',
    label: 'text',
    is_enable: 'flag',
    is_delete: 'flag',
    has_report: 'flag',
  },
  derivedOf: (records) => ({
    name: ({ time_series_group_name }) => time_series_group_name,
    ...hasReport(records),
  }),
  searched:
    () =>
    ({ time_series_group_name: name, mon_biz_id: biz }, id) => ({ name, id, biz }),
  params: idParams,
  setOf: (records) => records.groups,
  idOf: (records, { id }) => dataIdOfGroup(records, id),
};

const tables: Kind<ResultTable, typeof tableIdParams> = {
  ...ofDataId,
  path: '/api/v1/result-tables',
  tag: 'Result tables',
  kind: 'table',
  actions: 'table',
  answer: resultTable,
  changed: resultTable,
  filters: {
    mon_biz_id: 'integer',
    mon_data_id: 'integer',
    table_id: 'text',
    table_name_zh: 'text',
    name: 'text',
    label: 'text',
    data_label: 'text',
    is_enable: 'flag',
    is_deleted: 'flag',
    has_report: 'flag',
  },
  derivedOf: (records) => ({
    mon_data_id: (_, id) => id,
    name: ({ table_name_zh }) => table_name_zh,
    ...hasReport(records),
  }),
  searched:
    () =>
    ({ table_name_zh: name, mon_biz_id: biz }, id) => ({ name, id, biz }),
  params: tableIdParams,
  setOf: (records) => records.tables,
  idOf: (records, { id }) => dataIdOfTable(records, id),
};

const switchEndpoints = <
  T extends DataSource | TimeSeriesGroup | ResultTable,
  P extends typeof idParams | typeof tableIdParams,
>(
  kind: Kind<T, P>,
  noun: string,
): Endpoint[] =>
  switching(
    kind,
    (isEnabled) => `Sets is_enable of only this ${noun} to ${isEnabled}`,
    (records, dataId, isEnabled, by) => setRecordEnabled(records, kind.setOf(records), dataId, isEnabled, by),
  );

const dataSourceEndpoints = (): Endpoint[] => [
  listing(dataSources, 'Lists data sources by ascending data id'),
  showing(dataSources, 'Shows a data source'),
  ...switchEndpoints(dataSources, 'data source'),
  changing(dataSources, {
    method: 'PATCH',
    action: 'data_source.change',
    summary: 'Changes fields of a data source (JSON merge patch)',
    body: z.looseObject(dataSourceChangeSchema.shape),
    change: patchDataSource,
  }),
  changing(dataSources, {
    method: 'POST',
    suffix: '/purge',
    action: 'data_source.purge',
    summary: 'Drops the table of a data source without a report, with all rows',
    role: 'admin',
    needsProof: true,
    body: purgeRequestSchema,
    change: (records, dataId, { table_id }, by) => purgeDataSource(records, dataId, table_id, by),
  }),
];

const columnsOf = async (records: Records, groupId: number) => {
  const registry = await readRegistry(records.columns, await dataIdOfGroup(records, groupId));
  return [
    ...registry.metrics.map((entry) => ({ ...entry, kind: 'metric' as const })),
    ...registry.dimensions.map((entry) => ({ ...entry, kind: 'dimension' as const })),
  ];
};

const groupEndpoints = (): Endpoint[] => [
  listing(groups, 'Lists time series groups by ascending data id'),
  showing(groups, 'Shows a time series group'),
  endpoint({
    method: 'GET',
    path: `${groups.path}/{id}/columns`,
    tag: groups.tag,
    summary: 'Lists received metrics and dimensions, with their columns',
    role: 'viewer',
    params: idParams,
    answer: pageOf(column),
    run: async ({ params, records }) => ({
      body: { items: await columnsOf(records, params.id), next_cursor: null },
    }),
  }),
  ...switchEndpoints(groups, 'time series group'),
  changing(groups, {
    method: 'PATCH',
    action: 'group.change',
    summary: 'Changes fields of a group (JSON merge patch)',
    body: z.looseObject(groupChangeSchema.shape),
    change: patchGroup,
  }),
  changing(groups, {
    method: 'DELETE',
    action: 'group.delete',
    summary: 'Deletes a group without a report; cannot be undone',
    body: actionRequestSchema,
    change: (records, dataId, _, by) => deleteGroup(records, dataId, by),
  }),
];

const tableEndpoints = (): Endpoint[] => [
  listing(tables, 'Lists result tables by ascending data id'),
  showing(tables, 'Shows a result table'),
  ...switchEndpoints(tables, 'result table'),
  changing(tables, {
    method: 'PATCH',
    action: 'table.change',
    summary: "Changes fields of a result table's record (JSON merge patch)",
    body: z.looseObject(resultTableChangeSchema.shape),
    change: patchResultTable,
  }),
  changing(tables, {
    method: 'DELETE',
    action: 'table.delete',
    summary: 'Deletes the record of a table without a report; the rows stay; cannot be undone',
    body: actionRequestSchema,
    change: (records, dataId, _, by) => deleteTable(records, dataId, by),
  }),
];

/** /api/v1/data-sources, /time-series-groups and /result-tables: calls on these touch one record each. */
export const recordEndpoints = (): Endpoint[] => [
  ...dataSourceEndpoints(),
  ...groupEndpoints(),
  ...tableEndpoints(),
];

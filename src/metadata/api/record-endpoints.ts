import { z } from 'zod';
import { readRegistry } from '../../directory/column-registry.ts';
import type { DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import type { AuditAction } from '../audit/actions.ts';
import { type listQuerySchema, listRecords, recordQuerySchema } from '../records/listing.ts';
import { hidden, masked } from '../records/masking.ts';
import {
  actionRequestSchema,
  dataSourceChangeSchema,
  groupChangeSchema,
  purgeRequestSchema,
  resultTableChangeSchema,
} from '../records/requests.ts';
import { existing, type RecordSet, type Records, type Versioned } from '../records/store.ts';
import { bizOfDataSource } from '../records/values.ts';
import { patchDataSource, patchGroup, patchResultTable } from '../reports/changes.ts';
import { deleteGroup, deleteTable, purgeDataSource, setRecordEnabled } from '../reports/life-cycle.ts';
import { column, dataSource, pageOf, resultTable, timeSeriesGroup } from './contract.ts';
import { type Answer, type Endpoint, endpoint } from './endpoint.ts';
import { dataIdOfGroup, dataIdOfTable, idParams, tableIdParams } from './params.ts';

const shown = <T extends object>({ value, revision }: Versioned<T>): Answer => ({
  body: masked(value),
  revision,
});

type Kind<T, P extends z.ZodType> = {
  readonly path: string;
  readonly tag: string;
  /** Its name in a summary. */
  readonly noun: string;
  /** Its kind in the audit. */
  readonly kind: 'data_source' | 'group' | 'table';
  readonly answer: z.ZodType;
  readonly filters: Parameters<typeof listQuerySchema>[0];
  readonly derived?: Readonly<Record<string, (value: T, id: number) => unknown>>;
  readonly params: P;
  readonly idOf: (params: z.output<P>) => string;
  readonly setOf: (records: Records) => RecordSet<T>;
  readonly dataIdOf: (records: Records, params: z.output<P>) => Promise<number>;
};

const readEndpoints = <T extends object, P extends z.ZodType>(kind: Kind<T, P>): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: kind.path,
    tag: kind.tag,
    summary: `Lists ${kind.tag.toLowerCase()} by ascending data id`,
    role: 'viewer',
    query: recordQuerySchema({ ...kind.filters, has_report: 'flag' }),
    answer: pageOf(kind.answer),
    run: async ({ query, records }) => ({
      body: listRecords(kind.setOf(records), query, {
        derived: { ...kind.derived, has_report: (_, id) => records.reportOf(id) !== undefined },
        show: hidden,
        systemIds: systemOwners(records).dataIds,
      }),
    }),
  }),
  endpoint({
    method: 'GET',
    path: `${kind.path}/{id}`,
    tag: kind.tag,
    summary: `Shows a ${kind.noun}`,
    hasEtag: true,
    role: 'viewer',
    params: kind.params,
    answer: kind.answer,
    run: async ({ params, records }) =>
      shown(await existing(kind.setOf(records), await kind.dataIdOf(records, params))),
  }),
];

/** The user who changes a record, and the revision that it must have. */
type By = { operator: string; revision: number | undefined };

type Changing<T, P extends z.ZodType, B extends z.ZodType> = {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** After the record's path, as `/enable`. */
  readonly suffix: string;
  readonly action: AuditAction;
  readonly summary: string;
  readonly role?: 'admin';
  readonly needsProof?: true;
  readonly body: B;
  readonly change: (records: Records, dataId: number, body: z.output<B>, by: By) => Promise<Versioned<T>>;
  readonly of: Kind<T, P>;
};

/** One endpoint that changes one record. */
const changing = <T extends object, P extends z.ZodType, B extends z.ZodType>({
  of: kind,
  suffix,
  action,
  change,
  role = undefined,
  ...rest
}: Changing<T, P, B>): Endpoint =>
  endpoint({
    ...rest,
    path: `${kind.path}/{id}${suffix}`,
    tag: kind.tag,
    role: role ?? 'editor',
    params: kind.params,
    answer: kind.answer,
    revisionOf: async (params, records) =>
      (await existing(kind.setOf(records), await kind.dataIdOf(records, params))).revision,
    audit: (params) => ({ action, kind: kind.kind, id: kind.idOf(params) }),
    run: async ({ params, body, revision, author, records }) => {
      const by = { operator: author, revision };
      return shown(await change(records, await kind.dataIdOf(records, params), body, by));
    },
  });

type Flagged = DataSource | TimeSeriesGroup | ResultTable;

const switchEndpoints = <T extends Flagged, P extends z.ZodType>(kind: Kind<T, P>): Endpoint[] =>
  [true, false].map((isEnabled) => {
    const verb = isEnabled ? 'enable' : 'disable';
    return changing({
      of: kind,
      method: 'POST',
      suffix: `/${verb}`,
      action: `${kind.kind}.${verb}`,
      summary: `Sets is_enable of only this ${kind.noun} to ${isEnabled}`,
      body: actionRequestSchema,
      change: (records, dataId, _, by) =>
        setRecordEnabled(records, kind.setOf(records), dataId, isEnabled, by),
    });
  });

const textOfId = ({ id }: { id: number | string }): string => String(id);

const dataSources: Kind<DataSource, typeof idParams> = {
  path: '/api/v1/data-sources',
  tag: 'Data sources',
  noun: 'data source',
  kind: 'data_source',
  answer: dataSource,
  filters: {
    mon_biz_id: 'integer',
    mon_data_id: 'integer',
    data_name: 'text',
    name: 'text',
    space_uid: 'text',
    custom_label: 'text',
    is_enable: 'flag',
    is_platform_data_id: 'flag',
  },
  derived: { mon_biz_id: bizOfDataSource, name: ({ data_name }) => data_name },
  params: idParams,
  idOf: textOfId,
  setOf: (records) => records.dataSources,
  dataIdOf: async (_, { id }) => id,
};

const groups: Kind<TimeSeriesGroup, typeof idParams> = {
  path: '/api/v1/time-series-groups',
  tag: 'Time series groups',
  noun: 'time series group',
  kind: 'group',
  answer: timeSeriesGroup,
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
  },
  derived: { name: ({ time_series_group_name }) => time_series_group_name },
  params: idParams,
  idOf: textOfId,
  setOf: (records) => records.groups,
  dataIdOf: (records, { id }) => dataIdOfGroup(records, id),
};

const tables: Kind<ResultTable, typeof tableIdParams> = {
  path: '/api/v1/result-tables',
  tag: 'Result tables',
  noun: 'result table',
  kind: 'table',
  answer: resultTable,
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
  },
  derived: { mon_data_id: (_, id) => id, name: ({ table_name_zh }) => table_name_zh },
  params: tableIdParams,
  idOf: textOfId,
  setOf: (records) => records.tables,
  dataIdOf: (records, { id }) => dataIdOfTable(records, id),
};

const dataSourceEndpoints = (): Endpoint[] => [
  ...readEndpoints(dataSources),
  ...switchEndpoints(dataSources),
  changing({
    of: dataSources,
    method: 'PATCH',
    suffix: '',
    action: 'data_source.change',
    summary: 'Changes fields of a data source (JSON merge patch)',
    body: z.looseObject(dataSourceChangeSchema.shape),
    change: patchDataSource,
  }),
  changing({
    of: dataSources,
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
  ...readEndpoints(groups),
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
  ...switchEndpoints(groups),
  changing({
    of: groups,
    method: 'PATCH',
    suffix: '',
    action: 'group.change',
    summary: 'Changes fields of a group (JSON merge patch)',
    body: z.looseObject(groupChangeSchema.shape),
    change: patchGroup,
  }),
  changing({
    of: groups,
    method: 'DELETE',
    suffix: '',
    action: 'group.delete',
    summary: 'Deletes a group without a report; cannot be undone',
    body: actionRequestSchema,
    change: (records, dataId, _, by) => deleteGroup(records, dataId, by),
  }),
];

const tableEndpoints = (): Endpoint[] => [
  ...readEndpoints(tables),
  ...switchEndpoints(tables),
  changing({
    of: tables,
    method: 'PATCH',
    suffix: '',
    action: 'table.change',
    summary: "Changes fields of a result table's record (JSON merge patch)",
    body: z.looseObject(resultTableChangeSchema.shape),
    change: patchResultTable,
  }),
  changing({
    of: tables,
    method: 'DELETE',
    suffix: '',
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

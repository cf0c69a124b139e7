import { readRegistry } from '../../directory/column-registry.ts';
import { errorText } from '../../model/fault.ts';
import type { RegisteredName } from '../../model/records.ts';
import { sumOf } from '../../model/sums.ts';
import { type ClickhouseFigures, readClickhouseFigures } from '../../stores/clickhouse/store-figures.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { readInstanceFigures, readTableFigures } from '../../stores/questdb/table-figures.ts';
import type { TableState } from '../../stores/questdb/table-states.ts';
import { cardinalityAnswer, daysShown, storesAnswer, tableAnswer } from '../answers/stores.ts';
import { notFound } from '../problem.ts';
import { existing, type Records } from '../records/store.ts';
import { capOf, showSourcePolicy } from '../reports/policies.ts';
import { knownInstanceOf, unknownInstance } from '../tables/placement.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

/** The table of a data id: its name, whether it is narrow, and the instance that it is on. Permanent Fault `not_found`. */
const tableOf = async ({ inspected, records: _, ...deps }: ApiDeps, records: Records, dataId: number) => {
  const { table_id } = (await existing(records.tables, dataId)).value;
  const group = await records.groups.get(dataId);
  const instance = knownInstanceOf(records, dataId);
  const sql = inspected.questdb.find(({ name }) => name === instance)?.sql;
  if (sql === undefined) throw unknownInstance(instance, `table ${table_id}`);
  const { policy } = await showSourcePolicy(records, deps.policyDefaults, dataId);
  return {
    table_id,
    layout: group?.value.is_split_measurement ? 'narrow' : 'wide',
    instance,
    sql,
    policy,
  } as const;
};

const tableEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/data-sources/{id}/table',
    tag: 'Data sources',
    summary:
      'Shows the table of a data source in QuestDB: rows, bytes, days, lag, and whether it is suspended',
    role: 'viewer',
    params: idParams,
    answer: tableAnswer,
    run: async ({ params, records }) => {
      const { sql, policy, ...table } = await tableOf(deps, records, params.id);
      const figures = await readTableFigures(sql, table.table_id);
      if (figures === undefined) throw notFound(`table ${table.table_id} in QuestDB`);
      const { partitions, isSuspended, why, deduplicates, pendingCommits } = figures;
      return {
        body: {
          ...table,
          rows: sumOf(partitions.map(({ rows }) => rows)),
          bytes: sumOf(partitions.map(({ bytes }) => bytes)),
          partitions: partitions.length,
          oldest_day: partitions[0]?.day ?? null,
          newest_day: partitions.at(-1)?.day ?? null,
          retention_days: capOf(policy, 'retention_days'),
          is_suspended: isSuspended,
          why,
          deduplicates,
          pending_commits: pendingCommits,
          days: partitions.slice(-daysShown),
        },
      };
    },
  });

const cardinalityEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/data-sources/{id}/cardinality',
    tag: 'Data sources',
    summary:
      'Counts the distinct values of each dimension, today and the day before, and the columns against their limits. A count takes 8 seconds at most',
    role: 'viewer',
    params: idParams,
    answer: cardinalityAnswer,
    run: async ({ params, records }) => {
      const { table_id, layout, sql, policy } = await tableOf(deps, records, params.id);
      const { metrics, dimensions } = await readRegistry(records.columns, params.id);
      const named: readonly Pick<RegisteredName, 'name' | 'column' | 'full_since'>[] = [
        { name: 'target', column: 'target' },
        ...dimensions,
      ];
      const columns = named.map(({ column }) => column);
      const { cardinality, dimensionValuesMax } = deps.inspected;
      const { at, columns: counted, known, why } = await cardinality.read(sql, table_id, columns);
      const counts = new Map(counted.map((each) => [each.column, each]));
      return {
        body: {
          at: at / 1000,
          table_id,
          layout,
          metric_columns: metrics.length,
          metric_columns_max: capOf(policy, 'metric_columns_max'),
          dimension_columns: dimensions.length,
          dimension_columns_max: capOf(policy, 'dimension_columns_max'),
          dimensions: named.map(({ name, column, full_since }) => ({
            name,
            column,
            values: counts.get(column)?.lastDay ?? null,
            values_before: counts.get(column)?.dayBefore ?? null,
            values_known: known.get(column.toLowerCase()) ?? null,
            full_since: full_since ?? null,
          })),
          dimension_values_max: dimensionValuesMax === 0 ? null : dimensionValuesMax,
          why,
        },
      };
    },
  });

const listedMax = 100;
const noTables: readonly TableState[] = [];

const shownInstance = async ({ name, sql }: { readonly name: string; readonly sql: QuestdbSql }) => {
  const found = await readInstanceFigures(sql).catch(errorText);
  const { tables, storage } = typeof found === 'string' ? { tables: noTables, storage: undefined } : found;
  const suspended = tables.filter(({ isSuspended }) => isSuspended).slice(0, listedMax);
  return {
    instance: name,
    why: typeof found === 'string' ? found : '',
    tables: tables.length,
    rows: storage?.rows ?? null,
    bytes: storage?.bytes ?? null,
    pending_commits_max: tables.reduce((most, { pendingCommits }) => Math.max(most, pendingCommits), 0),
    suspended: suspended.map((table) => ({
      table_id: table.name,
      why: table.why,
      pending_commits: table.pendingCommits,
    })),
    without_upsert_keys: tables
      .filter(({ name: table, deduplicates }) => table.endsWith('.__default__') && !deduplicates)
      .slice(0, listedMax)
      .map(({ name: table }) => table),
  };
};

const noFigures: ClickhouseFigures = { version: '', tables: [], partsDelayAt: 0, merges: [], disks: [] };

const shownClickhouse = (figures: ClickhouseFigures, why: string) => ({
  why,
  version: figures.version,
  parts_delay_at: figures.partsDelayAt,
  tables: figures.tables.map(({ partsOfPartitionMax, ...table }) => ({
    ...table,
    parts_of_partition_max: partsOfPartitionMax,
  })),
  merges: figures.merges.map(({ elapsedSeconds, ...merge }) => ({
    ...merge,
    elapsed_seconds: elapsedSeconds,
  })),
  disks: figures.disks.map(({ disk, freeBytes, totalBytes }) => ({
    disk,
    free_bytes: freeBytes,
    total_bytes: totalBytes,
  })),
});

const storesEndpoint = ({ inspected, outcomes }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/stores',
    tag: 'System',
    summary:
      'Shows the QuestDB instances with their suspended tables, and parts, merges and disks of ClickHouse',
    role: 'viewer',
    answer: storesAnswer,
    run: async () => {
      // One store that is away does not hide the others.
      const [questdb, clickhouse] = await Promise.all([
        Promise.all(inspected.questdb.map(shownInstance)),
        readClickhouseFigures(outcomes.clickhouse).then(
          (figures) => shownClickhouse(figures, ''),
          (error: unknown) => shownClickhouse(noFigures, errorText(error)),
        ),
      ]);
      return { body: { questdb, clickhouse } };
    },
  });

/** The databases: the table of a data id, and all of them together. */
export const storeEndpoints = (deps: ApiDeps): Endpoint[] => [
  tableEndpoint(deps),
  cardinalityEndpoint(deps),
  storesEndpoint(deps),
];

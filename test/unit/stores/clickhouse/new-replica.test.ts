import { resolve } from 'node:path';
import { ClickHouseError } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Clickhouse } from '../../../../src/stores/clickhouse/client.ts';
import { rowsOf, toFault } from '../../../../src/stores/clickhouse/faults.ts';
import { itemTables } from '../../../../src/stores/clickhouse/item-tables.ts';
import { migrate } from '../../../../src/stores/clickhouse/migrate.ts';
import { readMigrations } from '../../../../src/stores/clickhouse/migrations.ts';
import { createLog } from '../../../../src/telemetry/log.ts';

const folder = resolve(import.meta.dirname, '../../../../schemas/sql/clickhouse');
const steps = readMigrations(folder);
const columnsIn = (statement: string): string[] =>
  [...statement.matchAll(/`(\w+)` /g)].map(([, name = '']) => name);

/** The columns of each table after all steps, as Keeper holds them. */
const tables = new Map<string, Set<string>>();
for (const { statement } of steps) {
  const [, verb, name = ''] = /^(CREATE TABLE IF NOT EXISTS|ALTER TABLE) otel\.(\w+)/m.exec(statement) ?? [];
  if (verb === undefined) continue;
  const own = verb === 'ALTER TABLE' ? /ADD COLUMN IF NOT EXISTS `(\w+)` /g : /^ +`(\w+)` /gm;
  const columns = tables.get(name) ?? new Set();
  for (const [, column = ''] of statement.matchAll(own)) columns.add(column);
  tables.set(name, columns);
}

const newest = 'argMax(create_table_query, metadata_modification_time)';

/** A cluster of which one replica is new: it has no table, and Keeper refuses one with other columns than it holds. */
const withNewReplica = () => {
  const has = new Set<string>();
  /** A replica that lags behind has not applied the ALTER of the last column: `any` may take its statement. */
  const statementOf = (name: string, isNewest: boolean): string =>
    `CREATE TABLE otel.${name} (${[...(tables.get(name) ?? [])]
      .slice(0, isNewest ? undefined : -1)
      .map((each) => `\`${each}\` String`)
      .join(', ')}) ENGINE = ` +
    `ReplicatedMergeTree('/clickhouse/tables/{shard}/otel/${name}', '{replica}') ORDER BY tuple()`;
  const answer = (query: string, params: Readonly<Record<string, unknown>> = {}): unknown[] => {
    if (query.includes('comment FROM system.tables')) return [{ comment: 'cluster tidemark' }];
    if (query.includes('create_table_query'))
      return [...tables.keys(), 'of_an_operator']
        .filter((name) => !has.has(name) && z.array(z.string()).parse(params['names']).includes(name))
        .map((name) => ({ statement: statementOf(name, query.includes(newest)) }));
    if (query.includes('clusterAllReplicas')) return [...has].map((name) => ({ name }));
    if (query.includes('schema_migrations'))
      return steps.map(({ version, name, checksum }) => ({ version, name, checksum }));
    if (query.includes('engine, sorting_key'))
      return [{ engine: 'ReplicatedReplacingMergeTree', sorting_key: 'AppId, uid' }];
    if (query.includes('system.columns'))
      return (
        itemTables
          .find(({ name }) => name === params['table'])
          ?.columns.map(({ name, type }) => ({ name, type })) ?? []
      );
    return [];
  };
  const run = async (statement: string): Promise<void> => {
    const name = /^CREATE TABLE IF NOT EXISTS otel\.(\w+) ON CLUSTER/m.exec(statement)?.[1] ?? '';
    if (name === 'of_an_operator') throw new Error('a table of the operator was created on all replicas');
    const lacks = [...(tables.get(name) ?? [])].filter((each) => !columnsIn(statement).includes(each));
    if (has.has(name) || !tables.has(name)) return;
    if (lacks.length > 0)
      throw toFault(
        new ClickHouseError({ message: `lacks ${lacks}`, code: '122', type: 'INCOMPATIBLE_COLUMNS' }),
      );
    has.add(name);
  };
  const clickhouse: Clickhouse = {
    rows: async <T>(
      schema: z.ZodType<T>,
      query: string,
      options?: { readonly params?: Readonly<Record<string, unknown>> },
    ) => rowsOf(schema, answer(query, options?.params)),
    ...{ run, insert: async () => 0, ping: async () => {}, close: async () => {} },
  };
  return { clickhouse, has };
};

it('a further replica of a cluster gets the tables as they are now, not as they began or as one that lags behind has them', async () => {
  const { clickhouse, has } = withNewReplica();
  const result = await migrate({ clickhouse, folder, cluster: 'tidemark', log: createLog('test', 'silent') });
  expect([...has].toSorted()).toEqual([...tables.keys()].toSorted());
  expect(result.applied).toEqual([]);
});

it('columns that Keeper does not have are a fault of the setup, which is not tried again', () => {
  for (const code of ['122', '342'])
    expect(toFault(new ClickHouseError({ message: 'no', code, type: 'X' }))).toMatchObject({
      ...{ kind: 'permanent', code: 'clickhouse_rejected' },
    });
});

import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createBlockWriter,
  killSettings,
  killStatement,
  lookSettings,
  syncStatement,
} from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { onCluster } from '../../src/stores/clickhouse/cluster.ts';
import { dataPointTables, spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { migrate, schemaStatements } from '../../src/stores/clickhouse/migrate.ts';
import { insertId } from '../../src/stores/clickhouse/query-id.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createCli } from '../support/clients/cli.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';

// There is no Keeper here: the engine's own parser checks the statements, and nothing of a cluster runs.
const folder = join(resolve(import.meta.dirname, '../..'), 'schemas/sql/clickhouse');
const log = createLog('test', 'silent');
const alters = [
  'ALTER TABLE otel.otel_traces MODIFY TTL toDateTime(Timestamp) + toIntervalDay(3)',
  'ALTER TABLE otel.otel_traces MODIFY SETTING fsync_after_insert = 1',
].map((statement) => onCluster(statement, 'main'));
const statements = [...schemaStatements(folder, 'main'), ...alters];

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(() => clickhouse.run('DROP DATABASE IF EXISTS otel SYNC'));

/** The statement as its parser reads it; throws the error of the parser. */
const treeOf = async (statement: string): Promise<string> => {
  const response = await fetchEngine(engines.clickhouse.url, {
    method: 'POST',
    body: `EXPLAIN AST ${statement}`,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
};

describe('the schema of a cluster', () => {
  it.each(statements.map((statement) => [/^(?:CREATE|ALTER).*/m.exec(statement)?.[0] ?? '', statement]))(
    'is understood by ClickHouse: %s',
    async (_, statement) => {
      expect(await treeOf(statement)).toMatch(/^(Create|Alter)/);
      expect(statement).toContain("ON CLUSTER 'main'");
    },
  );

  it('has each table replicated below a path of its own, with the arguments it has on one server', () => {
    const engineOf = /ENGINE = (\S+?)\('([^']+)', '\{replica\}'(?:, (\w+))?\)/;
    const found = statements.flatMap((statement) => {
      const [, kind, path, argument] = engineOf.exec(statement) ?? [];
      return kind === undefined ? [] : [[kind, path, argument]];
    });
    const at = (table: string): string => `/clickhouse/tables/{shard}/otel/${table}`;
    const replacing = 'ReplicatedReplacingMergeTree';
    expect(found).toEqual([
      [replacing, at('schema_migrations'), undefined],
      [replacing, at('otel_traces'), undefined],
      ['ReplicatedMergeTree', at('otel_traces_trace_id_ts'), undefined],
      [replacing, at('ingest_outcomes'), 'at'],
      [replacing, at('ingest_refusals'), undefined],
      [replacing, at('ingest_samples'), undefined],
      [replacing, at('ingest_settled'), undefined],
      [replacing, at('ingest_published'), 'version'],
      [replacing, at('ingest_doubtful'), undefined],
      [replacing, at('ingest_differences'), 'at'],
      [replacing, at('ingest_closings'), 'at'],
      [replacing, at('ingest_usage'), 'version'],
      ['ReplicatedSummingMergeTree', at('ingest_days'), undefined],
      [replacing, at('otel_logs'), undefined],
      ...dataPointTables.map(({ name }) => [replacing, at(name), undefined]),
      ['ReplicatedAggregatingMergeTree', at('ingest_stream_ends'), undefined],
    ]);
  });

  // Of itself a replicated table takes an equal block for a repeat and loses its rows.
  it('keeps equal blocks in every table that takes inserts', () => {
    const tables = statements.filter(
      (statement) => /^CREATE TABLE/m.test(statement) && !/schema_migrations|ENGINE = Null/.test(statement),
    );
    expect(tables.length).toBe(19);
    for (const table of tables) {
      expect(table).toMatch(/(?<!non_)replicated_deduplication_window = 0/);
      expect(table).not.toContain('non_replicated');
    }
  });

  it('is printed by the program, with the database first, and without a ClickHouse', async () => {
    const cli = createCli(() => ({ PATH: process.env['PATH'], TIDEMARK_CLICKHOUSE_CLUSTER: 'main' }));
    const printed = await cli.text('migrate --print');
    expect(printed).toBe(`${schemaStatements(folder, 'main').join(';\n\n')};\n`);
    expect(await cli.text('migrate --print --cluster other')).toContain("ON CLUSTER 'other'");
  });
});

describe('the statements of a writer on a cluster', () => {
  it.each([
    ['kills on every replica', killStatement('main').replace('{ids:Array(String)}', "['a']")],
    ['waits for what other replicas have', syncStatement(spansTable)],
  ])('%s: ClickHouse understands it', async (_, statement) => {
    expect(await treeOf(statement)).not.toBe('');
  });

  // Otherwise one replica that is down would stop every guarded insert until it is back.
  it('finds and ends inserts without the unreachable replicas, and only on a cluster', async () => {
    const asked: unknown[] = [];
    const spied: Clickhouse = {
      ...clickhouse,
      rows: async (schema, query, options) => {
        if (!query.includes('processes')) return clickhouse.rows(schema, query, options);
        asked.push(options?.settings);
        // One that runs at the first look.
        return asked.length % 3 === 1 ? [schema.parse({ query_id: running, label: '' })] : [];
      },
      run: async (_statement, options) => {
        asked.push(options?.settings);
      },
    };
    const kill = () =>
      createBlockWriter(spied, spansTable, { insertMsMax: 1000 }).killCovering({
        stream: 'TRACES',
        firstSequence: 1,
        lastSequence: 2,
      });
    const running = insertId({ stream: 'TRACES', first: 1, last: 2, boot: 1, attempt: 1 });
    await migrate({ clickhouse, folder, log });
    expect(await kill()).toBe(1);
    expect(asked.splice(0)).toEqual([{}, {}, {}]);
    await clickhouse.run("ALTER TABLE otel.schema_migrations MODIFY COMMENT 'cluster main'");
    expect(await kill()).toBe(1);
    expect(asked).toEqual([lookSettings, killSettings, lookSettings]);
    const one = z.object({ one: z.number() });
    const settings = { ...lookSettings, ...killSettings };
    expect(await clickhouse.rows(one, 'SELECT 1 AS one', { settings })).toEqual([{ one: 1 }]);
  });

  // The guard reads one replica: the rows of another one must have arrived there first.
  it('a guarded insert waits for the other replicas, and only on a cluster', async () => {
    const ran: string[] = [];
    const spied: Clickhouse = {
      ...clickhouse,
      run: async (statement) => {
        ran.push(statement);
      },
      insert: async () => 0,
    };
    const insert = { queryId: 'q', blocks: [], uidRanges: [], timeMin: 0n, timeMax: 0n, names: [] };
    await migrate({ clickhouse, folder, log });
    await createBlockWriter(spied, spansTable, { insertMsMax: 1000 }).insertGuarded(insert);
    expect(ran).toEqual([]);
    await clickhouse.run("ALTER TABLE otel.schema_migrations MODIFY COMMENT 'cluster main'");
    await createBlockWriter(spied, spansTable, { insertMsMax: 1000 }).insertGuarded(insert);
    expect(ran).toEqual([syncStatement(spansTable)]);
  });
});

describe('tables that were made for a single server', () => {
  it('get nothing beside them when a cluster is asked for', async () => {
    await migrate({ clickhouse, folder, log });
    const ran: string[] = [];
    const spied: Clickhouse = {
      ...clickhouse,
      run: async (statement) => {
        ran.push(statement);
      },
    };
    await expect(migrate({ clickhouse: spied, folder, log, cluster: 'main' })).rejects.toMatchObject({
      code: 'clickhouse_cluster_differs',
    });
    expect(ran).toEqual([]);
  });

  it('are not taken for those of a cluster, nor the other way round', async () => {
    await migrate({ clickhouse, folder, log });
    await clickhouse.run("ALTER TABLE otel.schema_migrations MODIFY COMMENT 'cluster main'");
    await expect(migrate({ clickhouse, folder, log })).rejects.toMatchObject({
      code: 'clickhouse_cluster_differs',
    });
  });
});

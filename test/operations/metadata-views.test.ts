import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets, columnsKey } from '../../src/directory/keys.ts';
import type { ColumnRegistry } from '../../src/model/records.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { registerNames } from '../../src/wire/column-naming.ts';
import { createReport } from '../support/metadata/admin-api.ts';
import { type MetadataRole, type MetadataStack, startMetadataStack } from '../support/metadata/role.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { until } from '../support/until.ts';

let stack: MetadataStack;
let engines: TestEngines;
let metadata: MetadataRole;
let bus: Bus;
let sql: QuestdbSql;

beforeAll(async () => {
  stack = await startMetadataStack();
  ({ engines, metadata } = stack);
  bus = await connectBus(engines.nats.url, 'test');
  sql = createQuestdbSql({ url: engines.questdb.url });
});
afterAll(async () => {
  await bus?.close();
  await sql?.close();
  await metadata?.role.stop();
  await engines?.stop();
});

type Source = { dataId: number; tableId: string };

const createSource = async (name: string, isSplit: boolean): Promise<Source> => {
  const created = await createReport(metadata, { mon_biz_id: 2, name, is_split_measurement: isSplit });
  return { dataId: created.mon_data_id, tableId: String(created.result_table['table_id']) };
};

/** What a receiver does with names it has not seen. */
const register = async (
  source: Source,
  layout: 'wide' | 'narrow',
  metrics: string[],
): Promise<ColumnRegistry> => {
  const empty = { mon_data_id: source.dataId, metrics: [], dimensions: [] };
  const caps = { metricsMax: 512, dimensionsMax: 64 };
  const registry = registerNames(empty, layout, source.tableId, caps, metrics, [], 1_800_000_000);
  await (await openKvBucket(bus, buckets.columns)).put(columnsKey(source.dataId), registry);
  return registry;
};

const viewsOf = async (source: Source): Promise<string[]> => {
  const { dataset } = await sql.exec('SELECT view_name FROM views() ORDER BY view_name');
  const prefix = source.tableId.replace(/__default__$/, '');
  return dataset.map(([name]) => String(name)).filter((name) => name.startsWith(prefix));
};

const viewNames = (source: Source, registry: ColumnRegistry): string[] =>
  registry.metrics.map(({ column }) => source.tableId.replace(/__default__$/, column)).toSorted();

/** Two seconds are what is promised; a busy machine gets five times as long. */
const boundMs = 10_000;

it('every metric of a split table has its view within two seconds of its registration', async () => {
  const source = await createSource('split', true);
  const metrics = ['cpu', 'CPU', 'Cpu', '__default__', 'timestamp', 'm'.repeat(100), `${'m'.repeat(99)}n`];
  const registry = await register(source, 'narrow', metrics);
  expect(registry.metrics.map(({ column }) => column).slice(0, 4)).toEqual([
    'cpu',
    'CPU__2',
    'Cpu__3',
    '__default____2',
  ]);
  const wanted = viewNames(source, registry);
  await until('all views', async () => (await viewsOf(source)).length === wanted.length, boundMs);
  expect((await viewsOf(source)).toSorted()).toEqual(wanted);
  const lines = metrics.map(
    (metric, index) => `${source.tableId},metric=${metric} uid=${index}i,value=${index} 1700000000000\n`,
  );
  await fetchEngine(`${engines.questdb.url}/write?precision=ms`, { method: 'POST', body: lines.join('') });
  for (const [index, { column }] of registry.metrics.entries()) {
    const view = source.tableId.replace(/__default__$/, column);
    const rows = await until(`rows of ${view}`, async () => {
      const { dataset } = await sql.exec(`SELECT value FROM "${view}"`);
      return dataset.length > 0 && dataset;
    });
    expect(rows).toEqual([[index]]);
  }
});

it('a table that is not split has no views', async () => {
  const wide = await createSource('not split', false);
  await register(wide, 'wide', ['cpu']);
  const split = await createSource('after it', true);
  const registry = await register(split, 'narrow', ['cpu']);
  await until('the later views', async () => (await viewsOf(split)).length === registry.metrics.length);
  expect(await viewsOf(wide)).toEqual([]);
});

// One faulty table, here a dropped one, must not keep the others' metrics from being queried.
it('a table whose views cannot be created does not delay the others', async () => {
  const dropped = await createSource('dropped', true);
  await sql.exec(`DROP TABLE "${dropped.tableId}"`);
  await register(dropped, 'narrow', ['cpu']);
  for (const name of ['other 1', 'other 2', 'other 3']) {
    const source = await createSource(name, true);
    const registry = await register(source, 'narrow', ['cpu', 'mem']);
    await until('its views', async () => (await viewsOf(source)).length === registry.metrics.length, boundMs);
  }
});

// Registration goes on while QuestDB is down: its metrics must not stay without views until the next restart.
it('views of names that were registered while QuestDB was down are created when it is back', async () => {
  const source = await createSource('away', true);
  await engines.questdb.kill();
  const registry = await register(source, 'narrow', ['one', 'two']);
  await engines.questdb.start();
  await until('both views', async () => (await viewsOf(source)).length === registry.metrics.length);
});

it('views of names that were registered while metadata was down are made when it starts', async () => {
  const source = await createSource('down', true);
  await metadata.role.stop();
  const registry = await register(source, 'narrow', ['one', 'two']);
  expect(await viewsOf(source)).toEqual([]);
  await metadata.role.start();
  await until('both views', async () => (await viewsOf(source)).length === registry.metrics.length);
});

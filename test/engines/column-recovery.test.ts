import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { recoverColumns } from '../../src/cli/streams-backup/recover-columns.ts';
import { buckets, columnsKey, recordKeys } from '../../src/directory/keys.ts';
import { columnRegistrySchema } from '../../src/directory/records.ts';
import type { Layout } from '../../src/model/records.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables, type QuestdbTables } from '../../src/stores/questdb/tables.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
let bus: Bus;
let sql: QuestdbSql;
let tables: QuestdbTables;

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true });
  bus = await connectBus(engines.nats.url, 'test');
  sql = createQuestdbSql({ url: engines.questdb.url });
  tables = createQuestdbTables(sql, new URL('../../schemas', import.meta.url).pathname);
});
afterAll(async () => {
  await sql?.close();
  await bus?.close();
  await engines?.stop();
});

const tableOf = (dataId: number): string => `2_mon_time_series_${dataId}.__default__`;

/** The records of a data id as a backup has them, with the names it knew. */
const putRecords = async (dataId: number, layout: Layout, names: readonly string[]): Promise<void> => {
  const records = await openKvBucket(bus, buckets.records);
  await records.put(recordKeys.table(dataId), { mon_data_id: dataId, table_id: tableOf(dataId) });
  await records.put(recordKeys.group(dataId), { is_split_measurement: layout === 'narrow' });
  const metrics = names.map((name) => ({ name, column: name, first_seen: 1, last_seen: 1 }));
  const columns = await openKvBucket(bus, buckets.columns);
  await columns.put(columnsKey(dataId), { mon_data_id: dataId, metrics, dimensions: [] });
};

/** Names and columns of a registry. */
const registryOf = async (dataId: number): Promise<unknown> => {
  const columns = await openKvBucket(bus, buckets.columns);
  const { metrics, dimensions } = columnRegistrySchema.parse((await columns.get(columnsKey(dataId)))?.value);
  return [metrics, dimensions].map((names) => names.map(({ name, column }) => `${name} -> ${column}`));
};

// A dimension with the name of a column of numbers would have its rows refused until an operator looks.
it('names that were first seen after the copy of NATS are taken out of the tables of QuestDB', async () => {
  await tables.createTable('wide', tableOf(1500001));
  await tables.createTable('narrow', tableOf(1500002));
  const lines = [
    `${tableOf(1500001)},target=a,zone=z,host__2=h cpu=1,CPU__2=2,host=3,uid=1i 1780315200000`,
    `${tableOf(1500002)},metric=load,target=a,zone=z value=1,uid=1i 1780315200000`,
  ];
  const response = await fetchEngine(`${engines.questdb.url}/write?precision=ms`, {
    method: 'POST',
    body: `${lines.join('\n')}\n`,
  });
  expect([response.status, await response.text()]).toEqual([204, '']);
  await until('the rows are applied', async () => {
    const { dataset } = await sql.exec(`SELECT count() FROM "${tableOf(1500002)}"`);
    return Number(dataset[0]?.[0]) === 1 ? true : undefined;
  });
  await tables.createMetricView(tableOf(1500002), 'load', 'load');
  await putRecords(1500001, 'wide', ['cpu']);
  await putRecords(1500002, 'narrow', []);
  // A report whose table QuestDB does not have.
  await putRecords(1500003, 'wide', ['up']);
  // Tables of an instance that the settings do not name: nothing is read of them, which is not to pass without a word.
  for (const dataId of [1500004, 1500005]) {
    await putRecords(dataId, 'wide', ['up']);
    const records = await openKvBucket(bus, buckets.records);
    const placement = { mon_data_id: dataId, table_id: tableOf(dataId), questdb: 'b' };
    await records.put(recordKeys.placement(dataId), placement);
  }
  const told: string[] = [];
  const tell = (why: string): void => void told.push(why);

  const instances = [{ name: 'default', url: engines.questdb.url }];
  expect(await recoverColumns(bus, instances, tell)).toBe(4);
  expect(told).toEqual([expect.stringMatching(/^2 tables .* QuestDB b, .*TIDEMARK_QUESTDB_URLS/)]);
  expect(await registryOf(1500001)).toEqual([['cpu -> cpu', 'host -> host'], ['zone -> zone']]);
  expect(await registryOf(1500002)).toEqual([['load -> load'], ['zone -> zone']]);
  expect(await registryOf(1500003)).toEqual([['up -> up'], []]);
  // Interrupted and repeated it adds nothing.
  expect(await recoverColumns(bus, instances, tell)).toBe(0);
});

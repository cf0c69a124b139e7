import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readOutlines } from '../../src/account/outlines.ts';
import { createRecordReader, createRecordsReader } from '../../src/outcomes/record-reader.ts';
import { readUsage } from '../../src/outcomes/usage.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const insert = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);

const now = Math.floor(Date.now() / 60_000) * 60;
const numbers = (count: number, first: number, step = 1): number[] =>
  Array.from({ length: count }, (_, index) => first + step * index);

// ClickHouse takes 128 KiB as the value of a parameter, and 1 MiB as an address.
describe('a query that names tens of thousands of numbers', () => {
  it.each([5_000, 20_000, 50_000])('has the same rows for %i of them', async (count) => {
    const list = numbers(count, -7);
    const shape = z.object({ length: z.coerce.number(), sum: z.coerce.number(), found: z.coerce.number() });
    const query =
      'SELECT length({list:Array(Int64)}) AS length, arraySum({list:Array(Int64)}) AS sum, {last:Int64} IN {list:Array(Int64)} AS found';
    const sum = list.reduce((all, each) => all + each, 0);
    const params = { list, last: list.at(-1) };
    expect(await clickhouse.rows(shape, query, { params })).toEqual([{ length: count, sum, found: 1 }]);
  });

  it('is the usage of a business with 20,000 owners', async () => {
    const owners = numbers(20_000, 1_500_001);
    const row = { minute: now, life: 1, line: 1, requests: 3, last_at: now, version: 1, app_id: 0 };
    const used = [owners.at(0), owners.at(-1), 1_499_999].map((data_id) => ({ ...row, data_id }));
    await insert('ingest_usage', used);
    const filter = { since: now, until: now + 60, owners: { dataIds: owners, appIds: owners } };
    const found = await readUsage(clickhouse, filter, 'owner');
    expect(found.map(({ dataId, requests }) => [dataId, requests]).toSorted()).toEqual([
      [1_500_001, 3],
      [1_520_000, 3],
    ]);
  });

  it('has the records of a page of dead letters, each as it is read alone', async () => {
    const owner = { pipeline: 'metrics', data_id: 1_500_001, app_id: 0 } as const;
    const keys = numbers(1_500, 0).map((first) => ({
      ...{ ...owner, first, base: '18446744073709551615' },
      ...{ ordinal: first % 2 === 0 ? -1 : 3, redrive: first % 3 },
    }));
    const stored = keys.filter((_, index) => index % 5 === 0);
    await insert(
      'ingest_outcomes',
      stored.map((key) => ({
        ...key,
        minute: now,
        received: 1,
        outcomes: { [`dropped/of ${key.first}`]: 1 },
        at: now,
      })),
    );
    const records = await createRecordsReader(clickhouse)(keys, 60_000);
    expect(records).toHaveLength(keys.length);
    for (const [index, { first }] of keys.entries())
      expect(records[index]).toEqual(index % 5 === 0 ? { [`dropped/of ${first}`]: 1 } : undefined);
    const readRecord = createRecordReader(clickhouse);
    for (const index of [0, 1, 5, 1_495, 1_499]) {
      const [key] = keys.slice(index);
      if (key !== undefined) expect(await readRecord(key), `${index}`).toEqual(records[index]);
    }
  });

  it('is the outline of what was settled after a week without a transfer', async () => {
    const minutes = numbers(14_000, now - 14_000 * 60, 60);
    const line = { stream: 'METRICS', life: 9, data_id: 1_500_001, app_id: 0 };
    await insert(
      'ingest_settled',
      minutes.map((minute, index) => ({
        ...{ ...line, minute, serial: index + 1, sequence: index + 1, owners: 1, items: 2, redrive: 0 },
      })),
    );
    await insert(
      'ingest_published',
      minutes.map((minute) => ({ ...line, minute, messages: 1, items: 2, version: 1, at: minute })),
    );
    const outlines = await readOutlines(clickhouse, {
      seconds: 600,
      minutes: [],
      withRecords: true,
      now: 2 ** 32,
    });
    expect(outlines).toHaveLength(minutes.length);
    expect(outlines.filter(({ items, settledItems }) => items !== 2 || settledItems !== 2)).toEqual([]);
  });
});

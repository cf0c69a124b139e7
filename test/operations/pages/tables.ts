import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { errorText } from '../../../src/model/fault.ts';
import { createQuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { createCli } from '../../support/clients/cli.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { untilApplied } from '../../support/until-applied.ts';
import { push, sharedStack } from './stack.ts';

let stack: Stack;
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const dayMs = 86_400_000;
const now = Date.now();

const get = async (path: string): Promise<unknown> => {
  const { status, body } = await stack.api('GET', `/api/v1/${path}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

const tableSchema = z.looseObject({
  table_id: z.string(),
  rows: z.number(),
  bytes: z.number(),
  partitions: z.number(),
  is_suspended: z.boolean(),
  pending_commits: z.number(),
  days: z.array(z.object({ day: z.string(), rows: z.number(), bytes: z.number() })),
});
const cardinalitySchema = z.looseObject({
  dimensions: z.array(
    z.object({
      name: z.string(),
      column: z.string(),
      values: z.number().nullable(),
      values_before: z.number().nullable(),
      values_known: z.number().nullable(),
      full_since: z.number().nullable(),
    }),
  ),
  why: z.string(),
});

const pathOf = ({ data_source: source }: Report, what: string): string =>
  `data-sources/${source.mon_data_id}/${what}`;

const point = (ageDays: number, module: string) => ({
  metrics: { cpu: 1, memory: 2 },
  target: 'a',
  dimension: { module },
  timestamp: now - ageDays * dayMs - 60_000,
});

beforeAll(async () => {
  stack = await sharedStack();
});

describe.each([
  ['wide', {}, 1],
  ['narrow', { is_split_measurement: true }, 2],
])('the table of a data id, %s', (layout, extra, rowsOfPoint) => {
  let report: Report;
  const rows = 6 * rowsOfPoint;

  beforeAll(async () => {
    report = await stack.createReport(`table ${layout}`, extra);
    const data = [
      ...['a', 'b', 'c', 'd'].map((module) => point(0, module)),
      ...['a', 'e'].map((module) => point(1, module)),
    ];
    expect(await push(stack, report, report.data_source.token, data)).toBe(200);
    await stack.waitForRows(report.result_table.table_id, rows);
    // Rows are seen before QuestDB has written down that their commit is applied.
    await untilApplied(stack);
  });

  it('has the rows, bytes and days of QuestDB', async () => {
    const table = report.result_table.table_id;
    const answer = tableSchema.parse(await get(pathOf(report, 'table')));
    const { dataset } = await stack.query(
      `SELECT substring(name, 1, 10), numRows, diskSize FROM table_partitions('${table}') ORDER BY name`,
    );
    expect(answer.days.map(({ day, rows, bytes }) => [day, rows, bytes])).toEqual(dataset);
    expect(answer).toMatchObject({
      ...{ table_id: table, layout, instance: 'default', rows, partitions: 2, is_suspended: false },
      ...{ pending_commits: 0, retention_days: null, deduplicates: true },
      oldest_day: new Date(now - dayMs - 60_000).toISOString().slice(0, 10),
    });
    expect(await cli.text(`table ${report.data_source.mon_data_id}`)).toMatch(
      new RegExp(`rows\\s+${rows}\n`),
    );
  });

  it('has the distinct values of each dimension, today and the day before', async () => {
    const answer = cardinalitySchema.parse(await get(pathOf(report, 'cardinality')));
    expect(answer).toMatchObject({
      ...{
        layout,
        metric_columns: 2,
        metric_columns_max: 512,
        dimension_columns: 1,
        dimension_columns_max: 64,
        dimension_values_max: 1_000_000,
      },
      dimensions: [
        { name: 'target', column: 'target', values: 1, values_before: 1, values_known: 1, full_since: null },
        { name: 'module', column: 'module', values: 4, values_before: 2, values_known: 5, full_since: null },
      ],
      why: '',
    });
    const text = await cli.text(`table ${report.data_source.mon_data_id} --cardinality`);
    expect(text).toMatch(/module +4 +2 +5 +–\na dimension is full at: 1000000 values\nEVER counts one more /);
  });
});

describe('a suspended table', () => {
  it('shows in its own figures, in the stores and in the checks, with why', async () => {
    const report = await stack.createReport('suspended table');
    const table = report.result_table.table_id;
    await push(stack, report, report.data_source.token, [point(0, 'a')]);
    await stack.waitForRows(table, 1);
    // Metadata resumes it by itself: it is suspended again for each look.
    const suspended = <T>(look: () => Promise<T>, isSeen: (seen: T) => boolean): Promise<T> =>
      until('it is seen suspended', async () => {
        await stack.query(`ALTER TABLE "${table}" SUSPEND WAL WITH 24, 'disk full'`);
        const seen = await look();
        return isSeen(seen) ? seen : undefined;
      });
    const shown = await suspended(
      async () => tableSchema.parse(await get(pathOf(report, 'table'))),
      (seen) => seen.is_suspended,
    );
    expect(shown).toMatchObject({ table_id: table, why: expect.stringContaining('disk full') });
    const stores = await suspended(
      () => get('stores'),
      (seen) => JSON.stringify(seen).includes(table),
    );
    expect(stores).toMatchObject({
      questdb: [{ instance: 'default', why: '', suspended: [{ table_id: table, why: expect.any(String) }] }],
    });
    const checks = await suspended(
      async () => (await stack.api('POST', '/api/v1/doctor')).body,
      (seen) => JSON.stringify(seen).includes(table),
    );
    expect(checks).toMatchObject({ well: false });
    expect(JSON.stringify(checks)).toContain('docs/stores-in-trouble.md');
  });
});

describe('counting a hostile dimension', () => {
  let report: Report;

  beforeAll(async () => {
    report = await stack.createReport('hostile');
    await push(stack, report, report.data_source.token, [point(0, 'first')]);
    await stack.waitForRows(report.result_table.table_id, 1);
    const at = new Date(now - 60_000).toISOString();
    await stack.query(
      `INSERT INTO "${report.result_table.table_id}" (timestamp, uid, target, module)
         SELECT '${at}'::timestamp, x, 'a', 'value ' || x FROM long_sequence(20000)`,
    );
    await stack.waitForRows(report.result_table.table_id, 20_001);
  });

  it('of 20,000 values is exact, within its bound of time', async () => {
    const began = performance.now();
    const { dimensions } = cardinalitySchema.parse(await get(pathOf(report, 'cardinality')));
    expect(dimensions[1]).toMatchObject({ name: 'module', values: 20_001, values_before: 0 });
    expect(performance.now() - began).toBeLessThan(40_000);
  });

  it('is given up after its bound, by QuestDB too', async () => {
    const sql = createQuestdbSql({ url: stack.engines.questdb.url });
    // The distinct products of 20,000 rows with each other: minutes.
    const query = `SELECT count_distinct(a.uid * b.uid) FROM "${report.result_table.table_id}" a CROSS JOIN "${report.result_table.table_id}" b`;
    const began = performance.now();
    const why = await sql.exec(query, 200).then(() => '', errorText);
    expect(why).toMatch(/does not answer/);
    expect(performance.now() - began).toBeLessThan(5_000);
    await sql.close();
    await until('QuestDB has ended it', async () => {
      const { dataset } = await stack.query('SELECT query FROM query_activity()');
      return !JSON.stringify(dataset).includes('count_distinct(a.uid');
    });
  });
});

describe('the stores', () => {
  it('have the figures of QuestDB and ClickHouse', async () => {
    const stores = z
      .object({
        questdb: z.array(z.looseObject({ tables: z.number(), rows: z.number().nullable() })),
        clickhouse: z.looseObject({
          why: z.string(),
          version: z.string(),
          tables: z.array(z.looseObject({ table: z.string(), rows: z.number(), parts: z.number() })),
          disks: z.array(z.looseObject({ free_bytes: z.number(), total_bytes: z.number() })),
        }),
      })
      .parse(await get('stores'));
    const { dataset } = await stack.query('SELECT count() FROM tables() WHERE walEnabled');
    expect(stores.questdb[0]?.tables).toBe(dataset[0]?.[0]);
    expect(stores.questdb[0]?.rows).toBeGreaterThanOrEqual(20_000);
    expect(stores.clickhouse.why).toBe('');
    expect(stores.clickhouse.tables.map(({ table }) => table)).toEqual(
      expect.arrayContaining(['otel_traces', 'ingest_outcomes', 'ingest_samples']),
    );
    const outcomes = stores.clickhouse.tables.find(({ table }) => table === 'ingest_outcomes');
    expect(outcomes?.rows).toBeGreaterThan(0);
    expect(outcomes?.parts).toBeGreaterThan(0);
    for (const { free_bytes: free, total_bytes: all } of stores.clickhouse.disks) {
      expect(free).toBeGreaterThan(0);
      expect(free).toBeLessThanOrEqual(all);
    }
    expect(await cli.text('stores')).toContain('ingest_outcomes');
  });
});

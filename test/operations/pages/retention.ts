import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli } from '../../support/clients/cli.ts';
import { operations } from '../../support/metadata/admin-api.ts';
import { startMetadataRole } from '../../support/metadata/role.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { push, sharedStack } from './stack.ts';

let stack: Stack;
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));
const dayMs = 86_400_000;

const retentionSchema = z.looseObject({
  retention_days: z.number().nullable(),
  origin: z.string(),
  days: z.number(),
  rows: z.number(),
  bytes: z.number(),
  change: z.looseObject({ days: z.number(), rows: z.number(), bytes: z.number() }).nullable(),
});

beforeAll(async () => {
  stack = await sharedStack();
});

const ttlOf = async (table: string): Promise<unknown> =>
  (await stack.query(`SELECT ttlValue FROM tables() WHERE table_name = '${table}'`)).dataset[0]?.[0];

const storeSpans = (appId: number, days: number): Promise<unknown> =>
  stack.spansQuery(
    `INSERT INTO otel.otel_traces (Timestamp, TraceId, uid, AppId)
     SELECT toDateTime64(today() - number, 9, 'UTC') + 43200, toString(number), ${appId} * 1000 + number, ${appId} FROM numbers(${days})`,
  );

const storeLogs = (appId: number, days: number): Promise<unknown> =>
  stack.spansQuery(
    `INSERT INTO otel.otel_logs (Timestamp, TimestampTime, uid, AppId)
     SELECT toDateTime64(today() - number, 9, 'UTC') + 43200, toDateTime(today() - number, 'UTC') + 43200, ${appId} * 1000 + number, ${appId} FROM numbers(${days})`,
  );

const dataPointTables = ['otel_metrics_sum', 'otel_metrics_histogram'];

const storeDataPoints = async (appId: number, days: number): Promise<void> => {
  for (const table of dataPointTables)
    await stack.spansQuery(
      `INSERT INTO otel.${table} (TimeUnix, uid, AppId)
       SELECT toDateTime64(today() - number, 9, 'UTC') + 43200, ${appId} * 1000 + number, ${appId} FROM numbers(${days})`,
    );
};

/** Of each table. */
const dataPointDays = (appId: number): Promise<number[]> =>
  Promise.all(
    dataPointTables.map(async (table) => {
      const [row] = await stack.spansQuery(
        `SELECT count() AS points FROM otel.${table} WHERE AppId = ${appId}`,
      );
      return Number(row?.['points']);
    }),
  );

const logDays = async (appId: number): Promise<number> =>
  Number(
    (await stack.spansQuery(`SELECT count() AS records FROM otel.otel_logs WHERE AppId = ${appId}`))[0]?.[
      'records'
    ],
  );

const spanDays = async (appId: number): Promise<number> =>
  Number(
    (await stack.spansQuery(`SELECT count() AS spans FROM otel.otel_traces WHERE AppId = ${appId}`))[0]?.[
      'spans'
    ],
  );

describe('tidemark retention, of a data id', () => {
  let report: Report;
  let dataId: number;

  beforeAll(async () => {
    report = await stack.createReport('retention of points');
    dataId = report.data_source.mon_data_id;
    const at = (ageDays: number) => ({
      metrics: { a: 1 },
      target: 't',
      timestamp: Date.now() - ageDays * dayMs,
    });
    expect(await push(stack, report, report.data_source.token, [0, 1, 20, 21].map(at))).toBe(200);
    await stack.waitForRows(report.result_table.table_id, 4);
  });

  it('is for ever, unasked, and shows what is stored', async () => {
    expect(await cli.json(retentionSchema, `retention show ${dataId}`)).toMatchObject({
      ...{ retention_days: null, origin: 'none', days: 4, rows: 4, change: null },
    });
    expect(await cli.text(`retention show ${dataId}`)).toMatch(
      /^kept +for ever\nby +nothing sets one\nstored +4 rows of 4 days, /,
    );
  });

  it.each(['retention set', 'policy set'])(
    'is not narrowed by `%s` before its effect is confirmed',
    async (command) => {
      const days = command === 'policy set' ? '--retention-days 10' : '10';
      const refused = await cli.run(`${command} ${dataId} ${days}`);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(
            `^tidemark: 2 rows of 2 days, .* of data id ${dataId} are removed, which cannot be undone: confirm with --yes\\n$`,
          ),
        ),
      });
      expect(await ttlOf(report.result_table.table_id)).toBe(0);
    },
  );

  it('is the TTL of the table once it is confirmed, and asks nothing where nothing is removed', async () => {
    const set = await cli.json(retentionSchema, `retention set ${dataId} 10 --yes`);
    expect(set).toMatchObject({ retention_days: 10, origin: 'policy' });
    await until('the TTL is 10 days', async () => (await ttlOf(report.result_table.table_id)) === 10);
    await cli.text(`retention set ${dataId} default`);
    await until('there is no TTL', async () => (await ttlOf(report.result_table.table_id)) === 0);
  });
});

describe('tidemark retention, of an application', () => {
  it('shows its effect, removes the old spans, log records and data points of that application alone, and needs no other service', async () => {
    const [short, other] = [await stack.createApplication('short'), await stack.createApplication('other')];
    await storeSpans(short.app_id, 9);
    await storeSpans(other.app_id, 9);
    for (const { app_id: id } of [short, other]) {
      await storeLogs(id, 6);
      await storeDataPoints(id, 6);
    }
    const refused = await cli.run(`retention set ${short.app_id} 4`);
    expect(refused.stderr).toMatch(
      new RegExp(`^tidemark: 7 rows of 4 days, .* of application ${short.app_id} are removed`),
    );
    expect(await cli.json(retentionSchema, `retention set ${short.app_id} 4 --yes`)).toMatchObject({
      ...{ retention_days: 4, origin: 'policy' },
    });
    await until('the old spans are gone', async () => (await spanDays(short.app_id)) === 5);
    await until('the old log records are gone', async () => (await logDays(short.app_id)) === 5);
    expect(await spanDays(other.app_id)).toBe(9);
    await until(
      'the old data points are gone',
      async () => String(await dataPointDays(short.app_id)) === '5,5',
    );
    expect(await logDays(other.app_id)).toBe(6);
    expect(await dataPointDays(other.app_id)).toEqual([6, 6]);
  });
});

describe('the default retention of a deployment', () => {
  it('is that of tables and applications created with it; none of the existing gains one, and no window is narrowed', async () => {
    const before = await stack.createReport('before the default');
    const role = await startMetadataRole(stack.engines, 'with-default', {
      TIDEMARK_METADATA_RETENTION_DAYS: '45',
      TIDEMARK_CLICKHOUSE_URL: stack.engines.clickhouse.url,
    });
    const ask = (method: string, path: string, body?: unknown) =>
      role.askAs(stack.adminToken(), method, path, body);
    try {
      const made = await ask('POST', operations.report, {
        mon_biz_id: 2,
        name: 'by default',
      });
      const { mon_data_id: dataId, result_table: table } = z
        .looseObject({ mon_data_id: z.number(), result_table: z.looseObject({ table_id: z.string() }) })
        .parse(made.body);
      expect([await ttlOf(table.table_id), await ttlOf(before.result_table.table_id)]).toEqual([45, 0]);
      const shown = await ask('GET', `/api/v1/data-sources/${dataId}/policy`);
      expect(shown.body).toMatchObject({ policy: { retention_days: 45, age_seconds_max: 'off' }, own: [] });
      const retention = await ask('GET', `/api/v1/data-sources/${dataId}/retention?days=default`);
      expect(retention.body).toMatchObject({
        retention_days: 45,
        origin: 'creation',
        change: { retention_days: 45 },
      });
      const app = await ask('POST', '/api/v1/applications', { mon_biz_id: 2, app_name: 'by default' });
      const { app_id } = z
        .looseObject({ application: z.looseObject({ app_id: z.number() }) })
        .parse(app.body).application;
      expect((await ask('GET', `/api/v1/applications/${app_id}/retention`)).body).toMatchObject({
        ...{ retention_days: 45, origin: 'creation' },
      });
      const off = await ask('PATCH', `/api/v1/data-sources/${dataId}/policy`, { retention_days: 'off' });
      expect(off.status).toBe(200);
      // Two processes of metadata keep it here, and QuestDB applies a change of a table in its own time.
      await until('the table has no TTL', async () => (await ttlOf(table.table_id)) === 0);
    } finally {
      await role.role.stop();
    }
  });
});

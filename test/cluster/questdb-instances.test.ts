import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { createPublisher } from '../../src/bus/publisher.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import type { Engine } from '../../src/embedded/engine.ts';
import { createQuestdbEngine } from '../../src/embedded/questdb.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { envelopeVersion } from '../../src/wire/frame.ts';
import { encodeEnvelope, type Part } from '../../src/wire/metrics-envelope.ts';
import { createCli } from '../support/clients/cli.ts';
import { startMetadataRole } from '../support/metadata/role.ts';
import { takePorts } from '../support/stack/ports.ts';
import { missedBy, readyzOf } from '../support/stack/readiness.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

const boundMs = 60_000;
const begin = Date.now() - 600_000;

let stack: Stack;
let second: Engine;
let folder: string;
let bus: Bus;
let records: KvBucket;
const sqls: QuestdbSql[] = [];

beforeAll(async () => {
  const [http = 0, pg = 0] = await takePorts(2);
  folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  second = createQuestdbEngine({
    folder,
    host: '127.0.0.1',
    ports: { http, pg },
    log: () => {},
    durability: 'process',
  });
  await second.start();
  stack = await startStack({
    env: { TIDEMARK_QUESTDB_URLS: `b=${second.url}` },
    // The instance that no setting names.
    mayBeRefused: /metrics-zzz/,
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  records = await openKvBucket(bus, buckets.records);
  sqls.push(createQuestdbSql({ url: stack.engines.questdb.url }), createQuestdbSql({ url: second.url }));
});

afterAll(async () => {
  await bus?.close();
  await Promise.all(sqls.map((sql) => sql.close()));
  await stack?.stop();
  await second?.kill();
  await rm(folder, { recursive: true, force: true });
});

type Instance = 'default' | 'b';

const placementsSchema = z.object({
  items: z.array(z.object({ mon_data_id: z.number(), table_id: z.string(), questdb: z.string() })),
});

const placements = async (query = '') =>
  placementsSchema.parse((await stack.api('GET', `/api/v1/placements${query}`)).body).items;

const sqlOf = (instance: Instance): QuestdbSql => {
  const sql = sqls[instance === 'default' ? 0 : 1];
  if (sql === undefined) throw new Error(`there is no ${instance}`);
  return sql;
};

const tablesOn = async (instance: Instance): Promise<unknown[]> =>
  (await sqlOf(instance).exec('SELECT table_name FROM tables()')).dataset.map(([name]) => name);

/** Rows, and points: a row that is stored twice would make them differ. */
const countsOf = async (instance: Instance, { result_table: { table_id: table } }: Report) =>
  (await sqlOf(instance).exec(`SELECT count(), count_distinct(timestamp::long) FROM "${table}"`)).dataset[0];

const push = async ({ data_source: source }: Report, from: number, points: number): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({
      data_id: source.mon_data_id,
      access_token: source.token,
      data: Array.from({ length: points }, (_, index) => ({
        metrics: { n: from + index },
        target: 't',
        timestamp: begin + from + index,
      })),
    }),
  });

/** Pushes until it is taken: a receiver learns of a report within a second. */
const pushUntilTaken = async (report: Report, from: number, points: number): Promise<void> => {
  await until('the points are taken', async () => (await push(report, from, points)).ok, boundMs);
};

const waitForPoints = (instance: Instance, report: Report, points: number): Promise<unknown> =>
  until(
    `${points} points of ${report.result_table.table_id} on ${instance}`,
    async () => {
      const counts = await countsOf(instance, report);
      if (counts?.[0] === points && counts[1] === points) return true;
      throw new Error(JSON.stringify(counts));
    },
    boundMs,
  );

it('new tables go to the instance with the fewest tables, or to the named one, and to no other', async () => {
  const made = [
    await stack.createReport('spread 1'),
    await stack.createReport('spread 2', { is_split_measurement: true }),
    await stack.createReport('spread 3'),
    await stack.createReport('named', { questdb: 'b' }),
  ];
  const found = await placements();
  expect(found.map(({ questdb }) => questdb)).toEqual(['default', 'b', 'default', 'b']);
  expect((await placements('?questdb=b')).map(({ table_id }) => table_id)).toEqual(
    [made[1], made[3]].map((report) => report?.result_table.table_id),
  );
  for (const { table_id, questdb } of found) {
    expect([await tablesOn('default'), await tablesOn('b')].map((names) => names.includes(table_id))).toEqual(
      [questdb === 'default', questdb === 'b'],
    );
  }
  await expect(stack.createReport('nowhere', { questdb: 'c' })).rejects.toThrow('must be one of default, b');
});

// Losing one machine must cost the tables of that machine some time, and the others nothing.
it('with one instance killed under load and started again, every point is once on its own, and the other is not held up', async () => {
  const here = await stack.createReport('here', { questdb: 'default' });
  const there = await stack.createReport('there', { questdb: 'b' });
  const batch = 500;
  const rounds = 20;
  for (let round = 0; round < rounds; round++) {
    if (round === rounds / 2) await second.kill();
    for (const report of [here, there]) await pushUntilTaken(report, round * batch, batch);
  }
  await waitForPoints('default', here, rounds * batch);
  expect((await stack.streamState('METRICS-b')).messages).toBeGreaterThan(0);
  await stack.waitForEmptyStream('METRICS');
  await until('readiness names the instance', async () =>
    (await missedBy(stack.transfer[0]))['questdb']?.startsWith('b: QuestDB'),
  );
  expect(await readyzOf(stack.metadata)).toMatchObject({ status: 200, failing: {} });
  await until('metadata names it, too, once it has asked it', async () =>
    (await missedBy(stack.metadata))['questdb']?.startsWith('b: QuestDB'),
  );
  // The one that answers gets what is new.
  await stack.createReport('meanwhile');
  expect((await placements()).at(-1)?.questdb).toBe('default');

  await second.start();
  await waitForPoints('b', there, rounds * batch);
  await stack.waitForEmptyStream('METRICS-b', boundMs);
  await stack.ready();
  expect(await tablesOn('default')).not.toContain(there.result_table.table_id);
  expect(await tablesOn('b')).not.toContain(here.result_table.table_id);
});

/** Rows are visible before their message is acknowledged. */
const untilOneWaits = (): Promise<unknown> =>
  until(
    'one message alone is left in METRICS',
    async () => (await stack.streamState('METRICS')).messages === 1,
    boundMs,
  );

/** A part with one row, as a receiver writes it. */
const partOf = ({ data_source, result_table }: Report, n: number): { part: Part; row: Buffer } => {
  const table = result_table.table_id;
  const row = Buffer.from(`${table},target=t n=${n},uid=${n}i ${begin + n}\n`);
  const dataId = data_source.mon_data_id;
  const times = { timeMin: begin + n, timeMax: begin + n };
  const one = { rows: 1, points: 1, base: String(n), first: 0, last: 0, bytes: row.length };
  return { part: { dataId, table, layout: 'wide', ...one, ...times }, row };
};

// A receiver that has not read a placement yet, or a table that was moved, leaves such messages.
it('a message with rows of both, in the stream of either, waits only for the missing table', async () => {
  const here = await stack.createReport('stray here', { questdb: 'default' });
  const there = await stack.createReport('stray there', { questdb: 'b' });
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 1_000 });
  const publish = async (subject: string, n: number): Promise<void> => {
    const both = [partOf(here, n), partOf(there, n)];
    const header = { version: envelopeVersion, kind: 'metrics' as const, arrivedAt: Date.now() };
    const payload = encodeEnvelope(
      {
        ...header,
        key: { base: String(n), first: 0 },
        parts: both.map(({ part }) => part),
        deferred: [],
        outcomes: [],
      },
      both.map(({ row }) => row),
    );
    await publisher.publish(subject, `stray:${n}`, payload, envelopeVersion);
  };
  await publish('metrics-b.0', 1);
  await waitForPoints('default', here, 1);
  await waitForPoints('b', there, 1);
  await second.kill();
  await publish('metrics.0', 2);
  await pushUntilTaken(here, 3, 1);
  await waitForPoints('default', here, 3);
  await untilOneWaits();
  await second.start();
  await waitForPoints('b', there, 2);
  await stack.waitForEmptyStream('METRICS', boundMs);
  await stack.waitForEmptyStream('METRICS-b', boundMs);
  publisher.close();
  expect(await countsOf('default', here)).toEqual([3, 3]);
});

it('a table without an instance in its records is on the first one', async () => {
  const report = await stack.createReport('from before', { questdb: 'default' });
  const { mon_data_id: dataId } = report.data_source;
  await records.delete(recordKeys.placement(dataId));
  await pushUntilTaken(report, 0, 10);
  await waitForPoints('default', report, 10);
  expect(await placements(`?mon_data_id=${dataId}`)).toEqual([
    { mon_data_id: dataId, table_id: report.result_table.table_id, questdb: 'default' },
  ]);
});

// Taken for a table of the first instance, it would be made there once more, empty, and its purge would leave its rows.
it('a table whose placement is lost gets no second one on the first instance, and its purge leaves none on any', async () => {
  const report = await stack.createReport('forgotten', { questdb: 'b' });
  const { table_id: table } = report.result_table;
  await pushUntilTaken(report, 0, 10);
  await waitForPoints('b', report, 10);
  await records.delete(recordKeys.placement(report.data_source.mon_data_id));
  await until(
    'metadata names the instance that has the table',
    () =>
      stack.metadata.lines.some((line) =>
        line.includes(`${table} has no placement in the records and is on QuestDB instance b`),
      ),
    boundMs,
  );
  expect(await tablesOn('default')).not.toContain(table);
  await pushUntilTaken(report, 10, 1);
  const { custom_report_id: id } = report.custom_report;
  const purged = await stack.api('POST', `/api/v1/custom-reports/${id}/purge`, { table_id: table });
  expect(purged.status).toBeLessThan(300);
  await until(
    'the table is gone',
    async () => !(await tablesOn('b')).includes(table) && !(await tablesOn('default')).includes(table),
    boundMs,
  );
  await stack.waitForEmptyStream('METRICS', boundMs);
});

// What an operator reads must not depend on the setting of the process that is asked.
it('a metadata whose setting lacks an instance shows its stream in top and in its metrics', async () => {
  await stack.createReport('shown', { questdb: 'b' });
  const one = await startMetadataRole(stack.engines, 'without b', {
    TIDEMARK_PIPELINES: stack.env['TIDEMARK_PIPELINES'],
    TIDEMARK_CLICKHOUSE_URL: stack.env['TIDEMARK_CLICKHOUSE_URL'],
  });
  try {
    const cli = createCli(() => ({ ...one.env, TIDEMARK_ADMIN_TOKEN: stack.adminToken() }));
    await until('top has the stream', async () => {
      const { stdout, stderr } = await cli.run('top --once');
      if (/METRICS-b/.test(stdout)) return true;
      throw new Error(`${stdout}${stderr}`);
    });
    const metrics = `http://127.0.0.1:${one.env['TIDEMARK_METADATA_OPS_PORT']}/metrics`;
    expect(await (await fetch(metrics)).text()).toMatch(
      /^tidemark_stream_messages\{stream="METRICS-b",role="metadata"\} \d+$/m,
    );
    expect(
      (await readyzOf({ ports: { ops: Number(one.env['TIDEMARK_METADATA_OPS_PORT']) } })).degraded,
    ).toMatchObject({
      placements: expect.stringMatching(/TIDEMARK_QUESTDB_URLS lacks \(b\)/),
    });
  } finally {
    await one.role.stop();
  }
});

it('rows of an instance that no setting names wait, readiness reports it, and everything else continues', async () => {
  const [lost, other] = [
    await stack.createReport('lost', { questdb: 'default' }),
    await stack.createReport('other', { questdb: 'default' }),
  ];
  const key = recordKeys.placement(lost.data_source.mon_data_id);
  const placed = await records.get(key);
  await records.put(key, { ...Object(placed?.value), questdb: 'zzz' });
  const [transfer] = stack.transfer;
  await until('readiness names it', async () =>
    (await missedBy(transfer))['questdb_placements']?.includes('1 tables lie on zzz'),
  );
  await until('the log names it', () => transfer?.lines.some((line) => line.includes('1 tables lie on zzz')));
  const { part, row } = partOf(lost, 1);
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 1_000 });
  const header = { version: envelopeVersion, kind: 'metrics' as const, arrivedAt: Date.now() };
  const message = { ...header, key: { base: '1', first: 0 }, parts: [part], deferred: [], outcomes: [] };
  await publisher.publish('metrics.0', 'lost:1', encodeEnvelope(message, [row]), envelopeVersion);
  publisher.close();
  // There is no stream for it: the producer keeps points that no one could store.
  const sentAt = performance.now();
  const refused = await push(lost, 2, 1);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  // At once: a publish that waits for a stream waits for ten seconds.
  expect(performance.now() - sentAt).toBeLessThan(8_000);
  await pushUntilTaken(other, 0, 10);
  await waitForPoints('default', other, 10);
  expect(await countsOf('default', lost)).toEqual([0, 0]);
  await untilOneWaits();

  await records.put(key, placed?.value);
  await waitForPoints('default', lost, 1);
  await stack.waitForEmptyStream('METRICS', boundMs);
  await transfer?.ready();
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../src/bus/publisher.ts';
import { blockStatements } from '../../src/stores/clickhouse/block-statements.ts';
import { dataPointTables, logsTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createQuestdbWriter, readRefusal } from '../../src/stores/questdb/writer.ts';
import { type BlocksHeader, encodeBlocksEnvelope } from '../../src/wire/blocks-envelope.ts';
import { readBlock } from '../../src/wire/native/block-reader.ts';
import { type DataPointRow, dataPointParts, dataPointsMessage } from '../support/otlp/data-point-blocks.ts';
import { type LogRow, logBlocks, logsMessage } from '../support/otlp/log-blocks.ts';
import { readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { type Application, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let bus: Bus;
let publisher: Publisher;
let nextTrace = 1;

const run = async (body: string | Buffer, query = ''): Promise<void> => {
  const url = `${stack.engines.clickhouse.url}/?query=${encodeURIComponent(query)}`;
  const response = await fetchEngine(url, { method: 'POST', body });
  expect(response.ok, await response.text()).toBe(true);
};

beforeAll(async () => {
  stack = await startStack({ traces: true });
  bus = await connectBus(stack.engines.nats.url, 'test');
  publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
  // A rule that only the database has: the limits of a row can change with its version.
  await run("ALTER TABLE otel.otel_traces ADD CONSTRAINT no_poison CHECK SpanName != 'poison'");
  await run("ALTER TABLE otel.otel_logs ADD CONSTRAINT no_poison CHECK Body != 'poison'");
  await run("ALTER TABLE otel.otel_metrics_histogram ADD CONSTRAINT no_poison CHECK MetricName != 'poison'");
});
afterAll(async () => {
  publisher.close();
  await bus.close();
  await stack.stop();
});

/** Sends a request of spans of these names over OTLP. */
const send = async (application: Application, names: readonly string[]): Promise<string> => {
  const traceId = String(nextTrace++).padStart(32, 'a');
  const time = `${Date.now()}000000`;
  const spans = names.map((name, index) => ({
    traceId,
    spanId: String(index + 1).padStart(16, '0'),
    name,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect(response.status).toBe(200);
  return traceId;
};

const storedNames = async (traceId: string): Promise<unknown[]> =>
  (
    await stack.spansQuery(`SELECT SpanName FROM otel.otel_traces WHERE TraceId = '${traceId}' ORDER BY uid`)
  ).map((row) => row['SpanName']);

const many = (count: number, poisoned: readonly number[]): string[] =>
  Array.from({ length: count }, (_, index) => (poisoned.includes(index) ? 'poison' : `span ${index}`));

describe('poison among spans', () => {
  it('is dead-lettered span by span, each as a block of its own with its uid; every other span of the request is stored once', async () => {
    const application = await stack.createApplication('poisoned');
    const names = many(200, [0, 77, 199]);
    const [traceId, beside] = await Promise.all([send(application, names), send(application, many(50, []))]);
    await stack.waitForEmptyStream('TRACES');
    expect(await storedNames(traceId)).toEqual(names.filter((name) => name !== 'poison'));
    expect(await storedNames(beside)).toHaveLength(50);
    const letters = (await readDeadLetters(bus)).filter(
      ({ header }) => header['appId'] === application.app_id,
    );
    expect(letters.map(({ header }) => header['reason'])).toEqual(Array(3).fill('span_refused'));
    const [first, ...rest] = letters.map(({ bytes }) => readBlock(bytes));
    expect(rest).toHaveLength(2);
    expect([first, ...rest].map((block) => [block?.rows, block?.texts('SpanName')[0]])).toEqual(
      Array(3).fill([1, 'poison']),
    );
    const uids = letters.map(({ bytes }) => readBlock(bytes).words('uid')[0]);
    const base = uids[0] ?? 0n;
    expect(uids.map((uid) => (uid ?? 0n) - base)).toEqual([0n, 77n, 199n]);
    expect(letters.map(({ messageId }) => messageId)).toEqual(
      [0, 77, 199].map((ordinal) => `dl:${base}:${ordinal}:0`),
    );
    expect(letters[1]?.header).toMatchObject({
      uid: String(base + 77n),
      part: { rows: 1, first: 77, last: 77, appId: application.app_id },
      redrive: 0,
    });
    expect(String(letters[1]?.header['error'])).toContain('469');
  });

  it('that is not a block is dead-lettered whole with its bytes; the other messages are stored', async () => {
    const application = await stack.createApplication('garbage');
    const garbage = Buffer.from(
      'no block, and its lengths promise gigabytes \xff\xff\xff\xff\xff\xff',
      'latin1',
    );
    const header: BlocksHeader = {
      version: 1,
      kind: 'spans',
      arrivedAt: Date.now(),
      parts: [
        {
          appId: application.app_id,
          bizId: 2,
          day: Math.floor(Date.now() / 86_400_000),
          rows: 3,
          base: '5000',
          first: 0,
          last: 2,
          timeMin: `${Date.now()}000000`,
          timeMax: `${Date.now()}000000`,
          bytes: garbage.length,
        },
      ],
      deferred: [],
      outcomes: [],
    };
    await publisher.publish('traces.0', 'garbage-1', encodeBlocksEnvelope(header, [garbage]), 1);
    const beside = await send(application, many(20, []));
    await stack.waitForEmptyStream('TRACES');
    expect(await storedNames(beside)).toHaveLength(20);
    const letters = (await readDeadLetters(bus)).filter(
      ({ header: each }) => each['reason'] === 'block_refused',
    );
    expect(letters.map(({ bytes }) => bytes)).toEqual([garbage]);
    expect(letters[0]?.header).toMatchObject({ appId: application.app_id, part: { rows: 3, base: '5000' } });
  });
});

describe('log records in LOGS', () => {
  const day = Math.floor(Date.now() / 86_400_000);
  /** Of one day at any time. */
  const rowsOf = (count: number, poisoned: readonly number[] = []): LogRow[] =>
    many(count, poisoned).map((body, index) => ({
      at: day * 86_400_000 + index,
      service: `s${index % 3}`,
      body,
    }));
  const publish = async (
    id: string,
    rows: readonly LogRow[],
    base: bigint,
    appId: number,
    mayOverlap = false,
  ) => {
    const payload = logsMessage(rows, { base, appId, arrivedAt: Date.now(), mayOverlap });
    await publisher.publish('logs.0', id, payload, 1);
    return payload;
  };
  const bodiesOf = async (appId: number): Promise<unknown[]> =>
    (await stack.spansQuery(`SELECT Body FROM otel.otel_logs WHERE AppId = ${appId} ORDER BY uid`)).map(
      (row) => row['Body'],
    );
  const balanceOf = async (appId: number): Promise<Record<string, number>> => {
    await stack.waitForEmptyStream('LEDGER');
    const rows = await stack.spansQuery(
      `SELECT kind, sum(count) AS items FROM otel.ingest_outcomes FINAL ARRAY JOIN mapKeys(outcomes) AS kind, mapValues(outcomes) AS count
        WHERE app_id = ${appId} AND pipeline = 'logs' GROUP BY kind HAVING items != 0 ORDER BY kind`,
    );
    return Object.fromEntries(rows.map((row) => [String(row['kind']), Number(row['items'])]));
  };

  it('are stored once with their seconds, however often their message comes', async () => {
    const { app_id: appId } = await stack.createApplication('logs-once');
    const rows = rowsOf(100);
    const base = 2n ** 61n;
    for (const id of ['once-1', 'once-2', 'once-3']) await publish(id, rows, base, appId);
    await stack.waitForEmptyStream('LOGS');
    expect(await bodiesOf(appId)).toEqual(rows.map(({ body }) => body));
    expect(await balanceOf(appId)).toEqual({ stored: 100 });
    const [odd] = await stack.spansQuery(
      `SELECT countIf(TimestampTime != toDateTime(Timestamp)) AS odd FROM otel.otel_logs WHERE AppId = ${appId}`,
    );
    expect(Number(odd?.['odd'])).toBe(0);
  });

  // A day of log records, not of spans: otherwise a plain count would stay wrong.
  it('that two attempts stored both are merged into one, by the day that is owed for their table', async () => {
    const { app_id: appId } = await stack.createApplication('logs-overlap');
    const rows = rowsOf(50);
    const base = 2n ** 61n + 1_000_000n;
    const columns = blockStatements(logsTable).plainInsert;
    // Merges by the server itself would make one row of both at any time; OPTIMIZE is not bound by it.
    await run('ALTER TABLE otel.otel_logs MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1');
    const [block = Buffer.alloc(0)] = logBlocks(rows, { base, appId, arrivedAt: Date.now() });
    for (let attempt = 0; attempt < 2; attempt++) await run(Buffer.from(block), columns);
    expect(await bodiesOf(appId)).toHaveLength(100);
    await publish('overlap-1', rows, base, appId, true);
    await stack.waitForEmptyStream('LOGS');
    await waitFor('the day is merged', 60_000, async () => {
      const metrics = (await stack.transfer[0]?.metrics()) ?? '';
      return /optimised_partitions_total\{pipeline="logs"[^}]*\} [1-9]/.test(metrics);
    });
    expect(await bodiesOf(appId)).toHaveLength(50);
    await run('ALTER TABLE otel.otel_logs RESET SETTING max_bytes_to_merge_at_max_space_in_pool');
  });

  it('are dead-lettered one by one where the store refuses them, and stored once by the redrive', async () => {
    const { app_id: appId } = await stack.createApplication('logs-poisoned');
    const rows = rowsOf(40, [0, 17]);
    const base = 2n ** 61n + 2_000_000n;
    await publish('poison-1', rows, base, appId);
    await stack.waitForEmptyStream('LOGS');
    const others = rows.flatMap(({ body }) => (body === 'poison' ? [] : [body]));
    expect(await bodiesOf(appId)).toEqual(others);
    expect(await balanceOf(appId)).toEqual({ dead_lettered: 2, stored: 38 });
    const letters = (await readDeadLetters(bus)).filter(({ header }) => header['appId'] === appId);
    expect(letters.map(({ header, messageId }) => [header['reason'], header['stream'], messageId])).toEqual(
      [0, 17].map((ordinal) => ['record_refused', 'LOGS', `dl:${base}:${ordinal}:0`]),
    );
    await run('ALTER TABLE otel.otel_logs DROP CONSTRAINT no_poison');
    const found = await stack.api('GET', `/api/v1/dead-letters?pipeline=logs&app_id=${appId}`);
    const { items } = z.object({ items: z.array(z.object({ sequence: z.number() })) }).parse(found.body);
    expect(items).toHaveLength(2);
    for (const { sequence } of items) await stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {});
    await stack.waitForEmptyStream('LOGS');
    expect(await bodiesOf(appId)).toEqual(rows.map(({ body }) => body));
    expect(await balanceOf(appId)).toEqual({ stored: 40 });
  });
});

describe('data points in OTEL_METRICS', () => {
  const day = Math.floor(Date.now() / 86_400_000);
  /** Of all five tables in turn, on one day at any time. */
  const rowsOf = (count: number, poisoned: readonly number[] = []): DataPointRow[] =>
    many(count, poisoned).map((metric, index) => ({
      table: (dataPointTables[index % 5] ?? dataPointTables[0]).name,
      at: day * 86_400_000 + index,
      service: `s${index % 3}`,
      metric,
    }));
  const publish = (
    id: string,
    rows: readonly DataPointRow[],
    message: Parameters<typeof dataPointsMessage>[1],
  ) => publisher.publish('otelmetrics.0', id, dataPointsMessage(rows, message), 1);
  /** Of every table, in the order of the request. */
  const metricsOf = async (appId: number): Promise<unknown[]> => {
    const tables = dataPointTables.map(
      ({ name }) => `SELECT MetricName, uid, '${name}' AS place FROM otel.${name} WHERE AppId = ${appId}`,
    );
    const rows = await stack.spansQuery(`SELECT * FROM (${tables.join(' UNION ALL ')}) ORDER BY uid`);
    return rows.map((row) => `${String(row['place'])} ${String(row['MetricName'])}`);
  };
  const placesOf = (rows: readonly DataPointRow[]) => rows.map(({ table, metric }) => `${table} ${metric}`);
  const balanceOf = async (appId: number): Promise<Record<string, number>> => {
    await stack.waitForEmptyStream('LEDGER');
    const rows = await stack.spansQuery(
      `SELECT kind, sum(count) AS items FROM otel.ingest_outcomes FINAL ARRAY JOIN mapKeys(outcomes) AS kind, mapValues(outcomes) AS count
        WHERE app_id = ${appId} AND pipeline = 'otel_metrics' GROUP BY kind HAVING items != 0 ORDER BY kind`,
    );
    return Object.fromEntries(rows.map((row) => [String(row['kind']), Number(row['items'])]));
  };

  it('are stored once in the tables of their kinds, however often their message comes', async () => {
    const { app_id: appId } = await stack.createApplication('points-once');
    const rows = rowsOf(100);
    const message = { base: 2n ** 61n + 3_000_000n, appId, arrivedAt: Date.now() };
    for (const id of ['points-1', 'points-2', 'points-3']) await publish(id, rows, message);
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect(await metricsOf(appId)).toEqual(placesOf(rows));
    expect(await balanceOf(appId)).toEqual({ stored: 100 });
  });

  it('that two attempts stored both are merged into one, by the day that is owed for their table', async () => {
    const { app_id: appId } = await stack.createApplication('points-overlap');
    const rows = rowsOf(50);
    const message = { base: 2n ** 61n + 4_000_000n, appId, arrivedAt: Date.now(), mayOverlap: true };
    const [, sums] = dataPointTables;
    // Merges by the server itself would make one row of both at any time; OPTIMIZE is not bound by it.
    await run(`ALTER TABLE otel.${sums.name} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`);
    const doubled = dataPointParts(rows, message).filter(({ part }) => part.itemTable === sums.name);
    for (const { block } of [...doubled, ...doubled])
      await run(Buffer.from(block), blockStatements(sums).plainInsert);
    expect(await metricsOf(appId)).toHaveLength(20);
    await publish('points-overlap', rows, message);
    await stack.waitForEmptyStream('OTEL_METRICS');
    await waitFor('the day is merged', 60_000, async () => {
      const metrics = (await stack.transfer[0]?.metrics()) ?? '';
      return /optimised_partitions_total\{pipeline="otel_metrics"[^}]*\} [1-9]/.test(metrics);
    });
    expect(await metricsOf(appId)).toEqual(placesOf(rows));
    await run(`ALTER TABLE otel.${sums.name} RESET SETTING max_bytes_to_merge_at_max_space_in_pool`);
  });

  it('are dead-lettered one by one where their table refuses them, and stored once in it by the redrive', async () => {
    const { app_id: appId } = await stack.createApplication('points-poisoned');
    // Histograms.
    const rows = rowsOf(40, [2, 17]);
    await publish('points-poison', rows, { base: 2n ** 61n + 5_000_000n, appId, arrivedAt: Date.now() });
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect(await metricsOf(appId)).toEqual(placesOf(rows.filter(({ metric }) => metric !== 'poison')));
    expect(await balanceOf(appId)).toEqual({ dead_lettered: 2, stored: 38 });
    const letters = (await readDeadLetters(bus)).filter(({ header }) => header['appId'] === appId);
    expect(letters.map(({ header }) => [header['reason'], header['stream'], header['part']])).toEqual(
      [2, 17].map((ordinal) => [
        'data_point_refused',
        'OTEL_METRICS',
        expect.objectContaining({ itemTable: 'otel_metrics_histogram', rows: 1, first: ordinal }),
      ]),
    );
    await run('ALTER TABLE otel.otel_metrics_histogram DROP CONSTRAINT no_poison');
    const found = await stack.api('GET', `/api/v1/dead-letters?pipeline=otel_metrics&app_id=${appId}`);
    const { items } = z.object({ items: z.array(z.object({ sequence: z.number() })) }).parse(found.body);
    expect(items).toHaveLength(2);
    for (const { sequence } of items) await stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {});
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect(await metricsOf(appId)).toEqual(placesOf(rows));
    expect(await balanceOf(appId)).toEqual({ stored: 40 });
  });
});

// QuestDB refuses by what a connection saw of the columns when it first wrote: good points would go on to the dead letters.
it('a column that was created with a wrong type and repaired costs the points of that time, and none after it', async () => {
  const report = await stack.createReport('mended');
  const table = report.result_table.table_id;
  let time = Date.now() - 600_000;
  const push = async (metric: string, points: number): Promise<void> => {
    const data = Array.from({ length: points }, () => ({ metrics: { [metric]: 1 }, timestamp: time++ }));
    const { mon_data_id: data_id, token: access_token } = report.data_source;
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({ data_id, access_token, data }),
    });
    expect(response.status).toBe(200);
    await stack.waitForEmptyStream('METRICS');
  };
  const refusedHere = async (): Promise<number> =>
    (await readDeadLetters(bus)).filter(({ header }) => header['table'] === table).length;
  await push('m1', 2);
  await stack.query(`ALTER TABLE "${table}" ADD COLUMN m2 BOOLEAN`);
  await push('m2', 3);
  expect(await refusedHere()).toBe(3);
  await stack.query(`ALTER TABLE "${table}" DROP COLUMN m2`);
  for (let pushes = 0; pushes < 4; pushes++) await push('m2', 2);
  expect(await refusedHere()).toBe(3);
  await stack.waitForRows(table, 10);
  const { status } = await stack.api('POST', '/api/v1/dead-letters/redrive', { table });
  expect(status).toBe(200);
  await stack.waitForRows(table, 13);
});

// The texts are QuestDB's own and change between versions: after a wrong reading, a good row is dead-lettered or a bad
// one stops the line.
describe('the answer of the pinned QuestDB', () => {
  const table = 'texts';
  let writer: ReturnType<typeof createQuestdbWriter>;

  beforeAll(async () => {
    await stack.query(
      `CREATE TABLE ${table} (timestamp TIMESTAMP, uid LONG, target SYMBOL, num DOUBLE) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`,
    );
    writer = createQuestdbWriter({ url: stack.engines.questdb.url, timeoutMs: 10_000 });
  });
  afterAll(() => writer.close());

  const write = (rows: string) => writer.write([Buffer.from(rows)]);
  const good = `${table},target=a num=1,uid=1i 1700000000000\n`;

  it('to a missing table names the table', async () => {
    expect(await write(`${good}nowhere,target=a num=1,uid=1i 1700000000000\n`)).toEqual({
      kind: 'table_missing',
      table: 'nowhere',
    });
  });

  it.each([
    ['text for a number', `${table},target=a num="x",uid=2i 1700000000000\n`],
    ['a time before 1970', `${table},target=a num=1,uid=2i -5\n`],
    ['a malformed line', `${table},target=a num=1,uid=2i notatime\n`],
    ['a number that no double holds', `${table},target=a num=1e400,uid=2i 1700000000000\n`],
    ['a name with a character that is not allowed', `${table},target=a nu?m=1,uid=2i 1700000000000\n`],
  ])('to %s names its line, so that it is that row which is refused', async (_, bad) => {
    expect(await write(`${good}${bad}${good}`)).toMatchObject({ kind: 'row_refused', line: 2 });
    expect(await write(good)).toEqual({ kind: 'stored' });
  });

  it('is the expected one, word for word, for a missing table', () => {
    const text = JSON.stringify({
      message: 'table: t; table does not exist, creating new tables is disabled',
      line: 1,
    });
    expect(readRefusal(text)).toEqual({ kind: 'table_missing', table: 't' });
  });
});

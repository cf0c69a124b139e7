import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { blockStatements } from '../../src/stores/clickhouse/block-statements.ts';
import { type BlockWriter, createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { dataPointTables, logsTable, spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { type DataPointRow, dataPointParts } from '../support/otlp/data-point-blocks.ts';
import { type LogRow, logBlocks } from '../support/otlp/log-blocks.ts';
import { boundsOf, nativeOf, type SpanRows, spanSelect, tracesOf } from '../support/otlp/span-rows.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';

const day = 20_412; // 2025-11-20
const dayNs = 86_400_000_000_000n;
const noon = BigInt(day) * dayNs + dayNs / 2n;
const batch: SpanRows = { first: 2n ** 62n + 12_346n, count: 2_000, startNs: noon, stepNs: 1_500_000n };

let engines: TestEngines;
let url: string;
let clickhouse: Clickhouse;
let writer: BlockWriter;
let attempts = 0;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  url = engines.clickhouse.url;
  clickhouse = createClickhouse({ url });
  writer = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await clickhouse.run('TRUNCATE TABLE otel.otel_traces');
  await clickhouse.run('TRUNCATE TABLE otel.otel_traces_trace_id_ts');
});

const queryId = (): string => `tm-TRACES-1-9-1-${++attempts}`;
const blocksOf = async (rows: SpanRows, rowsPerBlock?: number): Promise<Uint8Array[]> => [
  await nativeOf(url, spanSelect(rows), rowsPerBlock),
];
const plain = async (rows: SpanRows): Promise<void> =>
  writer.insertPlain({ queryId: queryId(), blocks: await blocksOf(rows) });
const guarded = async (rows: SpanRows): Promise<boolean> =>
  writer.insertGuarded({ queryId: queryId(), blocks: await blocksOf(rows), ...boundsOf(rows) });

const counts = async (table = 'otel.otel_traces'): Promise<[rows: number, uids: number]> => {
  const [row] = await clickhouse.rows(
    z.object({ rows: z.coerce.number(), uids: z.coerce.number() }),
    `SELECT count() AS rows, uniqExact(uid) AS uids FROM ${table}`,
  );
  return [row?.rows ?? Number.NaN, row?.uids ?? Number.NaN];
};

/** Every row as text, to compare what is stored with what was sent. */
const textOf = async (query: string): Promise<string> =>
  (
    await fetchEngine(url, { method: 'POST', body: `${query} ORDER BY uid FORMAT JSONCompactEachRow` })
  ).text();

const partition = async (): Promise<{ parts: number; partitions: number }> => {
  const [row] = await clickhouse.rows(
    z.object({ parts: z.coerce.number(), partitions: z.coerce.number() }),
    `SELECT count() AS parts, uniqExact(partition) AS partitions FROM system.parts
      WHERE active AND database = 'otel' AND table = 'otel_traces'`,
  );
  return row ?? { parts: 0, partitions: 0 };
};

describe('a plain insert', () => {
  it('stores every value of every row, as one part however many blocks it has', async () => {
    await writer.insertPlain({ queryId: queryId(), blocks: await blocksOf(batch, 40) });
    expect(await partition()).toEqual({ parts: 1, partitions: 1 });
    expect(await textOf('SELECT * FROM otel.otel_traces')).toBe(
      await textOf(`SELECT * FROM (${spanSelect(batch)})`),
    );
  });

  // A server that takes equal blocks for repeats loses legal rows; the rows' uid alone decides.
  it.each([
    ['two inserts', 2],
    ['one insert', 1],
  ])(
    'stores equal bytes of %s twice, which are one to FINAL and after the day is optimised',
    async (_, inserts) => {
      const [block = new Uint8Array()] = await blocksOf(batch);
      await clickhouse.run('SYSTEM STOP MERGES otel.otel_traces');
      try {
        const blocks = inserts === 2 ? [block] : [block, block];
        for (let n = 0; n < inserts; n++) await writer.insertPlain({ queryId: queryId(), blocks });
        expect(await counts()).toEqual([2 * batch.count, batch.count]);
        expect(await counts('otel.otel_traces FINAL')).toEqual([batch.count, batch.count]);
        expect(await writer.countRepeats(boundsOf(batch))).toBe(batch.count);
      } finally {
        await clickhouse.run('SYSTEM START MERGES otel.otel_traces');
      }
      await writer.optimizeDay(day);
      expect(await counts()).toEqual([batch.count, batch.count]);
      expect(await writer.countRepeats(boundsOf(batch))).toBe(0);
    },
  );

  it('is merged once by any number of calls, and a day without rows by none', async () => {
    await plain(batch);
    await plain({ ...batch, first: batch.first + 1_000_000n });
    await writer.optimizeDay(day);
    const names = () => textOf("SELECT name AS uid FROM system.parts WHERE active AND table = 'otel_traces'");
    const merged = await names();
    await writer.optimizeDay(day);
    expect(await names()).toBe(merged);
    await writer.optimizeDay(day - 400);
  });

  it('takes text and maps declared with and without LowCardinality, also side by side', async () => {
    const types = 'SELECT * FROM otel.otel_traces';
    await plain(batch);
    const dictionaries = await nativeOf(url, types);
    await clickhouse.run('TRUNCATE TABLE otel.otel_traces');
    const other = { ...batch, first: 1n };
    await writer.insertPlain({ queryId: queryId(), blocks: [dictionaries, ...(await blocksOf(other))] });
    expect(await counts()).toEqual([2 * batch.count, 2 * batch.count]);
  });
});

describe('the indexes', () => {
  const indexBytes = async (): Promise<Record<string, number>> => {
    const rows = await clickhouse.rows(
      z.object({ name: z.string(), bytes: z.coerce.number() }),
      `SELECT name, data_compressed_bytes AS bytes FROM system.data_skipping_indices
        WHERE database = 'otel' AND table = 'otel_traces'`,
    );
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
  };
  const skipped = (): Promise<string> =>
    textOfPlan(`SELECT uid FROM otel.otel_traces WHERE TraceId = '${'f'.repeat(32)}'`);
  const textOfPlan = async (query: string): Promise<string> =>
    (await fetchEngine(url, { method: 'POST', body: `EXPLAIN indexes = 1 ${query}` })).text();

  // The guard looks for uids in fresh parts; bloom filters serve queries, and cost a third of an insert.
  it('of numbers exist with the insert, bloom filters once its part is merged, and are used then', async () => {
    await plain(batch);
    const fresh = await indexBytes();
    expect(fresh['idx_uid']).toBeGreaterThan(0);
    expect(fresh['idx_duration']).toBeGreaterThan(0);
    for (const name of ['idx_trace_id', 'idx_res_attr_key', 'idx_span_attr_value'])
      expect(fresh[name]).toBe(0);
    await plain({ ...batch, first: batch.first + 1_000_000n });
    await writer.optimizeDay(day);
    const merged = await indexBytes();
    expect(Object.values(merged).every((bytes) => bytes > 0)).toBe(true);
    expect(Object.keys(merged)).toHaveLength(7);
    expect(await skipped()).toMatch(/idx_trace_id[\s\S]*Granules: 0\//);
  });
});

describe('the table of log records', () => {
  const rows = (count: number): LogRow[] =>
    Array.from({ length: count }, (_, index) => ({
      at: (day * 86_400 + 43_200) * 1000 + 700 * index,
      service: `s${index % 3}`,
      body: `line ${index}`,
    }));
  const message = { base: 2n ** 61n, appId: 7, arrivedAt: (day + 1) * 86_400_000 };
  const bounds = {
    uidRanges: [[message.base, message.base + 99n]] as const,
    timeMin: BigInt(rows(1)[0]?.at ?? 0) * 1_000_000n,
    timeMax: BigInt(rows(100).at(-1)?.at ?? 0) * 1_000_000n,
    names: [['s0'], ['s1'], ['s2']],
  };
  let logs: BlockWriter;
  beforeAll(() => {
    logs = createBlockWriter(clickhouse, logsTable, { insertMsMax: 20_000 });
  });

  it('takes each row once by the guard, which reads only the rows of its services and seconds', async () => {
    await logs.insertPlain({ queryId: queryId(), blocks: logBlocks(rows(60), message) });
    const guardedLogs = () =>
      logs.insertGuarded({ queryId: queryId(), blocks: logBlocks(rows(100), message), ...bounds });
    expect([await guardedLogs(), await guardedLogs()]).toEqual([true, false]);
    expect(await counts('otel.otel_logs')).toEqual([100, 100]);
    expect(await logs.countRepeats(bounds)).toBe(0);
    const plan = blockStatements(logsTable).repeatsQuery(bounds);
    const text = await (
      await fetchEngine(url, { method: 'POST', body: `EXPLAIN indexes = 1 ${plan}` })
    ).text();
    expect(text).toMatch(/PrimaryKey[\s\S]*ServiceName[\s\S]*TimestampTime/);
  });

  it('is merged by day, and has its bloom filters from then on', async () => {
    await logs.insertPlain({ queryId: queryId(), blocks: logBlocks(rows(100), message) });
    const bytes = async (): Promise<[string, number][]> =>
      (
        await clickhouse.rows(
          z.object({ name: z.string(), bytes: z.coerce.number() }),
          `SELECT name, data_compressed_bytes AS bytes FROM system.data_skipping_indices
            WHERE database = 'otel' AND table = 'otel_logs' ORDER BY name`,
        )
      ).map(({ name, bytes: size }) => [name, size]);
    const named = logsTable.bloomFilters.split(', ');
    expect((await bytes()).flatMap(([name]) => (name === 'idx_uid' ? [] : [name]))).toEqual(named.toSorted());
    await logs.optimizeDay(day);
    expect(await counts('otel.otel_logs')).toEqual([100, 100]);
    const merged = await bytes();
    expect(merged.filter(([, size]) => size === 0)).toEqual([]);
  });
});

describe.each(dataPointTables)('the table $name', (table) => {
  const rows = (count: number): DataPointRow[] =>
    Array.from({ length: count }, (_, index) => ({
      table: table.name,
      at: (day * 86_400 + 43_200) * 1000 + 700 * index,
      service: `s${index % 2}`,
      metric: `m${index % 3}`,
    }));
  const message = { base: 2n ** 61n, appId: 7, arrivedAt: (day + 1) * 86_400_000 };
  const blocksFor = (count: number) => dataPointParts(rows(count), message).map(({ block }) => block);
  const bounds = {
    uidRanges: [[message.base, message.base + 99n]] as const,
    timeMin: BigInt(rows(1)[0]?.at ?? 0) * 1_000_000n,
    timeMax: BigInt(rows(100).at(-1)?.at ?? 0) * 1_000_000n,
    names: ['m0', 'm1', 'm2'].flatMap((metric) => [
      [metric, 's0'],
      [metric, 's1'],
    ]),
  };

  it('takes each data point once by the guard, which reads only the rows of its metrics, services, hours and uids', async () => {
    const points = createBlockWriter(clickhouse, table, { insertMsMax: 20_000 });
    await points.insertPlain({ queryId: queryId(), blocks: blocksFor(60) });
    const guardedPoints = () =>
      points.insertGuarded({ queryId: queryId(), blocks: blocksFor(100), ...bounds });
    expect([await guardedPoints(), await guardedPoints()]).toEqual([true, false]);
    expect(await counts(`otel.${table.name}`)).toEqual([100, 100]);
    expect(await points.countRepeats(bounds)).toBe(0);
    const plan = blockStatements(table).repeatsQuery(bounds);
    const text = await (
      await fetchEngine(url, { method: 'POST', body: `EXPLAIN indexes = 1 ${plan}` })
    ).text();
    expect(text).toMatch(/PrimaryKey[\s\S]*MetricName[\s\S]*ServiceName[\s\S]*toStartOfHour\(TimeUnix\)/);
    expect(text).toMatch(/Name: idx_uid/);
    await points.optimizeDay(day);
    expect(await counts(`otel.${table.name}`)).toEqual([100, 100]);
    const indexes = await clickhouse.rows(
      z.object({ name: z.string(), bytes: z.coerce.number() }),
      `SELECT name, data_compressed_bytes AS bytes FROM system.data_skipping_indices
        WHERE database = 'otel' AND table = '${table.name}'`,
    );
    expect(indexes.filter(({ bytes }) => bytes === 0)).toEqual([]);
    const named = indexes.map(({ name }) => name);
    expect(named).toEqual(expect.arrayContaining(table.bloomFilters.split(', ')));
  });
});

describe('a guarded insert', () => {
  it('adds no row of a stored batch', async () => {
    await plain(batch);
    expect(await guarded(batch)).toBe(false);
    expect(await counts()).toEqual([batch.count, batch.count]);
  });

  it('adds every row of a batch that is not stored', async () => {
    await plain({ ...batch, first: 1n });
    expect(await guarded(batch)).toBe(true);
    expect(await counts()).toEqual([2 * batch.count, 2 * batch.count]);
    expect(await textOf(`SELECT * FROM otel.otel_traces WHERE uid >= ${batch.first}`)).toBe(
      await textOf(`SELECT * FROM (${spanSelect(batch)})`),
    );
  });

  // What is left of an insert in which ClickHouse was killed is any part of it.
  it.each([
    ['odd ones', 'uid % 2 = 1'],
    ['first half', `uid < ${batch.first + 1_000n}`],
    ['one service', "ServiceName = 'it\\'s \\\\a\\\\ \"name\"'"],
  ])('adds exactly the missing rows when the %s are stored', async (_, there) => {
    const blocks = [await nativeOf(url, `SELECT * FROM (${spanSelect(batch)}) WHERE ${there}`)];
    await writer.insertPlain({ queryId: queryId(), blocks });
    expect((await counts())[0]).toBeLessThan(batch.count);
    expect((await counts())[0]).toBeGreaterThan(0);
    expect(await guarded(batch)).toBe(true);
    expect(await counts()).toEqual([batch.count, batch.count]);
    expect(await guarded(batch)).toBe(false);
  });

  it('sees the rows of each day when a message is split by day', async () => {
    const days = [-1n, 0n, 1n].map((offset, index) => ({
      ...batch,
      first: BigInt(1 + index * batch.count),
      startNs: noon + offset * dayNs,
    }));
    const half = days.map((rows) => ({ ...rows, count: rows.count / 2 }));
    for (const rows of half) await plain(rows);
    for (const rows of days) expect(await guarded(rows)).toBe(true);
    for (const rows of days) expect(await guarded(rows)).toBe(false);
    expect(await counts()).toEqual([3 * batch.count, 3 * batch.count]);
    expect((await partition()).partitions).toBe(3);
  });

  it('finds rows by time and uid alone when their names are not known', async () => {
    await plain({ ...batch, count: 700 });
    const blocks = await blocksOf(batch);
    expect(await writer.insertGuarded({ queryId: queryId(), blocks, ...boundsOf(batch), names: [] })).toBe(
      true,
    );
    expect(await counts()).toEqual([batch.count, batch.count]);
  });

  it('finds the rows of more ranges than a statement holds', async () => {
    const rows = { ...batch, first: 1_000n };
    await plain({ ...rows, count: 1_100 });
    const uidRanges = Array.from({ length: 1_000 }, (_, index) => {
      const first = rows.first + BigInt(index * 2);
      return [first, first + 1n] as const;
    });
    // Eight uids in ten: 200 ranges that do not join.
    const sparse = uidRanges.filter((_, index) => index % 5 !== 4);
    const blocks = [await nativeOf(url, `SELECT * FROM (${spanSelect(rows)}) WHERE (uid - 1000) % 10 < 8`)];
    await writer.insertGuarded({ queryId: queryId(), blocks, ...boundsOf(rows), uidRanges: sparse });
    // 1,100 that were there, and eight of ten of the other 900.
    expect(await counts()).toEqual([1_100 + 720, 1_100 + 720]);
  });

  it('counts a batch once that comes twice in one insert', async () => {
    const [block = new Uint8Array()] = await blocksOf(batch);
    await writer.insertGuarded({ queryId: queryId(), blocks: [block, block], ...boundsOf(batch) });
    expect(await counts()).toEqual([batch.count, batch.count]);
  });
});

describe.each([['plain'], ['guarded']])('a %s insert that cannot be done', (kind) => {
  const insert = async (blocks: Uint8Array[]): Promise<unknown> =>
    kind === 'plain'
      ? writer.insertPlain({ queryId: queryId(), blocks })
      : writer.insertGuarded({ queryId: queryId(), blocks, ...boundsOf(batch) });

  // By default ClickHouse drops the values of such a column without a word.
  it('is refused whole when a block has a column that the table lacks', async () => {
    const block = await nativeOf(url, `SELECT *, 1 AS Unlisted FROM (${spanSelect(batch)})`);
    await expect(insert([...(await blocksOf(batch)), block])).rejects.toMatchObject({
      kind: 'permanent',
      code: 'clickhouse_rows_refused',
      message: expect.stringContaining('Unlisted'),
    });
    expect(await counts()).toEqual([0, 0]);
  });

  it('is refused whole when a block ends early or is malformed', async () => {
    const [block = new Uint8Array()] = await blocksOf(batch);
    for (const bytes of [block.subarray(0, 1_000), block.subarray(0, -1), Buffer.from('no block at all')]) {
      await expect(insert([bytes])).rejects.toMatchObject({ kind: 'permanent' });
    }
    expect(await counts()).toEqual([0, 0]);
  });
});

describe('a failure', () => {
  it('of the tables or the credentials is no row’s fault', async () => {
    await clickhouse.run('RENAME TABLE otel.otel_traces TO otel.elsewhere');
    try {
      await expect(plain(batch)).rejects.toMatchObject({ kind: 'permanent', code: 'clickhouse_rejected' });
    } finally {
      await clickhouse.run('RENAME TABLE otel.elsewhere TO otel.otel_traces');
    }
    const stranger = createClickhouse({ url: url.replace('://', '://nobody:secret@') });
    const failed = await stranger.run('SELECT 1').catch((error: unknown) => error);
    await stranger.close();
    expect(failed).toMatchObject({ kind: 'permanent', code: 'clickhouse_rejected' });
    expect(String(failed)).not.toContain('secret');
  });

  it('by the time limit is transient', async () => {
    await expect(clickhouse.run('SELECT sleep(3)', { timeoutMs: 300 })).rejects.toMatchObject({
      kind: 'transient',
      code: 'clickhouse_unavailable',
      message: expect.stringContaining('159'),
    });
  });

  it('with an unlisted code is transient and has its own code', async () => {
    await expect(clickhouse.run("SELECT throwIf(1, 'x')")).rejects.toMatchObject({
      kind: 'transient',
      code: 'clickhouse_unclassified',
    });
  });

  it('of a stalled server is unknown after the time limit', async () => {
    const impatient = createBlockWriter(clickhouse, spansTable, { insertMsMax: 100 });
    const blocks = await blocksOf(batch);
    engines.clickhouse.pause();
    try {
      await expect(impatient.insertPlain({ queryId: queryId(), blocks })).rejects.toMatchObject({
        kind: 'transient',
        code: 'clickhouse_unavailable',
        message: 'no answer from ClickHouse within 100 ms',
      });
    } finally {
      engines.clickhouse.resume();
    }
  });
});

describe('the lookup of traces', () => {
  const found = async (traceIds: readonly string[]): Promise<number> => {
    const [row] = await clickhouse.rows(
      z.object({ c: z.coerce.number() }),
      `SELECT uniqExact(SpanId) AS c FROM otel.otel_traces
        INNER JOIN (SELECT TraceId, min(Start) AS Start, max(End) + 1 AS End FROM otel.otel_traces_trace_id_ts
          WHERE has({traceIds:Array(String)}, TraceId) GROUP BY TraceId) AS lookup USING TraceId
        WHERE Timestamp >= lookup.Start AND Timestamp <= lookup.End`,
      { params: { traceIds } },
    );
    return row?.c ?? Number.NaN;
  };

  it('finds every trace after an insert, and again after a repair when its part is missing', async () => {
    // A tenth of a second between spans: each trace starts in one second and ends in another.
    const rows = { ...batch, stepNs: 100_000_000n };
    const traces = await tracesOf(url, rows);
    const traceIds = traces.map(({ traceId }) => traceId);
    expect(traceIds).toHaveLength(200);
    await plain(rows);
    expect(await found(traceIds)).toBe(rows.count);
    await clickhouse.run('TRUNCATE TABLE otel.otel_traces_trace_id_ts');
    expect(await found(traceIds)).toBe(0);
    expect(await guarded(rows)).toBe(false);
    expect(await found(traceIds)).toBe(0);
    await writer.repairTraceLookup(traces);
    await writer.repairTraceLookup(traces);
    expect(await found(traceIds)).toBe(rows.count);
  });

  it('takes the traces of any number of days at once', async () => {
    // More than the 100 partitions that an insert may have by default; each is synced to a disk that others use, too.
    const traces = Array.from({ length: 120 }, (_, index) => {
      const min = noon - BigInt(index) * dayNs;
      return { traceId: `t${index}`, min, max: min + 1n };
    });
    const patient = createBlockWriter(clickhouse, spansTable, { insertMsMax: 120_000 });
    await patient.repairTraceLookup(traces);
    await patient.repairTraceLookup([]);
    const [row] = await clickhouse.rows(
      z.object({ c: z.coerce.number() }),
      'SELECT uniqExact(TraceId) AS c FROM otel.otel_traces_trace_id_ts',
    );
    expect(row?.c).toBe(120);
  });
});

// The queries of Grafana's ClickHouse plugin with "use OTel columns" on and nothing mapped by hand.
describe("the queries of Grafana's plugin", () => {
  const searchColumns = `"TraceId" AS traceID, "ServiceName" AS serviceName, "SpanName" AS operationName,
    "Timestamp" AS startTime, multiply("Duration", 0.000001) AS duration`;
  const tags = (column: string): string =>
    `arrayMap(key -> map('key', key, 'value', "${column}"[key]), mapKeys("${column}"))`;
  const answerOf = async (query: string): Promise<unknown[]> => {
    const response = await fetchEngine(url, { method: 'POST', body: `${query} FORMAT JSONEachRow` });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  };

  it('list traces by time, service, kind of failure and attribute', async () => {
    await plain(batch);
    const seconds = Number(noon / 1_000_000_000n);
    const answer = await answerOf(`SELECT ${searchColumns} FROM "otel"."otel_traces"
      WHERE ( "Timestamp" >= toDateTime(${seconds}) AND "Timestamp" <= toDateTime(${seconds + 3}) )
        AND ( "ParentSpanId" = '' ) AND ( "Duration" > 0 ) AND ( "StatusCode" IN ('Error', 'STATUS_CODE_ERROR') )
        AND ( "SpanAttributes"['n'] != '7' ) AND ( "ServiceName" = 'checkout' )
      ORDER BY "Timestamp" DESC, "Duration" DESC LIMIT 1000`);
    // Roots (one in 10) of the first service (one in 5) that failed (one in 4): one in 20, of the 2,000 within three seconds.
    expect(answer).toHaveLength(100);
    expect(answer.at(-1)).toMatchObject({ serviceName: 'checkout', operationName: 'GET /', duration: 1 });
  });

  it('show one trace through the lookup, with tags, events and references', async () => {
    await plain(batch);
    const [trace] = await tracesOf(url, { ...batch, count: 10 });
    const id = trace?.traceId;
    const answer = await answerOf(`WITH '${id}' AS trace_id,
        (SELECT min(Start) FROM "otel"."otel_traces_trace_id_ts" WHERE TraceId = trace_id) AS trace_start,
        (SELECT max(End) + 1 FROM "otel"."otel_traces_trace_id_ts" WHERE TraceId = trace_id) AS trace_end
      SELECT "TraceId" AS traceID, "SpanId" AS spanID, "ParentSpanId" AS parentSpanID, "ServiceName" AS serviceName,
        "SpanName" AS operationName, multiply(toUnixTimestamp64Nano("Timestamp"), 0.000001) AS startTime,
        multiply("Duration", 0.000001) AS duration, ${tags('SpanAttributes')} AS tags,
        ${tags('ResourceAttributes')} AS serviceTags,
        if("StatusCode" IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) AS statusCode,
        arrayMap((name, timestamp, attributes) -> tuple(name, toString(toUnixTimestamp64Milli(timestamp)),
          arrayMap(key -> map('key', key, 'value', attributes[key]), mapKeys(attributes))
        )::Tuple(name String, timestamp String, fields Array(Map(String, String))),
          "Events".Name, "Events".Timestamp, "Events".Attributes) AS logs,
        arrayMap((traceID, spanID, attributes) -> tuple(traceID, spanID,
          arrayMap(key -> map('key', key, 'value', attributes[key]), mapKeys(attributes))
        )::Tuple(traceID String, spanID String, tags Array(Map(String, String))),
          "Links".TraceId, "Links".SpanId, "Links".Attributes) AS references,
        "SpanKind" AS kind, "StatusMessage" AS statusMessage, "ScopeName" AS instrumentationLibraryName,
        "ScopeVersion" AS instrumentationLibraryVersion, "TraceState" AS traceState
      FROM "otel"."otel_traces"
      WHERE traceID = trace_id AND "Timestamp" >= trace_start AND "Timestamp" <= trace_end LIMIT 1000`);
    expect(answer).toHaveLength(10);
    for (const span of answer) {
      expect(span).toMatchObject({
        traceID: id,
        kind: 'Server',
        traceState: 'k=v',
        instrumentationLibraryName: 'scope',
        tags: [{ key: 'n' }],
        logs: [{ name: 'exception', fields: [{ key: 'exception.type', value: 'E' }] }],
        references: [{ spanID: '0000000000000001', tags: [{ key: 'l', value: '1' }] }],
      });
    }
  });
});

/** The file with the columns of the only part of the table. */
const partFile = async (): Promise<string> => {
  const [row] = await clickhouse.rows(
    z.object({ path: z.string() }),
    "SELECT path FROM system.parts WHERE active AND database = 'otel' AND table = 'otel_traces'",
  );
  const path = row?.path ?? '';
  const folderOfPart = path.startsWith('/') ? path : join(engines.folder, 'clickhouse', path);
  const file = readdirSync(folderOfPart).find((name) => /^(?:data|uid)\.bin$/.test(name));
  return join(folderOfPart, file ?? 'data.bin');
};

const damages = {
  truncated: (file: string) => truncateSync(file, Math.floor(statSync(file).size / 4)),
  'with flipped bytes': (file: string) => {
    const bytes = readFileSync(file);
    for (let place = 100; place < bytes.length; place += 50) bytes[place] = (bytes[place] ?? 0) ^ 0xff;
    writeFileSync(file, bytes);
  },
};

// The codes are those of damaged rows, and the guard reads stored ones: valid rows would be dead-lettered one by one.
describe('a guarded insert into a table with a damaged part', () => {
  it.each(['truncated', 'with flipped bytes'] as const)(
    'does not call its own rows at fault: %s',
    async (how) => {
      await plain(batch);
      damages[how](await partFile());
      await clickhouse.run('SYSTEM DROP MARK CACHE');
      await expect(guarded(batch)).rejects.toMatchObject({
        kind: 'transient',
        code: 'clickhouse_table_unreadable',
        message: expect.stringContaining('stored rows of otel.otel_traces cannot be read'),
      });
    },
  );

  it('still names rows that no insert takes, where the stored ones can be read', async () => {
    await plain(batch);
    const insert = { queryId: queryId(), blocks: [Buffer.from('no block')], ...boundsOf(batch) };
    await expect(writer.insertGuarded(insert)).rejects.toMatchObject({ code: 'clickhouse_rows_refused' });
  });
});

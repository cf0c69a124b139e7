import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createClickhouseReader } from '../../src/stores/clickhouse/reader.ts';
import { createQuestdbReader } from '../../src/stores/questdb/reader.ts';
import { createCli } from '../support/clients/cli.ts';
import { type MetadataRole, startMetadataRole } from '../support/metadata/role.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { openGate } from '../support/stack/gate.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let wide: Report;
let narrow: Report;
let application: Application;
const tokens = { viewer: '', editor: '' };

const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

/** The start of an hour that is over: no bucket of it changes. */
const hour = Math.floor(Date.now() / 3_600_000) * 3_600 - 3_600;
const until = hour + 3_600;

const hostileTexts = [
  `'; DROP TABLE "x"; --`,
  `" OR 1 = 1`,
  "it''s \\' \\",
  '<script>alert(1)</script>',
  '\u202eabc\u0007\u001b[31m',
  '=cmd|calc',
  '{id:String} $x $1 ?',
  '😀\n\r\t',
  '__proto__',
];

type Point = {
  metrics: Record<string, number>;
  target: string;
  dimension: Record<string, string>;
  timestamp: number;
};

/** 25 hosts, of which host n has n + 1 points, and points with hostile values of a dimension. */
const points: Point[] = [
  ...Array.from({ length: 25 }, (_, host) =>
    Array.from({ length: host + 1 }, (_, index) => ({
      metrics: { cpu: host + index / 10, mem: host * 100 },
      target: host % 2 === 0 ? 'even' : 'odd',
      dimension: { host: `h${host}`, zone: host < 10 ? 'a' : 'b' },
      timestamp: (hour + index * 120 + host) * 1_000,
    })),
  ).flat(),
  ...hostileTexts.map((text, index) => ({
    metrics: { temperature: index },
    target: 'odd',
    dimension: { label: text },
    timestamp: (hour + index) * 1_000,
  })),
];

const push = async ({ data_source: { mon_data_id: dataId, token } }: Report): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({ data_id: dataId, access_token: token, data: points }),
  });
  expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
};

const traceIds = Array.from({ length: 30 }, (_, index) => (index + 1).toString(16).padStart(32, '0'));
const nanos = (offset: number): string => `${BigInt(hour) * 1_000_000_000n + BigInt(offset)}`;
const text = (value: string) => ({ stringValue: value });

/** Of each trace a root and two children, one of them slow and failed in every third; the names of trace 0 are hostile. */
const spansOf = (traceId: string, index: number) => {
  const at = index * 1_000_000_000;
  const span = (id: number, parent: number, more: object) => ({
    traceId,
    spanId: `${index}${id}`.padStart(16, 'a'),
    ...(parent === 0 ? {} : { parentSpanId: `${index}${parent}`.padStart(16, 'a') }),
    startTimeUnixNano: nanos(at + id * 1_000),
    endTimeUnixNano: nanos(at + id * 1_000 + 1_500_000),
    ...more,
  });
  return [
    span(1, 0, { name: index === 0 ? (hostileTexts[0] ?? '') : 'GET /cart', kind: 2 }),
    span(2, 1, {
      name: 'query',
      attributes: [
        { key: 'db.statement', value: text(hostileTexts[index % hostileTexts.length] ?? '') },
        { key: '__proto__', value: text('polluted') },
      ],
      events: [
        { timeUnixNano: nanos(at + 5_000), name: 'cache.miss', attributes: [{ key: 'k', value: text('v') }] },
      ],
      links: [{ traceId: traceIds[1], spanId: 'bbbbbbbbbbbbbbbb', attributes: [] }],
    }),
    span(3, 1, {
      name: 'slow',
      ...(index % 3 === 0
        ? { status: { code: 2, message: 'no' }, endTimeUnixNano: nanos(at + 700_000_000) }
        : {}),
    }),
  ];
};

const sendSpans = async (): Promise<void> => {
  const resource = {
    attributes: [
      { key: 'service.name', value: text('cart') },
      { key: 'host.name', value: text("it's") },
    ],
  };
  const body = {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'lib' }, spans: traceIds.flatMap(spansOf) }] }],
  };
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': application.token },
    body: JSON.stringify(body),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.not.stringContaining('rejected')]);
};

const issued = async (role: string): Promise<string> => {
  const { body } = await stack.api('POST', '/api/v1/admin-tokens', { name: role, role });
  return z.object({ token: z.string() }).parse(body).token;
};

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    roleEnv: async (role, { reader }): Promise<Record<string, string>> =>
      role === 'metadata' ? readonlyUsers({ reader }) : {},
  });
  wide = await stack.createReport('wide');
  narrow = await stack.createReport('narrow', { is_split_measurement: true });
  application = await stack.createApplication('explored');
  tokens.viewer = await issued('viewer');
  tokens.editor = await issued('editor');
  await Promise.all([push(wide), push(narrow), sendSpans()]);
  await stack.waitForRows(wide.result_table.table_id, points.length);
  const values = points.reduce((sum, { metrics }) => sum + Object.keys(metrics).length, 0);
  await stack.waitForRows(narrow.result_table.table_id, values);
  await stack.waitForEmptyStream('TRACES');
});
afterAll(() => stack?.stop());

const readonlyUsers = ({ reader }: Pick<TestEngines, 'reader'>): Record<string, string> => ({
  TIDEMARK_QUESTDB_READONLY_USER: reader.user,
  TIDEMARK_QUESTDB_READONLY_PASSWORD: reader.password,
  TIDEMARK_CLICKHOUSE_READONLY_USER: reader.user,
  TIDEMARK_CLICKHOUSE_READONLY_PASSWORD: reader.password,
});

const series = z.object({
  metric: z.string(),
  group: z.array(z.string().nullable()),
  rows: z.number().nullable(),
  values: z.array(z.number().nullable()),
});
const pointsAnswer = z.object({
  step: z.number().nullable(),
  buckets: z.array(z.number()),
  series: z.array(series),
  series_total: z.number(),
  truncated: z.boolean(),
  raw: z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) }).nullable(),
  sql: z.array(z.string()),
});

type Asked = Record<string, unknown>;

const ask = (path: string, body: Asked, method = 'POST') => stack.api(method, path, body);

const askPoints = (body: Asked, report = wide) =>
  ask('/api/v1/query/points', {
    data_id: report.data_source.mon_data_id,
    metrics: ['cpu'],
    since: hour,
    until,
    ...body,
  });

const seriesOf = async (body: Asked, report = wide) => {
  const { status, body: answer } = await askPoints(body, report);
  expect([status, status === 200 ? '' : answer]).toEqual([200, '']);
  return pointsAnswer.parse(answer);
};

const secondsOf = (timestamp: unknown): number => Date.parse(String(timestamp)) / 1_000;

describe('series of points', () => {
  it.each(['avg', 'min', 'max', 'sum', 'count', 'last'])(
    'have the values that QuestDB answers to the statement that is shown, of every group: %s',
    async (aggregate) => {
      const answer = await seriesOf({
        aggregate,
        group_by: ['zone', 'target'],
        step: 300,
        metrics: ['cpu', 'mem'],
      });
      expect(answer.buckets).toEqual(Array.from({ length: 12 }, (_, index) => hour + 300 * index));
      expect(answer).toMatchObject({ series_total: 8, truncated: false, step: 300 });
      const { dataset } = await stack.query(answer.sql.at(-1) ?? '');
      const values = dataset.flatMap(([at, zone, target, cpu, mem]) =>
        [cpu, mem].map((value, index) => [['cpu', 'mem'][index], zone, target, secondsOf(at), value]),
      );
      const shown = answer.series.flatMap(({ metric, group, values: own }) =>
        own.map((value, index) => [metric, ...group, answer.buckets[index], value]),
      );
      const filled = (rows: unknown[][]) =>
        rows
          .filter((row) => row[4] !== null)
          .map((row) => JSON.stringify(row))
          .toSorted();
      expect(filled(shown)).toEqual(filled(values));
      expect(filled(shown).length).toBeGreaterThan(40);
    },
  );

  it('are those of the points that were pushed, in a table of either layout', async () => {
    for (const report of [wide, narrow]) {
      const { series: found } = await seriesOf({ aggregate: 'sum', group_by: ['host'], step: 3_600 }, report);
      const sums = Object.fromEntries(found.map(({ group, values }) => [group[0], values[0]]));
      expect(Object.keys(sums)).toHaveLength(20);
      for (const host of [5, 24]) {
        const own = points.filter(({ dimension }) => dimension['host'] === `h${host}`);
        const sum = own.reduce((all, { metrics }) => all + (metrics['cpu'] ?? 0), 0);
        expect(sums[`h${host}`]).toBeCloseTo(sum, 9);
      }
    }
  });

  it('are at most 20, those with most rows, with the number of all of them', async () => {
    const answer = await seriesOf({ group_by: ['host'] });
    expect(answer).toMatchObject({ series_total: 25, truncated: true });
    expect(answer.series.map(({ group }) => group[0])).toEqual(
      Array.from({ length: 20 }, (_, index) => `h${24 - index}`),
    );
    expect(answer.series.map(({ rows }) => rows)).toEqual(
      Array.from({ length: 20 }, (_, index) => 25 - index),
    );
    const four = await seriesOf({ metrics: ['cpu', 'mem', 'temperature'], group_by: ['host'] });
    expect(four.series).toHaveLength(18);
    expect(four.series_total).toBe(78);
  });

  it('find by equality exactly what has that value, with any characters', async () => {
    for (const [index, value] of hostileTexts.entries()) {
      for (const report of [wide, narrow]) {
        for (const filter of [
          { operator: '=', values: [value] },
          { operator: 'in', values: [value, 'x'] },
        ]) {
          const asked = { metrics: ['temperature'], aggregate: 'sum', step: 3_600, group_by: ['label'] };
          const { series: found } = await seriesOf(
            { ...asked, filter: [{ dimension: 'label', ...filter }] },
            report,
          );
          expect(found.map(({ group, values }) => [group, values])).toEqual([[[value], [index]]]);
        }
      }
    }
    const others = await seriesOf({
      metrics: ['temperature'],
      aggregate: 'count',
      step: 3_600,
      filter: [{ dimension: 'label', operator: '!=', values: [hostileTexts[0]] }],
    });
    expect(others.series[0]?.values).toEqual([hostileTexts.length - 1]);
    const none = await seriesOf({
      aggregate: 'count',
      step: 3_600,
      filter: [{ dimension: 'label', values: [null] }],
    });
    expect(none.series[0]?.values).toEqual([325]);
    await stack.waitForRows(wide.result_table.table_id, points.length);
  });

  it('are the last 50 rows instead, where the query says raw', async () => {
    const { raw } = await seriesOf({ raw: true, filter: [{ dimension: 'zone', values: ['b'] }] });
    expect(raw?.columns).toEqual(['timestamp', 'target', 'host', 'zone', 'label', 'cpu']);
    expect(raw?.rows).toHaveLength(50);
    const times = raw?.rows.map(([at]) => secondsOf(at)) ?? [];
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const own = await seriesOf({ raw: true }, narrow);
    expect(own.raw?.columns).toEqual(['timestamp', 'target', 'host', 'zone', 'label', 'metric', 'value']);
  });

  it('can be asked for by the table, and values of a dimension are listed with their rows', async () => {
    const table = wide.result_table.table_id;
    const { status } = await ask('/api/v1/query/points', { table, metrics: ['cpu'], since: hour, until });
    expect(status).toBe(200);
    const query = `table=${encodeURIComponent(table)}&dimension=host&since=${hour}&until=${until}&limit=2`;
    const { body } = await stack.api('GET', `/api/v1/query/points/values?${query}`);
    expect(body).toMatchObject({
      values: [
        { value: 'h24', rows: 25 },
        { value: 'h23', rows: 24 },
      ],
      truncated: true,
    });
  });

  it.each([
    [{ metrics: ['cpus'] }, 404, 'unknown_name', 'metrics.0'],
    [{ metrics: ['cpu" FROM x; --'] }, 404, 'unknown_name', 'metrics.0'],
    [{ group_by: ['hosts'] }, 404, 'unknown_name', 'group_by.0'],
    [{ filter: [{ dimension: 'uid', values: ['1'] }] }, 404, 'unknown_name', 'filter.0.dimension'],
    [{ data_id: 1999999 }, 404, 'not_found', undefined],
    [{ table: 'tables()', data_id: undefined }, 404, 'not_found', undefined],
    [{ table: '2_mon_time_series_1500001.__default__' }, 422, 'invalid_value', 'table'],
    [{ step: 5 }, 422, 'invalid_value', 'step'],
    [{ since: until - 7 * 86_400 - 1 }, 422, 'invalid_value', 'since'],
    [{ metrics: ['a', 'b', 'c', 'd', 'e'] }, 422, 'invalid_value', 'metrics'],
    [{ metrics: ['cpu', 'cpu'] }, 422, 'invalid_value', 'metrics.1'],
    [{ group_by: ['host', 'zone', 'label'] }, 422, 'invalid_value', 'group_by'],
    [{ filter: [{ dimension: 'host', values: ['a', 'b'] }] }, 422, 'invalid_value', 'filter.0.values'],
    [{ sql: 'SELECT 1' }, 422, 'invalid_value', 'sql'],
    [
      { filter: [{ dimension: 'host', operator: 'in', values: Array(50).fill("'".repeat(1024)) }] },
      422,
      'query_too_large',
      undefined,
    ],
  ])('are refused for %j', async (body, status, code, field) => {
    const answer = await askPoints(body);
    expect(answer).toMatchObject({ status, body: { code, ...(field === undefined ? {} : { field }) } });
  });

  it('may span more than seven days where the query says wide', async () => {
    const answer = await seriesOf({ since: until - 400 * 86_400, wide: true, aggregate: 'count' });
    expect(answer.series[0]?.values.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(325);
  });

  it('are written for people and for programs by tidemark query', async () => {
    const dataId = wide.data_source.mon_data_id;
    const text = await cli.text(
      `query points --data-id ${dataId} --metric cpu,mem --aggregate max --where zone=a --where host!=h3 --by target --since 3h --step 1h`,
    );
    expect(text).toMatch(
      /^TIME +(cpu odd +mem odd +cpu even +mem even|cpu even +mem even +cpu odd +mem odd)$/m,
    );
    expect(text).toMatch(/^\S+ \S+Z +(9\.9 +900 +8\.8 +800|8\.8 +800 +9\.9 +900)$/m);
    const answer = await cli.json(
      pointsAnswer,
      `query points --data-id ${dataId} --metric cpu --where host=h1,h2 --by host --since 3h`,
    );
    expect(answer.series.map(({ group }) => group[0]).toSorted()).toEqual(['h1', 'h2']);
    expect(await cli.text(`query values label --data-id ${dataId} --since 3h`)).not.toContain('\u001b');
    expect(await cli.run(`query points --data-id ${dataId} --metric nope`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no metric "nope"'),
    });
  });
});

const summary = z.object({
  trace_id: z.string(),
  root_name: z.string(),
  start: z.number(),
  duration_ms: z.number(),
  spans: z.number(),
  errors: z.number(),
});
const tracesAnswer = z.object({
  items: z.array(summary),
  next_cursor: z.string().nullable(),
  sql: z.array(z.string()),
  rows_read: z.number(),
});

const tracesOf = async (body: Asked) => {
  const answer = await ask('/api/v1/query/traces', { since: hour, until, limit: 200, ...body });
  expect([answer.status, answer.status === 200 ? '' : answer.body]).toEqual([200, '']);
  return tracesAnswer.parse(answer.body);
};

const idsOf = async (body: Asked): Promise<string[]> =>
  (await tracesOf(body)).items.map(({ trace_id: id }) => id);

const thirds = traceIds.filter((_, index) => index % 3 === 0).toReversed();
const all = traceIds.toReversed();
const attributes = z.array(z.object({ key: z.string(), value: z.string() }));
const traceAnswer = z.object({
  start_unix_nano: z.string(),
  duration_ns: z.number(),
  spans: z.array(
    z.looseObject({
      name: z.string(),
      parent_span_id: z.string(),
      offset_ns: z.number(),
      resource: z.number(),
      attributes,
    }),
  ),
  resources: z.array(attributes),
  spans_total: z.number(),
  truncated: z.boolean(),
  sql: z.array(z.string()),
});

describe('traces', () => {
  it('are found by each condition, the newest first', async () => {
    expect(await idsOf({})).toEqual(all);
    expect(await idsOf({ app_id: application.app_id, service: 'cart', span_name: 'slow' })).toEqual(all);
    expect(await idsOf({ status: 'error' })).toEqual(thirds);
    expect(await idsOf({ min_duration_ms: 100 })).toEqual(thirds);
    expect(await idsOf({ span_name: 'query', min_duration_ms: 100 })).toEqual([]);
    expect(await idsOf({ max_duration_ms: 0.5 })).toEqual([]);
    expect(await idsOf({ span_name: hostileTexts[0] })).toEqual([traceIds[0]]);
    expect(await idsOf({ attributes: [{ scope: 'resource', key: 'host.name', value: "it's" }] })).toEqual(
      all,
    );
    expect(await idsOf({ attributes: [{ scope: 'span', key: 'host.name', value: "it's" }] })).toEqual([]);
    expect(await idsOf({ attributes: [{ scope: 'span', key: 'absent', value: '' }] })).toEqual([]);
    expect(await idsOf({ since: hour + 10, until: hour + 20 })).toEqual(traceIds.slice(10, 20).toReversed());
  });

  it('are found by attributes of any characters, and by no others', async () => {
    for (const [index, value] of hostileTexts.entries()) {
      const expected = traceIds.filter((_, each) => each % hostileTexts.length === index).toReversed();
      expect(await idsOf({ attributes: [{ key: 'db.statement', value }] })).toEqual(expected);
    }
  });

  it('come with their root, spans and errors, and the statements shown answer the same', async () => {
    const { items, sql, rows_read: rowsRead } = await tracesOf({ status: 'error', limit: 1 });
    expect(items).toEqual([
      expect.objectContaining({
        trace_id: thirds[0],
        root_name: 'GET /cart',
        spans: 3,
        errors: 1,
        start: hour + 27,
      }),
    ]);
    expect(rowsRead).toBeGreaterThan(0);
    expect(await stack.spansQuery(sql.at(-1) ?? '')).toMatchObject([
      { id: thirds[0], spans: '3', errors: '1' },
    ]);
    const { sql: hostile } = await tracesOf({
      attributes: [{ key: 'db.statement', value: hostileTexts[2] ?? '' }],
    });
    const found = await Promise.all(hostile.map((statement) => stack.spansQuery(statement)));
    expect(found.some((rows) => rows.some(({ id }) => id === traceIds[2]))).toBe(true);
  });

  it('come page by page, each once', async () => {
    const paged: string[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page: z.output<typeof tracesAnswer> = await tracesOf({
        limit: 7,
        ...(cursor === undefined ? {} : { cursor }),
      });
      paged.push(...page.items.map(({ trace_id: id }) => id));
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all);
    expect(await ask('/api/v1/query/traces', { cursor: 'abc' })).toMatchObject({
      status: 422,
      body: { field: 'cursor' },
    });
    expect(await ask('/api/v1/query/traces', { app_id: 999_999 })).toMatchObject({ status: 404 });
  });

  it('come once, by their newest matching span, where older spans of them match, too', async () => {
    const from = hour - 2 * 3_600;
    const insert =
      'INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, Duration, StatusCode, uid, AppId) ' +
      `SELECT fromUnixTimestamp64Nano((${from} + toInt64(intDiv(number, 12)) * 700 + number % 12 * 20 * (intDiv(number, 12) % 3)) * 1000000000), ` +
      "concat(repeat('d', 30), leftPad(toString(number % 12), 2, '0')), lower(hex(number + 1)), 'long', 'batch', 1000, 'Unset', number + 2000000, 1 FROM numbers(60)";
    const made = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: insert });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const direct = await stack.spansQuery(
      "SELECT TraceId AS id FROM otel.otel_traces WHERE ServiceName = 'batch' GROUP BY TraceId ORDER BY max(Timestamp) DESC, TraceId DESC",
    );
    const expected = direct.map(({ id }) => id);
    expect(expected).toHaveLength(12);
    for (const limit of [1, 5, 12]) {
      const paged: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const asked = { service: 'batch', since: from, until: hour - 3_600, limit };
        const page: z.output<typeof tracesAnswer> = await tracesOf({
          ...asked,
          ...(cursor === undefined ? {} : { cursor }),
        });
        paged.push(...page.items.map(({ trace_id: id }) => id));
        cursor = page.next_cursor;
      }
      expect(paged).toEqual(expected);
    }
  });

  it('show each span with its attributes, events, links and resource', async () => {
    const { body } = await stack.api('GET', `/api/v1/traces/${(traceIds[4] ?? '').toUpperCase()}`);
    const trace = traceAnswer.parse(body);
    expect(trace).toMatchObject({ spans_total: 3, truncated: false, start_unix_nano: nanos(4_000_001_000) });
    expect(trace.spans.map(({ name, offset_ns: offset }) => [name, offset])).toEqual([
      ['GET /cart', 0],
      ['query', 1_000],
      ['slow', 2_000],
    ]);
    expect(trace.spans[1]).toMatchObject({
      attributes: [
        { key: 'db.statement', value: hostileTexts[4] },
        { key: '__proto__', value: 'polluted' },
      ],
      events: [{ name: 'cache.miss', offset_ns: 3_000, attributes: [{ key: 'k', value: 'v' }] }],
      links: [{ trace_id: traceIds[1], span_id: 'bbbbbbbbbbbbbbbb' }],
      duration_ns: 1_500_000,
      resource: 0,
    });
    expect(trace.resources).toEqual([expect.arrayContaining([{ key: 'host.name', value: "it's" }])]);
    expect(await stack.api('GET', `/api/v1/traces/${'f'.repeat(32)}`)).toMatchObject({ status: 404 });
    expect(await stack.api('GET', '/api/v1/traces/1')).toMatchObject({ status: 404 });
  });

  it('name their services and spans of a period', async () => {
    const { body } = await stack.api('GET', `/api/v1/traces/services?since=${hour}&until=${until}`);
    expect(body).toMatchObject({ items: [{ service: 'cart', spans: 90 }], truncated: false });
    const { body: none } = await stack.api('GET', `/api/v1/traces/services?since=${hour - 60}&until=${hour}`);
    expect(none).toMatchObject({ items: [] });
  });

  it('are written for people and for programs by tidemark query and tidemark trace', async () => {
    const listed = await cli.text(
      'query traces --span query --attribute db.statement=__proto__ --resource service.name=cart --since 3h',
    );
    expect(listed).toMatch(/^[0-9a-f]{32} +20\d\d-.* cart +GET \/cart +\d/m);
    const text = await cli.text(`trace ${traceIds[3]} --attributes`);
    expect(text).toMatch(/^█·+ .* ms {2}cart GET \/cart/m);
    expect(text).toMatch(/^█{32} +700\.00 ms {4}! cart slow/m);
    expect(text).not.toContain('\u001b');
    expect((await cli.json(traceAnswer, `trace ${traceIds[3]}`)).spans).toHaveLength(3);
    expect(await cli.text('query services --since 3h')).toMatch(/^cart +query +30$/m);
  });

  it('of 12,000 spans show the first 10,000 within seconds, and say how many there are', async () => {
    const id = 'c'.repeat(32);
    const insert =
      'INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, ServiceName, SpanAttributes, ResourceAttributes, Duration, StatusCode, uid, AppId) ' +
      `SELECT fromUnixTimestamp64Nano(${nanos(0)} + toInt64(number) * 1000), '${id}', lower(hex(number + 1)), if(number = 0, '', lower(hex(intDiv(number, 10) + 1))), ` +
      "concat('op', toString(number % 50)), concat('s', toString(number % 7)), " +
      "mapFromArrays(arrayMap(x -> concat('key', toString(x)), range(10)), arrayMap(x -> repeat(toString(number), 4), range(10))), " +
      "map('service.name', concat('s', toString(number % 7))), 1000000, 'Unset', number + 1000000, 1 FROM numbers(12000)";
    const made = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: insert });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const begun = performance.now();
    const { body } = await stack.api('GET', `/api/v1/traces/${id}`);
    const took = performance.now() - begun;
    const trace = traceAnswer.parse(body);
    expect(trace).toMatchObject({ spans_total: 12_000, truncated: true });
    expect(trace.spans).toHaveLength(10_000);
    expect(trace.resources).toHaveLength(7);
    expect(trace.spans.at(-1)?.offset_ns).toBe(9_999_000);
    expect(took).toBeLessThan(15_000);
  });
});

describe('the stores', () => {
  const bounds = (ms: number, signal = new AbortController().signal) => ({ timeoutMs: ms, signal });

  it('refuse to the reader of QuestDB what is not a query', async () => {
    const { user, password } = stack.engines.reader;
    const url = stack.engines.questdb.url.replace(/\/\/[^@]*@/, `//${user}:${password}@`);
    const reader = createQuestdbReader({ url });
    await expect(reader.read('CREATE TABLE nothing (a INT)', bounds(5_000))).rejects.toMatchObject({
      code: expect.stringMatching(/^questdb_/),
    });
    await reader.close();
  });

  it.each([true, false])(
    'run no query longer than its time, and none whose caller went away: ClickHouse, readonly user %s',
    async (isReader) => {
      const { user, password } = stack.engines.reader;
      const own = stack.engines.clickhouse.url;
      const url = isReader ? own.replace(/\/\/[^@]*@/, `//${user}:${password}@`) : own;
      const reader = createClickhouseReader({ url, isReader });
      const endless =
        'SELECT max(hex(SHA512(concat(toString(number), {mark:String})))) AS m FROM numbers(400000000)';
      const mark = `endless ${isReader}`;
      const running = async () =>
        (await stack.spansQuery(`SELECT query_id FROM system.processes WHERE query_id LIKE 'tm-explore-%'`))
          .length;
      const row = z.object({ m: z.string() });
      try {
        await expect(reader.read(row, endless, { mark }, bounds(1_000))).rejects.toMatchObject({
          code: 'query_timeout',
        });
        await waitFor('the late query to end', 10_000, async () => (await running()) === 0);
        const tooMany = reader.read(
          row,
          'SELECT max(number) AS m FROM numbers(600000000)',
          {},
          bounds(10_000),
        );
        await expect(tooMany).rejects.toMatchObject({ code: 'query_too_large' });
        const leaving = new AbortController();
        const held = reader.read(row, endless, { mark }, bounds(60_000, leaving.signal));
        const ended = expect(held).rejects.toMatchObject({ code: 'query_cancelled' });
        await waitFor('the query to run', 30_000, async () => (await running()) > 0);
        leaving.abort();
        await ended;
        await waitFor('the query to end', 10_000, async () => (await running()) === 0);
        await expect(
          reader.read(row, 'INSERT INTO otel.otel_traces (TraceId) VALUES (1)', {}, bounds(5_000)),
        ).rejects.toMatchObject({
          code: 'clickhouse_rejected',
        });
      } finally {
        await reader.close();
      }
    },
  );

  it('run no query longer than its time, and none whose caller went away: QuestDB', async () => {
    const reader = createQuestdbReader({ url: stack.engines.questdb.url });
    await stack
      .query('CREATE TABLE long_one AS (SELECT rnd_double() a FROM long_sequence(400000)) BYPASS WAL')
      .catch(() =>
        stack.query('CREATE TABLE long_one AS (SELECT rnd_double() a FROM long_sequence(400000))'),
      );
    const endless = 'SELECT count() FROM long_one x CROSS JOIN long_one y WHERE x.a * y.a > 0.999999999';
    const running = async () =>
      JSON.stringify((await stack.query('SELECT query FROM query_activity()')).dataset).includes('x.a * y.a');
    try {
      await expect(reader.read(endless, bounds(1_000))).rejects.toMatchObject({ code: 'query_timeout' });
      await waitFor('the late query to end', 10_000, async () => !(await running()));
      const leaving = new AbortController();
      const ended = expect(reader.read(endless, bounds(60_000, leaving.signal))).rejects.toMatchObject({
        code: 'query_cancelled',
      });
      await waitFor('the query to run', 10_000, running);
      leaving.abort();
      await ended;
      await waitFor('the query to end', 10_000, async () => !(await running()));
    } finally {
      await reader.close();
    }
  });
});

describe('a metadata process', () => {
  const started: MetadataRole[] = [];
  afterAll(() => Promise.all(started.map(({ role }) => role.stop())));

  const start = async (folder: string, more: Record<string, string>): Promise<MetadataRole> => {
    const role = await startMetadataRole(stack.engines, folder, { ...readonlyUsers(stack.engines), ...more });
    started.push(role);
    return role;
  };
  const body = () => ({ data_id: wide.data_source.mon_data_id, metrics: ['cpu'], since: hour, until });

  it('runs two queries of a token at once and four in all, and frees their places when callers go', async () => {
    const gate = await openGate('http', stack.engines.questdb.url);
    const role = await start('gated', { TIDEMARK_QUESTDB_URL: gate.url, TIDEMARK_CONSOLE_EXPLORE: 'editor' });
    const isSeries = ({ from, request }: { from: string; request: string }): boolean =>
      from === 'client' && request.includes('SAMPLE BY');
    const holds = Array.from({ length: 4 }, (_, index) => gate.hold(`series ${index}`, isSeries));
    const leaving = new AbortController();
    const open = (token: string) =>
      fetch(`${role.url}/api/v1/query/points`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify(body()),
        signal: leaving.signal,
      }).catch(() => undefined);
    const again = await issued('editor');
    try {
      expect(await role.askAs(tokens.viewer, 'POST', '/api/v1/query/points', body())).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('editor') },
      });
      const first = [tokens.editor, tokens.editor, again, again].map(open);
      const reader = Buffer.from(`${stack.engines.reader.user}:${stack.engines.reader.password}`).toString(
        'base64',
      );
      for (const hold of holds) expect((await hold.arrived()).text).toContain(`Basic ${reader}`);
      for (const [token, words] of [
        [tokens.editor, 'one token'],
        [stack.adminToken(), 'this process'],
      ] as const) {
        const refused = await role.askAs(token, 'POST', '/api/v1/query/points', body());
        expect(refused).toMatchObject({
          status: 429,
          body: {
            code: 'too_many_queries',
            detail: expect.stringContaining(words),
            remedy: expect.any(String),
          },
        });
        expect(refused.headers.get('Retry-After')).toBe('2');
      }
      leaving.abort();
      await Promise.all(first);
      await waitFor('places for other queries', 10_000, async () => {
        const { status } = await role.askAs(tokens.editor, 'POST', '/api/v1/query/points', body());
        return status === 200;
      });
      const late = gate.hold('a late series', isSeries);
      const answer = role.askAs(tokens.editor, 'POST', '/api/v1/query/points', body());
      await late.arrived();
      expect(await answer).toMatchObject({
        status: 504,
        body: { code: 'query_timeout', remedy: expect.stringContaining('Narrow the time') },
      });
      late.lose();
    } finally {
      for (const hold of holds) hold.lose();
      await gate.close();
    }
  });

  it('answers 404 with words where queries are off, and 503 while a store is away', async () => {
    const role = await start('off', { TIDEMARK_CONSOLE_EXPLORE: 'off' });
    for (const [method, path] of [
      ['POST', '/api/v1/query/points'],
      ['GET', '/api/v1/query/points/values'],
      ['POST', '/api/v1/query/traces'],
      ['GET', '/api/v1/traces/services'],
      ['GET', `/api/v1/traces/${traceIds[0]}`],
    ] as const) {
      expect(await role.askAs(tokens.viewer, method, path)).toMatchObject({
        status: 404,
        body: { code: 'explore_off', detail: 'TIDEMARK_CONSOLE_EXPLORE is off' },
      });
    }
    const away = await start('away', { TIDEMARK_CLICKHOUSE_URL: 'http://127.0.0.1:1' });
    expect(await away.askAs(tokens.viewer, 'GET', `/api/v1/traces/${traceIds[0]}`)).toMatchObject({
      status: 503,
      body: { code: 'clickhouse_unavailable' },
    });
  });

  it('lets viewers query, and nobody without a token', async () => {
    const asViewer = (token: string | undefined) =>
      fetch(`http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/query/points`, {
        method: 'POST',
        ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
        body: JSON.stringify(body()),
      });
    expect((await asViewer(tokens.viewer)).status).toBe(200);
    expect((await asViewer(undefined)).status).toBe(401);
  });
});

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import {
  type Asked,
  application,
  ask,
  cli,
  hostileTexts,
  hour,
  nanos,
  stack,
  traceIds,
  until,
} from './stored.ts';

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

  it.each([
    { name: 'few of many spans', traces: 20, spans: 60, limit: 20, pages: 1 },
    { name: 'many of few spans', traces: 600, spans: 5, limit: 20, pages: 30 },
    { name: 'many of many spans', traces: 600, spans: 60, limit: 200, pages: 3 },
  ])(
    'that last as long as the period come each once and in their order, with few statements: $name',
    async ({ name, traces, spans, limit, pages }) => {
      const from = hour - 6 * 3_600;
      const period = { since: from, until: from + 2 * 3_600 };
      const made = await fetchEngine(stack.engines.clickhouse.url, {
        method: 'POST',
        body: `INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, Duration, StatusCode, uid, AppId)
          SELECT fromUnixTimestamp64Nano((${from} + intDiv(number, ${traces}) * intDiv(7000, ${spans}) + sipHash64(number) % intDiv(7000, ${spans})) * 1000000000),
            lower(hex(MD5(concat('${name}', toString(number % ${traces}))))), lower(hex(number + 1)), 'long', '${name}', 1000, 'Unset',
            number + ${traces * spans * 1_000}, 1 FROM numbers(${traces * spans})`,
      });
      expect([made.status, await made.text()]).toEqual([200, '']);
      const direct = await stack.spansQuery(
        `SELECT TraceId AS id FROM otel.otel_traces WHERE ServiceName = '${name}' GROUP BY TraceId ORDER BY max(Timestamp) DESC, TraceId DESC`,
      );
      expect(direct).toHaveLength(traces);
      const paged: string[] = [];
      const statements: number[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const asked = { service: name, ...period, limit, ...(cursor === undefined ? {} : { cursor }) };
        const page: z.output<typeof tracesAnswer> = await tracesOf(asked);
        paged.push(...page.items.map(({ trace_id: id }) => id));
        statements.push(page.sql.length);
        cursor = page.next_cursor;
      }
      expect(paged).toEqual(direct.map(({ id }) => id));
      expect(statements).toHaveLength(pages);
      expect(Math.max(...statements)).toBeLessThanOrEqual(10);
    },
  );

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

  const longSpans = async (id: string, count: number, first: number, prompt = "repeat('ü', 31000)") => {
    const made = await fetchEngine(stack.engines.clickhouse.url, {
      method: 'POST',
      body: `INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, SpanAttributes, ResourceAttributes, \`Events.Timestamp\`, \`Events.Name\`, \`Events.Attributes\`, Duration, uid, AppId)
        SELECT fromUnixTimestamp64Nano(${nanos(0)} + toInt64(number) * 1000), '${id}', lower(hex(number + 1)), 'llm', 'long',
          map('prompt', ${prompt}, 'model', 'small'), map('service.name', 'long'), [fromUnixTimestamp64Nano(${nanos(0)})], ['e'],
          [map('exception.stacktrace', repeat('s', 5000))], 1000, number + ${first}, 1 FROM numbers(${count})`,
    });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const { status, body } = await stack.api('GET', `/api/v1/traces/${id}`);
    expect([status, status === 200 ? '' : body]).toEqual([200, '']);
    return traceAnswer.parse(body);
  };

  it('of few spans show long values in full', async () => {
    const { spans } = await longSpans('d'.repeat(32), 3, 2_000_000);
    for (const span of spans)
      expect(span.attributes).toContainEqual({ key: 'prompt', value: 'ü'.repeat(31_000) });
  });

  it('of many spans shows a long value in full where all of them have room', async () => {
    const prompt = "if(number = 7, repeat('ü', 31000), 'short')";
    const { spans } = await longSpans('f'.repeat(32), 4_000, 4_000_000, prompt);
    expect(spans[7]?.attributes).toContainEqual({ key: 'prompt', value: 'ü'.repeat(31_000) });
  });

  it('whose values are more than one answer may have show all spans, with long values shortened, which say so', async () => {
    const trace = await longSpans('e'.repeat(32), 1_050, 3_000_000);
    expect([trace.spans.length, trace.spans_total, trace.truncated]).toEqual([1_050, 1_050, false]);
    expect(trace.resources).toEqual([[{ key: 'service.name', value: 'long' }]]);
    for (const { attributes: found, events } of trace.spans) {
      const values = new Map(found.map(({ key, value }) => [key, value]));
      expect(values.get('model')).toBe('small');
      expect(values.get('prompt')).toMatch(/^ü{13000,13500}… \(62000 bytes\)$/);
      expect(events).toMatchObject([{ attributes: [{ value: 's'.repeat(5_000) }] }]);
    }
  });
});

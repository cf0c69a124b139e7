import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import { type Asked, application, ask, cli, hostileTexts, stack, hour as storedHour } from './stored.ts';

/** Away from the spans of the other rooms. */
const hour = storedHour - 5 * 3_600;
const until = hour + 3_600;

const numbers = z.array(z.number());
const durations = z.array(z.number().nullable());

const redAnswer = z.object({
  step: z.number().nullable(),
  buckets: numbers,
  items: z.array(
    z.object({
      app_id: z.number(),
      service: z.string(),
      operation: z.string().nullable(),
      requests: z.number(),
      errors: z.number(),
      per_second: z.number(),
      error_ratio: z.number(),
      p50_ms: z.number(),
      p95_ms: z.number(),
      p99_ms: z.number(),
      series: z
        .object({
          requests: numbers,
          errors: numbers,
          p50_ms: durations,
          p95_ms: durations,
          p99_ms: durations,
        })
        .nullable(),
    }),
  ),
  truncated: z.boolean(),
  sql: z.array(z.string()),
});

const redOf = async (body: Asked) => {
  const answer = await ask('/api/v1/query/red', { since: hour, until, ...body });
  expect([answer.status, answer.status === 200 ? '' : answer.body]).toEqual([200, '']);
  return redAnswer.parse(answer.body);
};

/** 200 requests of two operations and 100 calls of a client, at half-minutes; durations 1 ms to 300 ms. */
const spans = Array.from({ length: 300 }, (_, index) => ({
  Timestamp: `${hour + (index % 60) * 60 + 30}.5`,
  TraceId: '',
  SpanId: `${index}`,
  ServiceName: index % 3 === 2 ? (hostileTexts[0] ?? '') : 'red',
  SpanName: ['GET /pay', 'take order', 'SELECT'][index % 3],
  SpanKind: ['Server', 'Consumer', 'Client'][index % 3],
  Duration: (index + 1) * 1_000_000,
  StatusCode: index % 10 === 0 ? 'Error' : 'Unset',
  uid: `${8_000_000_000_000_000_000n + BigInt(index)}`,
  AppId: 0,
  BizId: 0,
  ArrivedAt: hour,
}));

beforeAll(async () => {
  const { url } = stack.engines.clickhouse;
  // Spans that were delivered twice, in parts that no merge joins.
  await fetchEngine(url, { method: 'POST', body: 'SYSTEM STOP MERGES otel.otel_traces' });
  for (const rows of [spans, spans.slice(0, 90)]) {
    const body = `INSERT INTO otel.otel_traces FORMAT JSONEachRow\n${rows.map((row) => JSON.stringify({ ...row, AppId: application.app_id })).join('\n')}`;
    const made = await fetchEngine(url, { method: 'POST', body });
    expect([made.status, await made.text()]).toEqual([200, '']);
  }
});

const requests = spans.filter((_, index) => index % 3 !== 2);
const failed = requests.filter(({ StatusCode: status }) => status === 'Error');

/** Of at most 1000 requests the quantile is exact. */
const expectQuantile = (ms: number, of: readonly (typeof spans)[number][], level: number): void => {
  const sorted = of.map(({ Duration: nanos }) => nanos / 1e6).sort((one, other) => one - other);
  expect(ms).toBe(sorted[Math.floor(level * sorted.length)]);
};

describe('requests, errors and durations', () => {
  it('count each span once while it is stored twice, and only spans of the kinds of the query', async () => {
    const { items, step, buckets } = await redOf({ service: 'red' });
    expect([step, buckets]).toEqual([null, []]);
    const [item, ...others] = items;
    expect(others).toEqual([]);
    expect(item).toMatchObject({
      ...{ app_id: application.app_id, service: 'red', operation: null, series: null },
      ...{ requests: requests.length, errors: failed.length, per_second: requests.length / 3_600 },
      error_ratio: failed.length / requests.length,
    });
    for (const [name, level] of [
      ['p50_ms', 0.5],
      ['p95_ms', 0.95],
      ['p99_ms', 0.99],
    ] as const)
      expectQuantile(item?.[name] ?? Number.NaN, requests, level);
    const clients = await redOf({ service: hostileTexts[0], kinds: ['client'], app_id: application.app_id });
    expect(clients.items.map((each) => [each.service, each.requests])).toEqual([[hostileTexts[0], 100]]);
    expect((await redOf({ service: hostileTexts[0] })).items).toEqual([]);
  });

  it('are of each operation, those with most requests first, with a bound that is said', async () => {
    const { items } = await redOf({ service: 'red', by: 'operation' });
    expect(items.map(({ operation, requests: count }) => [operation, count])).toEqual([
      ['GET /pay', 100],
      ['take order', 100],
    ]);
    const one = await redOf({ service: 'red', operation: 'take order' });
    expect(one.items.map(({ operation }) => operation)).toEqual(['take order']);
    const first = await redOf({ by: 'operation', kinds: ['server', 'consumer', 'client'], limit: 1 });
    expect([first.items.length, first.truncated]).toEqual([1, true]);
  });

  it('have series whose sums are the totals, with no duration in an empty bucket', async () => {
    const { items, buckets, step } = await redOf({ service: 'red', series: true, step: 30, since: hour });
    expect([step, buckets.length, buckets[0]]).toEqual([30, 120, hour]);
    const series = items[0]?.series;
    const sum = (values: readonly number[] = []): number => values.reduce((all, each) => all + each, 0);
    expect([sum(series?.requests), sum(series?.errors)]).toEqual([requests.length, failed.length]);
    expect(series?.requests.map((count) => count > 0)).toEqual(series?.p99_ms.map((ms) => ms !== null));
    expect(series?.requests[0]).toBe(0);
  });

  it('have series of the first items also of a service whose operations have more buckets than one answer may', async () => {
    // 60 operations, each with a request in 350 of 360 buckets, and of operation n another n.
    const begin = hour - 3_600;
    const made = await fetchEngine(stack.engines.clickhouse.url, {
      method: 'POST',
      body: `INSERT INTO otel.otel_traces (ServiceName, SpanName, SpanKind, Timestamp, Duration, uid, AppId)
        SELECT 'busy', concat('op ', toString(number % 60)), 'Server',
          toDateTime(${begin} + if(number < 21000, intDiv(number, 60), 0) * 10), 1000000, 7000000000000000000 + number, ${application.app_id}
        FROM numbers(21000 + 3600) WHERE number < 21000 OR intDiv(number - 21000, 60) < number % 60`,
    });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const { items, buckets, step, truncated } = await redOf({
      ...{ service: 'busy', by: 'operation', series: true, since: begin, until: hour, limit: 50 },
    });
    expect([step, buckets.length, items.length, truncated]).toEqual([10, 360, 50, true]);
    expect(items.map(({ operation, requests: count }) => [operation, count])).toEqual(
      Array.from({ length: 50 }, (_, index) => [`op ${59 - index}`, 350 + 59 - index]),
    );
    for (const [index, { requests: count, series }] of items.entries())
      expect(series?.requests.reduce((all, each) => all + each, 0)).toBe(index < 20 ? count : undefined);
  });

  it('end before until, and begin at since', async () => {
    const countIn = async (since: number, end: number) =>
      (await redOf({ service: 'red', since, until: end })).items[0]?.requests ?? 0;
    const inMinute = (minute: number) =>
      requests.filter(({ Timestamp: at }) => at === `${hour + minute * 60 + 30}.5`).length;
    expect(await countIn(hour + 30, hour + 31)).toBe(inMinute(0));
    expect(await countIn(hour + 31, hour + 90)).toBe(0);
    expect(await countIn(hour + 31, hour + 91)).toBe(inMinute(1));
  });

  it('are written for people by tidemark query red', async () => {
    const text = await cli.text('query red --service red --operations --since 8h');
    expect(text).toMatch(/^SERVICE +OPERATION +REQUESTS +PER S +ERRORS +ERRORS % +P50 MS +P95 MS +P99 MS/m);
    expect(text).toMatch(/^red +GET \/pay +100 +0\.00347 +10 +10\.0 +\d/m);
    expect(await cli.text('query red --kind client --since 8h')).toContain('100');
    expect(await ask('/api/v1/query/red', { kinds: ['loud'] })).toMatchObject({ status: 422 });
    expect(await ask('/api/v1/query/red', { app_id: 999_999 })).toMatchObject({ status: 404 });
  });
});

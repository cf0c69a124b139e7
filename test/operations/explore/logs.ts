import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import { type Asked, application, ask, cli, hostileTexts, hour, stack, traceIds, until } from './stored.ts';

const logsAnswer = z.object({
  items: z.array(
    z.looseObject({
      time_unix_nano: z.string(),
      severity_text: z.string(),
      body: z.string(),
      body_bytes: z.number(),
      trace_id: z.string(),
    }),
  ),
  next_cursor: z.string().nullable(),
  sql: z.array(z.string()),
  rows_read: z.number(),
});

const logsOf = async (body: Asked) => {
  const answer = await ask('/api/v1/query/logs', { since: hour, until, limit: 200, ...body });
  expect([answer.status, answer.status === 200 ? '' : answer.body]).toEqual([200, '']);
  return logsAnswer.parse(answer.body);
};

const bodiesOf = async (asked: Asked): Promise<string[]> =>
  (await logsOf(asked)).items.map(({ body }) => body);

const severities = [
  ['', 0],
  ['DEBUG', 5],
  ['INFO', 9],
  ['WARN', 13],
  ['ERROR', 17],
] as const;

/** One each second; the second of two traces has two of them. */
const records = Array.from({ length: 100 }, (_, index) => {
  const [text, number] = severities[index % severities.length] ?? ['', 0];
  const body = hostileTexts[index] ?? `payment ${index} failed: timeout_ms=${index}00`;
  return {
    Timestamp: `${hour + index}.000000007`,
    TimestampTime: hour + index,
    TraceId: index < 2 ? traceIds[1] : '',
    SpanId: index < 2 ? 'bbbbbbbbbbbbbbbb' : '',
    TraceFlags: 0,
    SeverityText: text,
    SeverityNumber: number,
    ServiceName: index % 2 === 0 ? 'cart' : 'shop',
    Body: index === 99 ? `long ${'ä'.repeat(10_000)}` : body,
    ResourceAttributes: { 'host.name': `h${index % 3}` },
    ScopeName: 'lib',
    LogAttributes: { 'order.id': `${index}`, ['__proto__']: hostileTexts[0] },
    EventName: '',
    ObservedTimestamp: index === 0 ? 0 : `${hour + index}.5`,
    uid: `${9_000_000_000_000_000_000n + BigInt(index)}`,
    AppId: 0,
    BizId: 0,
    ArrivedAt: hour + index,
  };
});

beforeAll(async () => {
  // A record that was delivered twice, in parts that no merge joins: it is there twice until one does.
  await fetchEngine(stack.engines.clickhouse.url, {
    method: 'POST',
    body: 'SYSTEM STOP MERGES otel.otel_logs',
  });
  for (const rows of [records, records.slice(40, 42)]) {
    const body = `INSERT INTO otel.otel_logs FORMAT JSONEachRow\n${rows.map((row) => JSON.stringify({ ...row, AppId: application.app_id })).join('\n')}`;
    const made = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body });
    expect([made.status, await made.text()]).toEqual([200, '']);
  }
});

const newest = records.toReversed();

describe('log records', () => {
  it('are listed the newest first, each once, with what was sent', async () => {
    const { items } = await logsOf({});
    expect(items.map(({ time_unix_nano: time }) => time)).toEqual(
      newest.map(({ TimestampTime: second }) => `${second}000000007`),
    );
    expect(items[0]).toMatchObject({ body: `long ${'ä'.repeat(4_091)}`, body_bytes: 20_005 });
    expect(items.at(-1)).toEqual({
      ...{ time_unix_nano: `${hour}000000007`, observed_time_unix_nano: null, app_id: application.app_id },
      ...{ service: 'cart', severity_number: 0, severity_text: '', body: hostileTexts[0] },
      ...{ body_bytes: Buffer.byteLength(hostileTexts[0] ?? ''), event_name: '', trace_id: traceIds[1] },
      ...{ span_id: 'bbbbbbbbbbbbbbbb', scope: { name: 'lib', version: '' } },
      attributes: [
        { key: 'order.id', value: '0' },
        { key: '__proto__', value: hostileTexts[0] },
      ],
      resource: [{ key: 'host.name', value: 'h0' }],
    });
  });

  it('fulfil all conditions together', async () => {
    const of = (isWanted: (index: number) => boolean): string[] =>
      records.flatMap(({ Body: body }, index) => (isWanted(index) && index < 99 ? [body] : [])).toReversed();
    const below = { until: hour + 99 };
    expect(await bodiesOf({ ...below, severity: 'warn' })).toEqual(of((index) => index % 5 >= 3));
    expect(await bodiesOf({ ...below, service: 'shop', severity: 'error' })).toEqual(
      of((index) => index % 10 === 9),
    );
    expect(await bodiesOf({ trace_id: traceIds[1]?.toUpperCase() })).toEqual(of((index) => index < 2));
    expect(await bodiesOf({ attributes: [{ key: 'order.id', value: '7' }] })).toEqual(
      of((index) => index === 7),
    );
    expect(
      await bodiesOf({
        ...below,
        attributes: [{ scope: 'resource', key: 'host.name', value: 'h1' }],
        service: 'cart',
      }),
    ).toEqual(of((index) => index % 6 === 4));
    expect(await bodiesOf({ text: 'payment 42 failed' })).toEqual(of((index) => index === 42));
    expect(await bodiesOf({ text: 'timeout_ms=4200' })).toEqual(of((index) => index === 42));
    // A part of a word, and the words in another order.
    expect(await bodiesOf({ text: 'paymen' })).toEqual([]);
    expect(await bodiesOf({ text: 'failed payment' })).toEqual([]);
    for (const [index, text] of hostileTexts.entries())
      expect(await bodiesOf({ text })).toContain(records[index]?.Body);
    expect(await bodiesOf({ app_id: application.app_id, since: hour + 98, until: hour + 99 })).toHaveLength(
      1,
    );
  });

  it('come page by page, each once, also where a record is stored twice', async () => {
    for (const limit of [1, 7, 99]) {
      const paged: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: z.output<typeof logsAnswer> = await logsOf({
          limit,
          ...(cursor === undefined ? {} : { cursor }),
        });
        paged.push(...page.items.map(({ time_unix_nano: time }) => time));
        cursor = page.next_cursor;
      }
      expect(paged).toEqual(newest.map(({ TimestampTime: second }) => `${second}000000007`));
    }
    expect(await ask('/api/v1/query/logs', { cursor: 'abc' })).toMatchObject({ status: 422 });
    expect(await ask('/api/v1/query/logs', { severity: 'loud' })).toMatchObject({ status: 422 });
    expect(await ask('/api/v1/query/logs', { app_id: 999_999 })).toMatchObject({ status: 404 });
  });

  it('of a text are found by the index of bodies', async () => {
    const { sql } = await logsOf({ text: 'payment 42 failed' });
    const plan = await stack.spansQuery(`EXPLAIN indexes = 1 ${sql[0]}`);
    expect(JSON.stringify(plan)).toContain('idx_body');
  });

  it('are written for people by tidemark query logs, and beside the spans of their trace', async () => {
    const listed = await cli.text('query logs --severity error --text payment --service shop --since 3h');
    expect(listed).toMatch(/^20\d\d-.* ERROR +shop +– +payment 89 failed: timeout_ms=8900$/m);
    const text = await cli.text(`trace ${traceIds[1]} --logs`);
    expect(text).toMatch(/^TIME +SEVERITY +SERVICE +SPAN +BODY/m);
    expect(text).toMatch(/ DEBUG +shop +bbbbbbbbbbbbbbbb /);
    const both = z.object({ spans: z.array(z.unknown()), logs: z.array(z.unknown()) });
    const { spans, logs } = await cli.json(both, `trace ${traceIds[1]} --logs`);
    expect([spans.length, logs.length]).toEqual([3, 2]);
  });
});

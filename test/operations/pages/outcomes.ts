import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reasons } from '../../../src/model/reasons.ts';
import { createCli } from '../../support/clients/cli.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { push, sharedStack } from './stack.ts';

let stack: Stack;
let [one, other]: Report[] = [];
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const refusal = z.object({ kind: z.string(), reason: z.string(), requests: z.number(), items: z.number() });
const bucketSchema = z.object({
  at: z.number(),
  pipeline: z.string(),
  received: z.number(),
  stored: z.number(),
  dead_lettered: z.number(),
  dropped: z.record(z.string(), z.number()),
  refusals: z.array(refusal),
});
const answerSchema = z.object({
  items: z.array(
    z.looseObject({
      data_id: z.number(),
      minute: z.number().nullable(),
      received: z.number(),
      stored: z.number(),
    }),
  ),
  buckets: z.array(bucketSchema),
});

const outcomes = async (query: string) =>
  answerSchema.parse((await stack.api('GET', `/api/v1/outcomes?${query}`)).body);

const point = { metrics: { cpu: 1 }, target: 'a' };

beforeAll(async () => {
  stack = await sharedStack();
  [one, other] = [await stack.createReport('chart one'), await stack.createReport('chart other')];
  for (const report of [one, other]) {
    expect(await push(stack, report, report.data_source.token, [point, point, { metrics: {} }])).toBe(200);
    expect(await push(stack, report, report.data_source.token, [{ metrics: {} }])).toBe(400);
  }
  for (const { data_source: source } of [one, other])
    await until('the outcomes and refusals are in ClickHouse', async () => {
      const { buckets } = await outcomes(`data_id=${source.mon_data_id}&group=reason&by=day`);
      return buckets[0]?.received === 3 && buckets[0].refusals.length > 0;
    });
});

describe('outcomes', () => {
  it.each([
    ['minute', 60],
    ['hour', 3_600],
    ['day', 86_400],
  ])('by %s are those of a direct query, at the start of each', async (by, step) => {
    const { items } = await outcomes(`data_id=${one?.data_source.mon_data_id}&by=${by}`);
    const rows = await stack.spansQuery(
      `SELECT toUInt32(intDiv(toUnixTimestamp(minute), ${step}) * ${step}) AS at, toUInt32(sum(received)) AS received,
         toUInt32(sum(outcomes['stored'])) AS stored FROM otel.ingest_outcomes FINAL
       WHERE data_id = ${one?.data_source.mon_data_id} GROUP BY at ORDER BY at DESC`,
    );
    expect(items.map(({ minute, received, stored }) => ({ at: minute, received, stored }))).toEqual(rows);
    expect(items.length).toBeGreaterThan(0);
  });

  it('by reason are one bucket of all owners, with what was dropped and refused', async () => {
    const { items, buckets } = await outcomes('group=reason&by=day');
    expect(items).toEqual([]);
    const [sums] = await stack.spansQuery(
      `SELECT toUInt32(sum(received)) AS received, toUInt32(sum(outcomes['stored'])) AS stored,
         toUInt32(sum(outcomes['dropped/metrics_empty'])) AS empty FROM otel.ingest_outcomes FINAL WHERE pipeline = 'metrics'`,
    );
    const ofPoints = buckets.filter(({ pipeline }) => pipeline === 'metrics');
    const total = (pick: (bucket: z.output<typeof bucketSchema>) => number): number =>
      ofPoints.reduce((sum, bucket) => sum + pick(bucket), 0);
    expect({
      received: total((bucket) => bucket.received),
      stored: total((bucket) => bucket.stored),
      empty: total((bucket) => bucket.dropped['metrics_empty'] ?? 0),
    }).toEqual(sums);
    expect(ofPoints.flatMap(({ refusals }) => refusals)).toContainEqual(
      expect.objectContaining({ kind: 'refused', reason: 'metrics_empty' }),
    );
  });

  it('by reason have at most 600 buckets: another step is chosen, or the asked one refused', async () => {
    const since = Math.floor(Date.now() / 1000) - 30 * 86_400;
    const { buckets } = await outcomes(`group=reason&since=${since}`);
    // 720 hours are too many.
    for (const { at } of buckets) expect(at % 86_400).toBe(0);
    const refused = await stack.api('GET', `/api/v1/outcomes?group=reason&by=hour&since=${since}`);
    expect([refused.status, refused.body]).toEqual([422, expect.objectContaining({ field: 'by' })]);
  });

  it('are a table of CSV, one row per outcome and refusal', async () => {
    const response = await fetch(
      `http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/outcomes?data_id=${one?.data_source.mon_data_id}&format=csv`,
      { headers: { Authorization: `Bearer ${stack.adminToken()}` } },
    );
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/);
    const id = one?.data_source.mon_data_id;
    expect((await response.text()).split('\r\n')).toEqual(
      expect.arrayContaining([
        'time,pipeline,data_id,app_id,kind,reason,requests,items',
        `,metrics,${id},0,stored,,,2`,
        `,metrics,${id},0,dropped,metrics_empty,,1`,
        `,metrics,${id},0,refused,metrics_empty,1,1`,
      ]),
    );
  });

  it('are printed by hour, day and reason', async () => {
    expect(await cli.text(`ledger --by-day --data-id ${one?.data_source.mon_data_id}`)).toMatch(/^DAY\b/);
    expect(await cli.text('ledger --by-reason --by-hour')).toMatch(/metrics_empty \d/);
  });
});

describe('the reasons', () => {
  it('are the rows of the closed table', async () => {
    const { body } = await stack.api('GET', '/api/v1/reasons');
    const { items } = z.object({ items: z.array(z.looseObject({ fixable_by: z.string() })) }).parse(body);
    expect(items.map(({ fixable_by: fixableBy, ...row }) => ({ ...row, fixableBy }))).toEqual(reasons);
  });
});

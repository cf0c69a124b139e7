import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import { waitFor } from '../../support/wait.ts';
import { type Asked, application, ask, cli, hostileTexts, hour, stack, until } from './stored.ts';

const [hostile = ''] = hostileTexts;

const metric = z.looseObject({
  service: z.string(),
  name: z.string(),
  kind: z.string(),
  temporality: z.string().nullable(),
  series: z.number(),
  attributes: z.array(z.object({ key: z.string(), values: z.number() })),
});
const metricsAnswer = z.object({ items: z.array(metric), truncated: z.boolean() });
const lastAnswer = z.object({
  items: z.array(
    z.looseObject({ time_unix_nano: z.string(), value: z.string().nullable(), distribution: z.unknown() }),
  ),
  truncated: z.boolean(),
});

const answered = async <T>(schema: z.ZodType<T>, path: string, body: Asked): Promise<T> => {
  const answer = await ask(path, { since: hour, until, ...body });
  expect([answer.status, answer.status === 200 ? '' : answer.body]).toEqual([200, '']);
  return schema.parse(answer.body);
};
const metricsOf = (body: Asked) => answered(metricsAnswer, '/api/v1/query/metrics', body);
const lastOf = (body: Asked) => answered(lastAnswer, '/api/v1/query/metrics/last', body);

const common = (uid: number) => ({
  ServiceName: 'cart',
  ...{ ScopeName: 'runtime', ScopeAttributes: { pool: 'main' } },
  ResourceAttributes: { 'host.name': 'h1' },
  uid: `${7_000_000_000_000_000_000n + BigInt(uid)}`,
  AppId: application.app_id,
});

/** Of 12 hosts a gauge in two minutes; every second time its attributes come in another order. */
const gauges = () =>
  Array.from({ length: 24 }, (_, index) => ({
    ...common(index),
    MetricName: 'threads',
    Attributes:
      index % 2 === 0 ? { host: `h${index >> 1}`, zone: 'a' } : { zone: 'a', host: `h${index >> 1}` },
    TimeUnix: `${hour + (index % 2) * 60}.5`,
    Value: index,
    ValueInt: index === 23 ? '9007199254740993' : null,
    // The last data point of the first host says that there is no value any more.
    ...{ HasValue: index !== 1, Flags: index === 1 ? 1 : 0 },
  }));

/** The same metric with both temporalities, and a hostile name. */
const sums = () =>
  [1, 2].map((temporality) => ({
    ...common(100 + temporality),
    ...{ MetricName: hostile, Attributes: { ['__proto__']: hostile }, TimeUnix: `${hour + temporality}` },
    ...{ Value: temporality, HasValue: true, AggregationTemporality: temporality, IsMonotonic: true },
  }));

beforeAll(async () => {
  for (const [table, rows] of [
    ['otel_metrics_gauge', gauges()],
    ['otel_metrics_sum', sums()],
  ] as const) {
    const text = rows.map((row) => JSON.stringify(row)).join('\n');
    // Each of them delivered twice.
    for (let times = 0; times < 2; times++) {
      const body = `INSERT INTO otel.${table} FORMAT JSONEachRow\n${text}`;
      const made = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body });
      expect([made.status, await made.text()]).toEqual([200, '']);
    }
  }
});

describe('metrics of OpenTelemetry', () => {
  it('are listed with their series, regardless of the order of attributes, and what makes them many', async () => {
    const { items } = await metricsOf({});
    expect(items.map((each) => [each.name, each.kind, each.temporality, each.series])).toEqual([
      ['threads', 'gauge', null, 12],
      [hostile, 'sum', 'delta', 1],
      [hostile, 'sum', 'cumulative', 1],
    ]);
    expect(items[0]?.attributes).toEqual([
      { key: 'host', values: 12 },
      { key: 'zone', values: 1 },
    ]);
    expect(items[1]?.attributes).toEqual([{ key: '__proto__', values: 1 }]);
    const names = async (body: Asked) => (await metricsOf(body)).items.map(({ name }) => name);
    expect(await names({ kind: 'gauge', app_id: application.app_id })).toEqual(['threads']);
    expect(await names({ name: hostile, service: 'cart' })).toEqual([hostile, hostile]);
    expect(await names({ service: 'other' })).toEqual([]);
    expect(await metricsOf({ limit: 1 })).toMatchObject({ truncated: true, items: [{ name: 'threads' }] });
  });

  it('have the last value of each series, but of none that has ended', async () => {
    const { items, truncated } = await lastOf({ name: 'threads', limit: 1000 });
    expect([items.length, truncated]).toEqual([11, false]);
    expect(items.map(({ value }) => value).toSorted()).toEqual(
      [...Array.from({ length: 10 }, (_, host) => String(2 * host + 3)), '9007199254740993'].toSorted(),
    );
    const one = await lastOf({ name: 'threads', attributes: [{ key: 'host', value: 'h3' }] });
    expect(one.items).toEqual([
      expect.objectContaining({
        ...{ value: '7', time_unix_nano: `${hour + 60}500000000`, kind: 'gauge', temporality: null },
        resource: [{ key: 'host.name', value: 'h1' }],
        scope: { name: 'runtime', attributes: [{ key: 'pool', value: 'main' }] },
      }),
    ]);
    const proto = { attributes: [{ key: '__proto__', value: hostile }], name: hostile };
    expect((await lastOf(proto)).items.map(({ value }) => value)).toEqual(['2', '1']);
    const resource = [{ scope: 'resource', key: 'host.name', value: 'h2' }];
    expect((await lastOf({ name: 'threads', attributes: resource })).items).toEqual([]);
    expect(await ask('/api/v1/query/metrics/last', {})).toMatchObject({ status: 422 });
  });

  it('are written for people by tidemark query metrics', async () => {
    const text = await cli.text('query metrics --kind gauge --since 3h');
    expect(text).toMatch(/^threads +gauge +– +– +\d+ +cart +12 +host 12, zone 1$/m);
    const last = await cli.text('query metrics --last threads --attribute host=h3 --since 3h');
    expect(last).toMatch(/^20\d\d-.* cart +7 +– +runtime pool=main +/m);
  });

  it('are written with their application where several have the metric', async () => {
    const other = await stack.createApplication('the same metric');
    const apps = [application.app_id, other.app_id];
    const rows = apps.map((AppId, index) => ({
      ...common(200 + index),
      ...{
        MetricName: 'shared',
        Attributes: {},
        TimeUnix: `${hour + index}`,
        Value: index,
        HasValue: true,
        AppId,
      },
    }));
    const body = `INSERT INTO otel.otel_metrics_gauge FORMAT JSONEachRow\n${rows.map((row) => JSON.stringify(row)).join('\n')}`;
    const made = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const shown = async (more: string): Promise<string[]> =>
      (await cli.text(`query metrics --last shared --since 3h${more}`)).trimEnd().split('\n');
    const both = await shown('');
    expect(both[0]).toMatch(/^TIME +APP +SERVICE +VALUE /);
    for (const [index, app] of apps.entries())
      expect(both).toContainEqual(expect.stringMatching(new RegExp(`^\\S+ \\S+ +${app} +cart +${index} `)));
    const one = await shown(` --app-id ${other.app_id}`);
    expect([one.length, one[0]]).toEqual([2, expect.stringMatching(/^TIME +SERVICE +VALUE /)]);
  });
});

describe('data points of an exporter', () => {
  it('of all five kinds are listed once they are stored, and the account of their application adds up', async () => {
    const sender = await stack.createApplication('metrics of all kinds');
    const time = { startTimeUnixNano: `${hour}000000000`, timeUnixNano: `${hour + 60}000000000` };
    const sum = { aggregationTemporality: 2, isMonotonic: true };
    const metrics = [
      { name: 'a', gauge: { dataPoints: [{ ...time, asDouble: 0.5 }] } },
      { name: 'b', unit: '1', sum: { ...sum, dataPoints: [{ ...time, asInt: '60' }] } },
      {
        name: 'c',
        histogram: {
          aggregationTemporality: 1,
          dataPoints: [{ ...time, count: '3', sum: 30, bucketCounts: ['1', '2'], explicitBounds: [10] }],
        },
      },
      {
        name: 'd',
        exponentialHistogram: {
          aggregationTemporality: 2,
          dataPoints: [{ ...time, count: '2', scale: 1, positive: { offset: 1, bucketCounts: ['2'] } }],
        },
      },
      {
        name: 'e',
        summary: {
          dataPoints: [{ ...time, count: '2', sum: 3, quantileValues: [{ quantile: 0.5, value: 1 }] }],
        },
      },
    ];
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'kinds' } }] };
    const body = JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] });
    const headers = { 'Content-Type': 'application/json', 'X-MON-TOKEN': sender.token };
    const url = `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/metrics`;
    await waitFor('the receiver knows the token', 60_000, async () => {
      const answer = await fetch(url, { method: 'POST', headers, body });
      if (answer.status === 401) return false;
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
      return true;
    });
    await stack.waitForEmptyStream('OTEL_METRICS');
    const { items } = await metricsOf({ app_id: sender.app_id });
    expect(items.map(({ name, kind, temporality }) => [name, kind, temporality])).toEqual([
      ['a', 'gauge', null],
      ['b', 'sum', 'cumulative'],
      ['c', 'histogram', 'delta'],
      ['d', 'exponential_histogram', 'cumulative'],
      ['e', 'summary', null],
    ]);
    const values = await lastOf({ name: 'b', app_id: sender.app_id });
    expect(values.items.map(({ value }) => value)).toEqual(['60']);
    const distributionOf = async (body: Asked) => {
      const { items: last } = await lastOf({ app_id: sender.app_id, ...body });
      expect(last.map(({ value, unit }) => [value, unit])).toEqual([[null, '']]);
      return last[0]?.distribution;
    };
    const none = { sum: null, min: null, max: null };
    const at = (level: number, value: string) => ({ level, value });
    expect(await distributionOf({ name: 'c' })).toEqual({
      // Half of the values are beyond the middle of three, in the bucket without an upper bound.
      ...{ ...none, count: '3', sum: '30', quantiles: [at(0.5, '10'), at(0.95, '10'), at(0.99, '10')] },
    });
    // Both values lie between the square root of 2 to the power of 1 and of 2: equally spread over their logarithm.
    const exponential = await distributionOf({ name: 'd', kind: 'exponential_histogram' });
    expect(exponential).toMatchObject({ ...none, count: '2', quantiles: [{ level: 0.5 }, {}, {}] });
    const middle = z.object({ quantiles: z.array(z.object({ value: z.coerce.number() })) });
    expect(middle.parse(exponential).quantiles[0]?.value).toBeCloseTo(2 ** 0.75, 12);
    expect(await distributionOf({ name: 'e', kind: 'summary' })).toEqual({
      ...{ ...none, count: '2', sum: '3', quantiles: [at(0.5, '1')] },
    });
    expect((await lastOf({ name: 'e', kind: 'sum' })).items).toEqual([]);
    const printed = await cli.text(`query metrics --last e --app-id ${sender.app_id} --since 3h`);
    expect(printed).toMatch(/^20\d\d-.* kinds +count 2, sum 3, p50 1 +– +– +–$/m);
    const accounts = z.object({
      items: z.array(z.looseObject({ pipeline: z.string(), received: z.number(), stored: z.number() })),
    });
    await waitFor('the account has settled', 60_000, async () => {
      const { body: found } = await stack.api('GET', `/api/v1/outcomes?app_id=${sender.app_id}`);
      const [account] = accounts.parse(found).items;
      return account?.pipeline === 'otel_metrics' && account.received === 5 && account.stored === 5;
    });
  });

  it('of a summary leave out levels that are no finite number, which earlier versions stored', async () => {
    const made = await fetchEngine(stack.engines.clickhouse.url, {
      method: 'POST',
      body: `INSERT INTO otel.otel_metrics_summary
        (MetricName, TimeUnix, Count, Sum, \`ValueAtQuantiles.Quantile\`, \`ValueAtQuantiles.Value\`, uid, AppId)
        VALUES ('old levels', toDateTime(${hour}), 2, 3, [nan, 0.5, inf, 0.9], [1, nan, 3, 4], 1, ${application.app_id})`,
    });
    expect([made.status, await made.text()]).toEqual([200, '']);
    const { items } = await lastOf({ name: 'old levels' });
    const quantiles = [
      { level: 0.5, value: 'nan' },
      { level: 0.9, value: '4' },
    ];
    expect(items).toMatchObject([{ distribution: { count: '2', quantiles } }]);
  });
});

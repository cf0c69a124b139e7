import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { basicAuthorization } from '../../../src/embedded/credentials.ts';
import { dashboards, queriesTo } from '../../support/deploy/dashboards.ts';
import { askEngine } from '../../support/stack/fetch-engine.ts';
import { wireQuery } from '../../support/stack/postgres-wire.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let report: Report;
let split: Report;

const postTo = (port: string, path: string, headers: Record<string, string>, body: unknown) =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports[port]}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** What the variables of ClickHouse choose. Senders choose these names, so they have what ends a text of SQL. */
const chosen = {
  service: "shop's \\' OR 1 --",
  gauge: "threads'",
  sum: "requests\\' OR 1 --",
  histogram: "duration'",
  exponential: "size'",
};

/** A sum that may fall, and so has no rate. */
const falling = 'queue length';

/** A text of SQL. */
const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Data of which every panel has something to show: rows, errors, drops and refusals. */
const fill = async (): Promise<void> => {
  const application = await stack.createApplication('dashboards');
  const push = (to: Report, accessToken = to.data_source.token) =>
    postTo(
      'push',
      '/v2/push/',
      {},
      {
        data_id: to.data_source.mon_data_id,
        access_token: accessToken,
        data: [
          { metrics: { cpu: 1, bytes: 100 }, target: 'a', timestamp: Date.now() },
          { metrics: { cpu: 2 }, target: 'b', timestamp: 1_700_000_000 },
        ],
      },
    );
  const service = literal(chosen.service);
  const start = BigInt(Date.now()) * 1_000_000n;
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    name: 'GET /',
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 5_000_000n),
    status: { code: 2 },
  };
  const attributes = [{ key: 'service.name', value: { stringValue: chosen.service } }];
  const resourceSpans = [{ resource: { attributes }, scopeSpans: [{ spans: [span] }] }];
  for (const each of [report, split])
    await waitFor('the data id is known', 60_000, async () => (await push(each)).ok);
  await push(report, 'wrong');
  const headers = { 'X-MON-TOKEN': application.token };
  await waitFor(
    'the application is known',
    60_000,
    async () => (await postTo('otlp', '/v1/traces', headers, { resourceSpans })).ok,
  );
  await stack.spansQuery(
    `INSERT INTO otel.otel_logs (Timestamp, TimestampTime, ServiceName, SeverityText, SeverityNumber, Body, uid)
     SELECT now64(9), now(), ${service}, 'ERROR', 17, 'payment failed', 1`,
  );
  const common = `ServiceName, MetricName, StartTimeUnix, TimeUnix, AppId, uid`;
  const ofMetric = (metric: string, app = 0): string =>
    `${service}, ${literal(metric)}, now64(9) - INTERVAL 2 MINUTE, now64(9) - INTERVAL 1 MINUTE, ${app}, ${app + 1}`;
  // Two applications have a service of one name.
  const ofBoth = [0, 1].flatMap((app) => [
    `otel_metrics_gauge (${common}, Value, HasValue) SELECT ${ofMetric(chosen.gauge, app)}, 7, true`,
    `otel_metrics_histogram (${common}, AggregationTemporality, Count, BucketCounts, ExplicitBounds) SELECT ${ofMetric(chosen.histogram, app)}, 1, 3, [1, 2], [10]`,
    `otel_metrics_exponential_histogram (${common}, AggregationTemporality, Count, PositiveBucketCounts) SELECT ${ofMetric(chosen.exponential, app)}, 1, 3, [1, 2]`,
    `otel_traces (Timestamp, ServiceName, SpanName, SpanKind, StatusCode, Duration, AppId, uid) SELECT toStartOfMinute(now()), ${service}, 'GET /', 'Server', '${app === 0 ? 'Ok' : 'Error'}', 5, ${app}, ${app + 1}`,
  ]);
  const sum = `otel_metrics_sum (${common}, AggregationTemporality, Value, HasValue, IsMonotonic) SELECT`;
  for (const statement of [
    ...ofBoth,
    `${sum} ${ofMetric(chosen.sum)}, 1, 7, true, true`,
    `${sum} ${ofMetric(falling)}, 1, 7, true, false`,
  ])
    await stack.spansQuery(`INSERT INTO otel.${statement}`);
  for (const table of ['otel_traces', 'ingest_outcomes', 'ingest_refusals', 'ingest_samples']) {
    await waitFor(`rows in ${table}`, 60_000, async () => {
      const [row] = await stack.spansQuery(`SELECT count() AS rows FROM otel.${table}`);
      return Number(row?.['rows']) > 0;
    });
  }
  await stack.waitForRows(report.result_table.table_id, 1);
  await stack.waitForRows(split.result_table.table_id, 2);
  await stack.waitForEmptyStream('TRACES');
};

const hourMs = 3_600_000;
const from = () => new Date(Date.now() - hourMs);
const to = () => new Date(Date.now() + hourMs);

/** How a query names a variable of its dashboard. */
const variable = (name: string): string => `\${${name}:raw}`;

/** The table_id of a report without its last word. */
const stemOf = ({ result_table: { table_id: table } }: Report): string => table.replace(/__default__$/, '');

/** What a page of points shows: a table, or the view of a metric of a split one. */
type Shown = { readonly table: string; readonly metric: string; readonly base: string };

const wide = (): Shown => ({
  table: report.result_table.table_id,
  metric: 'cpu',
  base: report.result_table.table_id,
});
const ofSplit = (metric: string): Shown => ({
  table: `${stemOf(split)}${metric}`,
  metric: 'value',
  base: split.result_table.table_id,
});

/** What Grafana's Postgres source makes of its macros, and the dashboard of its variables. */
const forQuestdb = (text: string, shown: Shown): string =>
  text
    .replace(
      /\$__timeFilter\(([^)]+)\)/g,
      (_, column: string) => `${column} BETWEEN '${from().toISOString()}' AND '${to().toISOString()}'`,
    )
    .replaceAll('$__interval', '1m')
    .replaceAll(variable('table'), shown.table)
    .replaceAll(variable('base'), shown.base)
    .replaceAll(variable('metric'), shown.metric);

const seconds = (moment: Date): number => Math.floor(moment.getTime() / 1_000);

/** What Grafana puts for each variable of ClickHouse. */
const values = new Map<string, string>();

/** What Grafana's ClickHouse plugin makes of its macros, with points this far apart. */
const forClickhouse = (text: string, intervalSeconds: number): string =>
  text
    .replace(
      /\$__timeFilter\(([^)]+)\)/g,
      (_, column: string) =>
        `${column} >= toDateTime(${seconds(from())}) AND ${column} <= toDateTime(${seconds(to())})`,
    )
    .replace(
      /\$__timeInterval\(([^)]+)\)/g,
      (_, column: string) => `toStartOfInterval(toDateTime(${column}), INTERVAL ${intervalSeconds} second)`,
    )
    .replaceAll('$__fromTime', `toDateTime(${seconds(from())})`)
    .replaceAll('$__toTime', `toDateTime(${seconds(to())})`)
    .replaceAll('$__interval_s', String(intervalSeconds))
    .replaceAll(/\$\{(\w+):raw\}/g, (_, name: string) => values.get(name) ?? '');

const variables = (type: string) =>
  [...dashboards().values()].flatMap(({ templating }) =>
    templating.list
      .filter(({ datasource }) => datasource.type === type)
      .map(({ name, query }) => ({ place: `variable ${name}`, text: query })),
  );

const questdb = 'grafana-postgresql-datasource';
const clickhouse = 'grafana-clickhouse-datasource';

/** Grafana takes the one that suits the range of time and the width of the panel. */
const intervals = [5, 60];

/** The rows of a query of the reader, whom Grafana uses. */
const questdbRows = async (text: string, shown: Shown) => {
  const address = { port: stack.engines.questdbPgPort, ...stack.engines.reader, database: 'qdb' };
  const { columns, rows } = await wireQuery(address, forQuestdb(text, shown));
  return rows.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index]])));
};

const answerSchema = z.object({ data: z.array(z.record(z.string(), z.unknown())) });

/** The rows of a query of the reader, whom Grafana uses. */
const clickhouseRows = async (text: string, intervalSeconds: number) => {
  const response = await fetch(`${new URL(stack.engines.clickhouse.url).origin}/?default_format=JSON`, {
    method: 'POST',
    headers: { authorization: basicAuthorization(stack.engines.reader) },
    body: forClickhouse(text, intervalSeconds),
  });
  const answer = await response.text();
  expect(response.status, answer).toBe(200);
  return answerSchema.parse(JSON.parse(answer)).data;
};

/** As the plugin does: the first column of a variable's query is its value, and the last one its text. */
const chooseValues = async (): Promise<void> => {
  for (const [name, shown] of Object.entries(chosen)) {
    const query = variables(clickhouse).find(({ place }) => place === `variable ${name}`);
    const rows = await clickhouseRows(query?.text ?? '', 60);
    const found = rows.map((row) => Object.values(row)).find((cells) => cells.at(-1) === shown);
    values.set(name, String(found?.[0]));
  }
};

/** The queries of the panels with this title, on any dashboard. */
const panels = (title: string) =>
  queriesTo(clickhouse).filter(({ place }) => place.endsWith(`.json: ${title}`));

const command = async (text: string): Promise<void> => {
  const answer = await askEngine(stack.engines.clickhouse.url, text);
  expect(answer.status, answer.text).toBe(200);
};

const numbersOf = (rows: readonly Record<string, unknown>[], column: string): number[] =>
  rows.map((row) => Number(row[column]));

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

describe('every query of the dashboards', () => {
  beforeAll(async () => {
    stack = await sharedStack();
    report = await stack.createReport('dashboards');
    split = await stack.createReport('dashboards of a split table', { is_split_measurement: true });
    await fill();
    await chooseValues();
  });

  // As the reader, like Grafana. Without this test an operator would find a failing panel at night.
  it.each([...queriesTo(questdb), ...variables(questdb)])(
    '$place answers rows from QuestDB, of a table and of a metric of a split table',
    async ({ text }) => {
      for (const shown of [wide(), ofSplit('cpu')])
        expect((await questdbRows(text, shown)).length).toBeGreaterThan(0);
    },
  );

  it('the tables to choose are wide ones, and the metrics of split ones', async () => {
    const lists = variables(questdb).filter(({ place }) => place === 'variable table');
    expect(lists).toHaveLength(2);
    for (const { text } of lists) {
      const offered = (await questdbRows(text, wide())).map((row) => String(Object.values(row)[0]));
      expect(offered).toEqual(
        expect.arrayContaining([wide().table, ofSplit('bytes').table, ofSplit('cpu').table]),
      );
      expect(offered).not.toContain(split.result_table.table_id);
    }
    const base = variables(questdb).find(({ place }) => place === 'variable base');
    const [row] = await questdbRows(base?.text ?? '', ofSplit('cpu'));
    expect(Object.values(row ?? {})).toEqual([split.result_table.table_id]);
  });

  it('a metric of a split table is shown without the others', async () => {
    const shown = queriesTo(questdb).filter(({ place }) => place.includes(': The metric, by target'));
    expect(shown).toHaveLength(2);
    for (const { text } of shown)
      expect(numbersOf(await questdbRows(text, ofSplit('bytes')), 'value')).toEqual([100]);
  });

  it('the list of tables has their rows', async () => {
    const list = queriesTo(questdb).find(({ place }) => place.includes(': Tables: rows,'));
    const rows = await questdbRows(list?.text ?? '', wide());
    expect(rows.find(({ table }) => table === split.result_table.table_id)).toMatchObject({ rows: '2' });
    expect(rows.map(({ table }) => table)).not.toContain(ofSplit('cpu').table);
  });

  // Grafana keeps the last of two values of one time and series.
  it.each(
    queriesTo(clickhouse)
      .filter(({ place, text }) => place.startsWith('services.json') && text.includes(' AS time'))
      .flatMap((query) => intervals.map((interval) => ({ ...query, interval }))),
  )(
    '$place has one value of each time and series, in intervals of $interval s',
    async ({ text, interval }) => {
      const rows = await clickhouseRows(text, interval);
      const keys = rows.map(({ time, ServiceName: name, app }) => JSON.stringify([time, name, app]));
      expect(keys).toEqual([...new Set(keys)]);
    },
  );

  it('requests and errors of a service are those of all applications', async () => {
    const [requests] = panels('Requests by service');
    const rows = await clickhouseRows(requests?.text ?? '', 60);
    const of = (all: typeof rows) => all.filter(({ ServiceName: name }) => name === chosen.service);
    expect(total(numbersOf(of(rows), 'requests')) * 60).toBeCloseTo(2, 4);
    const [errors] = panels('Errors by service');
    expect(numbersOf(of(await clickhouseRows(errors?.text ?? '', 60)), 'errors')).toEqual([0.5]);
  });

  it('the sums to choose are those that only grow', async () => {
    const list = variables(clickhouse).find(({ place }) => place === 'variable sum');
    const offered = (await clickhouseRows(list?.text ?? '', 60)).map((row) => Object.values(row).at(-1));
    expect(offered).toContain(chosen.sum);
    expect(offered).not.toContain(falling);
  });

  it.each(
    [...queriesTo(clickhouse), ...variables(clickhouse)].flatMap((query) =>
      intervals.map((interval) => ({ ...query, interval })),
    ),
  )('$place answers rows from ClickHouse, in intervals of $interval s', async ({ text, interval }) => {
    expect((await clickhouseRows(text, interval)).length).toBeGreaterThan(0);
  });

  // Senders export a sum once a minute, and a point of the panel may stand for 5 s.
  it.each(intervals)('a sum that grew by 7 in 60 s grew so at any interval: %d s', async (interval) => {
    const [query] = panels('Rate of a sum');
    const rates = numbersOf(await clickhouseRows(query?.text ?? '', interval), 'per_second');
    expect(Math.max(...rates)).toBeLessThanOrEqual(7 / 60 + 1e-6);
    expect(total(rates) * interval).toBeCloseTo(7, 4);
  });

  it.each(
    ['Spans by service', 'Spans by service (ClickHouse)']
      .flatMap(panels)
      .flatMap((query) => intervals.map((interval) => ({ ...query, interval }))),
  )('$place has spans a second, in intervals of $interval s', async ({ text, interval }) => {
    const [stored] = await clickhouseRows('SELECT count() AS spans FROM otel.otel_traces FINAL', interval);
    const rates = numbersOf(await clickhouseRows(text, interval), 'spans');
    expect(total(rates) * interval).toBeCloseTo(Number(stored?.['spans']), 4);
  });

  // Without FINAL, which would read all rows of an hour at each refresh, a panel of all spans or records has the copies, and says so.
  it('a panel of requests or data points shows the same while each row has a copy', async () => {
    const tables = [
      'traces',
      'logs',
      'metrics_gauge',
      'metrics_sum',
      'metrics_histogram',
      'metrics_exponential_histogram',
    ];
    const shown = queriesTo(clickhouse).filter(
      ({ text }) => text.includes('otel.otel_') && !/otel_(traces|logs) WHERE/.test(text),
    );
    expect(shown.length).toBeGreaterThan(5);
    const read = () =>
      Promise.all(
        shown.map(async ({ place, text }) => {
          const rows = await clickhouseRows(text, 60);
          return { place, rows: rows.map((row) => JSON.stringify(row)).toSorted() };
        }),
      );
    const before = await read();
    for (const table of tables) await command(`SYSTEM STOP MERGES otel.otel_${table}`);
    try {
      for (const table of tables)
        await stack.spansQuery(
          `INSERT INTO otel.otel_${table} SELECT * REPLACE (ArrivedAt + 1 AS ArrivedAt) FROM otel.otel_${table}`,
        );
      expect(await read()).toEqual(before);
    } finally {
      for (const table of tables) {
        await command(`SYSTEM START MERGES otel.otel_${table}`);
        await command(`OPTIMIZE TABLE otel.otel_${table} FINAL`);
      }
    }
  });
});

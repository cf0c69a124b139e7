import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createCli } from '../support/clients/cli.ts';
import { requestOf, second, spanAt } from '../support/otlp/trace-cases.ts';
import { bodyOf } from '../support/push/stack.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let report: Report;
let [one, other]: Application[] = [];

const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const post = async (
  port: 'push' | 'otlp',
  body: string,
  headers: Record<string, string> = {},
): Promise<number> => {
  const path = port === 'push' ? '/v2/push/' : '/v1/traces';
  const isGzip = headers['Content-Encoding'] === 'gzip';
  const answer = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports[port]}${path}`, {
    method: 'POST',
    headers: { 'User-Agent': '=cmd|reporter/1.2', ...headers },
    body: isGzip ? gzipSync(body) : body,
  });
  await answer.text();
  return answer.status;
};

const nowNs = BigInt(Date.now()) * 1_000_000n - second;
const json = { 'Content-Type': 'application/json' };

const spansOf = (token: string, numbers: readonly number[]) => {
  const [resource] = requestOf(numbers.map((number) => spanAt(nowNs, number))).resourceSpans;
  return {
    ...resource,
    resource: {
      attributes: [
        { key: 'service.name', value: { stringValue: 'shop' } },
        { key: 'telemetry.sdk.name', value: { stringValue: 'opentelemetry' } },
        { key: 'mon.data.token', value: { stringValue: token } },
      ],
    },
  };
};

const usageSchema = z.object({
  items: z.array(
    z.looseObject({
      mon_biz_id: z.number().nullable(),
      data_id: z.number(),
      app_id: z.number(),
      requests: z.number(),
      items: z.number(),
      wire_bytes: z.number(),
      inflated_bytes: z.number(),
    }),
  ),
});

const usage = async (query = '') =>
  usageSchema.parse((await stack.api('GET', `/api/v1/usage${query}`)).body).items;

const dataId = (): number => report.data_source.mon_data_id;
const points = Array.from({ length: 50 }, (_, value) => ({ metrics: { cpu: value }, target: 'a' }));
const sizes = { plain: 0, zipped: 0, inflated: 0, shared: 0 };

beforeAll(async () => {
  stack = await startStack({ traces: true, env: { TIDEMARK_METADATA_STORES_ON_DATA_DISK: 'true' } });
  report = await stack.createReport('usage', { mon_biz_id: 7 });
  [one, other] = [
    await stack.createApplication('one', { mon_biz_id: 7 }),
    await stack.createApplication('other', { mon_biz_id: 8 }),
  ];
  for (const [path, days] of [
    [`data-sources/${dataId()}`, 30],
    [`applications/${one?.app_id}`, 20],
  ] as const)
    expect((await stack.api('PATCH', `/api/v1/${path}/policy`, { retention_days: days })).status).toBe(200);
  const keyed = { 'Idempotency-Key': 'k1' };
  const small = bodyOf(report, [
    { metrics: { cpu: 1 }, target: 'a', timestamp: Date.now() },
    { metrics: {}, timestamp: Date.now() },
  ]);
  const large = bodyOf(report, points);
  sizes.plain = Buffer.byteLength(small);
  sizes.inflated = Buffer.byteLength(large);
  sizes.zipped = gzipSync(large).length;
  expect(await post('push', small, keyed)).toBe(200);
  expect(await post('push', small, keyed)).toBe(200);
  expect(await post('push', large, { 'Content-Encoding': 'gzip' })).toBe(200);
  expect(await post('push', bodyOf(report, [{ metrics: {} }]))).toBe(400);
  const shared = JSON.stringify({
    resourceSpans: [spansOf(one?.token ?? '', [1, 2, 3]), spansOf(other?.token ?? '', [4])],
  });
  sizes.shared = Buffer.byteLength(shared);
  expect(await post('otlp', shared, { ...json, 'Content-Encoding': 'gzip' })).toBe(200);
  const unauthorized = (named: number): string =>
    JSON.stringify({ data_id: named, access_token: 'f'.repeat(32), data: points });
  for (let count = 0; count < 20; count++) expect(await post('push', unauthorized(1_999_999))).toBe(401);
  expect(await post('push', unauthorized(dataId()))).toBe(401);
  // Its last lines go out with the end of the receiver.
  expect(await stack.ingress[0]?.stop()).toBe(0);
  await until('usage, items and refusals in ClickHouse', async () => {
    const items = await usage();
    return items.length === 3 && items.every((row) => row.requests > 0 && row.items > 0);
  });
});
afterAll(() => stack?.stop());

describe('usage', () => {
  it('has of each owner what was accepted: a repeat and a refused request count beside, gzip as sent and inflated', async () => {
    const items = await usage('?by=owner');
    expect(items.find((row) => row.data_id === dataId())).toMatchObject({
      ...{ mon_biz_id: 7, pipeline: 'metrics', requests: 2, items: 52 },
      ...{ wire_bytes: sizes.plain + sizes.zipped, inflated_bytes: sizes.plain + sizes.inflated },
      ...{ refused_requests: 1, repeated_requests: 1, last_sender: '127.0.0.1' },
    });
    expect(sizes.zipped).toBeLessThan(sizes.inflated);
  });

  it('divides an export of two applications by their spans, without a byte more or less', async () => {
    const items = await usage('?by=owner');
    const [ofOne, ofOther] = [one, other].map((app) => items.find((row) => row.app_id === app?.app_id));
    expect([ofOne?.items, ofOther?.items]).toEqual([3, 1]);
    expect([ofOne?.requests, ofOther?.requests]).toEqual([1, 1]);
    expect(ofOne?.inflated_bytes).toBe(Math.floor((3 * sizes.shared) / 4));
    expect((ofOne?.inflated_bytes ?? 0) + (ofOther?.inflated_bytes ?? 0)).toBe(sizes.shared);
    expect(ofOne?.wire_bytes).toBeLessThan(ofOne?.inflated_bytes ?? 0);
  });

  it('is summed by business and by day, also for one business, and ends with its period', async () => {
    const byBusiness = await usage('?by=business');
    expect(byBusiness.map((row) => [row.mon_biz_id, row.requests, row.items])).toEqual([
      [7, 3, 55],
      [8, 1, 1],
    ]);
    const day = new Date().toISOString().slice(0, 10);
    expect(await usage('?by=day&mon_biz_id=8')).toMatchObject([{ day, requests: 1, items: 1 }]);
    expect(await usage('?by=owner&until=1000')).toEqual([]);
  });

  it('has all of a period that ends with the last second of a DateTime', async () => {
    const last = 'since=0&until=4294967295';
    expect(await usage(`?by=owner&${last}`)).toHaveLength(3);
    expect((await itemsOf(`/api/v1/outcomes?${last}`)).map((row) => row.data_id)).toContain(dataId());
    expect((await stack.api('GET', '/api/v1/usage?until=4294967296')).status).toBe(422);
  });

  it('keeps the business of a deleted owner', async () => {
    const path = `/api/v1/applications/${other?.app_id}`;
    expect((await stack.api('DELETE', path, {})).status).toBe(200);
    expect(await usage('?by=business')).toMatchObject([{ mon_biz_id: 7 }, { mon_biz_id: 8, items: 1 }]);
  });

  it('refuses an owner that does not exist, and a business with an owner', async () => {
    expect((await stack.api('GET', '/api/v1/usage?data_id=1')).status).toBe(404);
    expect((await stack.api('GET', `/api/v1/usage?mon_biz_id=7&data_id=${dataId()}`)).status).toBe(422);
  });

  it('comes as CSV that no spreadsheet runs, by parameter and by Accept', async () => {
    const url = `http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/usage?data_id=${dataId()}`;
    const authorization = { Authorization: `Bearer ${stack.adminToken()}` };
    const answers = await Promise.all([
      fetch(`${url}&format=csv`, { headers: authorization }),
      fetch(url, { headers: { ...authorization, Accept: 'text/csv' } }),
    ]);
    for (const answer of answers) {
      expect(answer.headers.get('content-type')).toContain('text/csv');
      expect(answer.headers.get('content-disposition')).toMatch(
        /^attachment; filename="usage(-\d{8}T\d{6}Z){2}\.csv"$/,
      );
      const [head, row] = (await answer.text()).split('\r\n');
      expect(head?.split(',').slice(0, 6)).toEqual(
        'mon_biz_id,pipeline,data_id,app_id,day,requests'.split(','),
      );
      expect(row).toMatch(new RegExp(`^7,metrics,${dataId()},0,,2,52,`));
      expect(row).toContain(",'=cmd|reporter/1.2");
    }
    const plain = await fetch(`${url}&format=json`, { headers: { ...authorization, Accept: 'text/csv' } });
    expect(plain.headers.get('content-type')).toBe('application/json');
    const ofSenders = {
      silent: 'mon_biz_id,data_id,app_id,last_seen,last_sender,last_sdk',
      failing: 'pipeline,sender,sdk,reason,data_id,app_id,hours,samples,first_seen,last_seen',
    };
    for (const [list, columns] of Object.entries(ofSenders)) {
      const answer = await fetch(url.replace(/\?.*/, `/${list}?format=csv`), { headers: authorization });
      expect((await answer.text()).split('\r\n')[0]).toBe(columns);
      expect(answer.headers.get('content-disposition')).toContain(`filename="${list}-2`);
    }
  });

  it('is printed by tidemark usage', async () => {
    const text = await cli.text(`usage --by owner --since 7d --data-id ${dataId()}`);
    expect(text).toMatch(/WHOSE +BUSINESS +REQUESTS +ITEMS +BYTES SENT/);
    expect(text).toMatch(new RegExp(`data id ${dataId()} +7 +2 +52 +`));
    expect(await cli.text('usage --by business --biz 7')).toMatch(/^7 +3 +55 /m);
    expect(await cli.text(`usage --csv --data-id ${dataId()}`)).toMatch(/\r\n7,metrics,/);
    expect(usageSchema.parse(JSON.parse(await cli.text('usage --by day --json'))).items).toHaveLength(1);
  });
});

const textOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

type Owner = { readonly data_id?: number; readonly app_id?: number };

/** A row of usage of this arrival; without a pipeline it is one of an earlier version. */
const usedOn = (owner: Owner, ms: number, pipeline = ''): string =>
  `(${owner.data_id ?? 0}, ${owner.app_id ?? 0}, toStartOfMinute(toDateTime('${textOf(ms)}', 'UTC')), 1, 1, 1, 1, 1, 1, toDateTime64('${textOf(ms)}', 3, 'UTC'), '10.0.0.9', 'job', 1, '${pipeline}')`;

const usedAt = (owner: Owner, hours: number, pipeline = ''): string =>
  usedOn(owner, Date.now() - hours * 3_600_000, pipeline);

const daily = (from: number, days: number): number[] =>
  Array.from({ length: days }, (_, day) => from + 24 * day + (day % 2 === 0 ? 0 : 0.5));

const run = async (statement: string): Promise<void> => {
  const clickhouse = createClickhouse({ url: stack.engines.clickhouse.url });
  await clickhouse.run(statement);
  await clickhouse.close();
};

const insertUsage = (owner: Owner, hours: readonly number[]): Promise<void> =>
  run(`INSERT INTO otel.ingest_usage VALUES ${hours.map((each) => usedAt(owner, each)).join(', ')}`);

describe('usage by signal', () => {
  it('divides an application; what an earlier version counted without a signal stands apart', async () => {
    const app = await stack.createApplication('signals', { mon_biz_id: 11 });
    const owner = { app_id: app.app_id };
    const published = (stream: string, items: number): string =>
      `('${stream}', 7, toStartOfMinute(now()), 0, ${app.app_id}, 1, ${items}, ${items}, 1, {}, 1, 1, 1, 1, 1, now())`;
    await run(`INSERT INTO otel.ingest_published VALUES ${published('TRACES', 5)}, ${published('LOGS', 6)}`);
    const rows = [usedAt(owner, 2, 'traces'), usedAt(owner, 3, 'logs'), usedAt(owner, 4)];
    for (const row of rows) await run(`INSERT INTO otel.ingest_usage VALUES ${row}`);
    const bySignal = [
      ['traces', 1, 5],
      ['logs', 1, 6],
      [null, 1, 0],
    ];
    const shown = async (by: string) =>
      (await usage(`?app_id=${app.app_id}&by=${by}`)).map((row) => [
        row['pipeline'],
        row.requests,
        row.items,
      ]);
    expect(await shown('signal')).toEqual(bySignal);
    expect((await shown('owner_signal')).toSorted()).toEqual(bySignal.toSorted());
    expect(await shown('owner')).toEqual([[null, 3, 11]]);
    const text = await cli.text(`usage --by owner_signal --biz 11`);
    expect(text).toMatch(new RegExp(`^application ${app.app_id} +logs +11 +1 +6 `, 'm'));
  });

  it('sums all owners, and earlier rows of a data id are points', async () => {
    const { data_source: old } = await stack.createReport('old', { mon_biz_id: 12 });
    await insertUsage({ data_id: old.mon_data_id }, [2]);
    const items = await usage('?by=signal');
    expect(items.map((row) => row['pipeline'])).toEqual(['metrics', 'traces', 'logs', null]);
    expect(items[0]).toMatchObject({ mon_biz_id: null, data_id: 0, requests: 3, items: 52 });
    expect(await usage('?by=signal&mon_biz_id=12')).toMatchObject([{ pipeline: 'metrics', requests: 1 }]);
    expect(await cli.text('usage --by signal')).toMatch(/^metrics +3 +52 /m);
    expect(await cli.text('usage --by signal --csv --biz 12')).toMatch(/\r\n,metrics,0,0,,1,0,/);
  });
});

const agoText = (minutes: number): string => `toStartOfMinute(now() - INTERVAL ${minutes} MINUTE)`;

describe('when an owner last sent anything', () => {
  const sentSchema = z.array(
    z.looseObject({ last_seen: z.number().nullable(), last_sent: z.number().nullable() }),
  );
  const sentBy = async (query: string) => sentSchema.parse(await usage(query))[0];
  const minutesAgo = (at: number | null | undefined): number =>
    Math.round((Date.now() / 1000 - (at ?? Number.NaN)) / 60);

  // Nothing said since when its requests were refused, or that it sends at all.
  it('is in its usage where nothing is kept: all requests refused, or all items rejected', async () => {
    const { data_source: refused } = await stack.createReport('all refused', { mon_biz_id: 15 });
    const { app_id: rejected } = await stack.createApplication('nothing but rejected', { mon_biz_id: 16 });
    const id = refused.mon_data_id;
    await run(`INSERT INTO otel.ingest_refusals VALUES
      ('metrics', ${id}, 0, ${agoText(30)}, 'refused', 'metrics_empty', 1, 3, 7, 1),
      ('metrics', ${id}, 0, ${agoText(20)}, 'duplicate', '', 1, 3, 7, 2),
      ('metrics', ${id}, 0, ${agoText(10)}, 'value_lost', 'metric_not_finite', 0, 3, 7, 3)`);
    await run(`INSERT INTO otel.ingest_published VALUES
      ('TRACES', 7, ${agoText(40)}, 0, ${rejected}, 1, 4, 0, 1, {'span_id_invalid': 4}, 2, 2, 2, 1, 1, now())`);
    for (const [query, minutes] of [
      [`?data_id=${id}`, 20],
      ['?by=business&mon_biz_id=15', 20],
      [`?app_id=${rejected}`, 40],
      [`?by=owner_signal&app_id=${rejected}`, 40],
    ] as const) {
      const row = await sentBy(query);
      expect(row?.last_seen, query).toBeNull();
      expect(Math.abs(minutesAgo(row?.last_sent) - minutes), query).toBeLessThanOrEqual(1);
    }
    expect(await cli.text('usage --biz 15')).toMatch(
      /REPEATED +LAST SENT +LAST SEEN .*\n.* 1 +1 +2\S+ \S+ +–/,
    );
  });

  it('is that of its last request to the millisecond where it was kept, and the minute of what was refused after it', async () => {
    const { data_source: source } = await stack.createReport('kept and refused', { mon_biz_id: 17 });
    const owner = { data_id: source.mon_data_id };
    await insertUsage(owner, [2]);
    const before = await sentBy(`?data_id=${owner.data_id}`);
    expect(before?.last_sent).toBe(before?.last_seen);
    await insertRefused(owner.data_id);
    const after = await sentBy(`?data_id=${owner.data_id}`);
    expect(after?.last_seen).toBe(before?.last_seen);
    expect(Math.abs(minutesAgo(after?.last_sent) - 60)).toBeLessThanOrEqual(1);
  });
});

describe('adjacent periods', () => {
  const refusals = z.object({
    items: z.array(z.object({ refusals: z.array(z.object({ requests: z.number() })) })),
  });

  it('have no minute in common, and by day the first day counts whole', async () => {
    const { app_id: appId } = await stack.createApplication('adjacent', { mon_biz_id: 14 });
    const day = 86_400;
    const first = (Math.floor(Date.now() / 1000 / day) - 3) * day;
    const minutes = [first, first + day - 60, first + day];
    const rows = minutes.map((minute) => usedOn({ app_id: appId }, minute * 1000, 'traces'));
    await run(`INSERT INTO otel.ingest_usage VALUES ${rows.join(', ')}`);
    const refused = minutes.map(
      (minute) =>
        `('traces', 0, ${appId}, toDateTime(${minute}), 'refused', 'rate_limited', 1, 1, 1, ${minute})`,
    );
    await run(
      `INSERT INTO otel.ingest_refusals (pipeline, data_id, app_id, minute, kind, reason, requests, items, boot, seq)
         VALUES ${refused.join(', ')}`,
    );
    const countsOf = async (since: number, until: number) => {
      const query = `app_id=${appId}&since=${since}&until=${until}`;
      const { body } = await stack.api('GET', `/api/v1/outcomes?${query}`);
      const [account] = refusals.parse(body).items;
      return {
        owner: (await usage(`?${query}`)).map(({ requests }) => requests),
        day: (await usage(`?by=day&${query}`)).map(({ requests }) => requests),
        refused: account?.refusals.map(({ requests }) => requests) ?? [],
      };
    };
    expect(await countsOf(first, first + day)).toEqual({ owner: [2], day: [2], refused: [2] });
    expect(await countsOf(first + day, first + 2 * day)).toEqual({ owner: [1], day: [1], refused: [1] });
    // A minute that the end cuts: of the next period for usage, which is added up; whole for outcomes.
    expect(await countsOf(first, first + day + 1)).toEqual({ owner: [2], day: [2], refused: [3] });
    expect(await countsOf(first + day + 1, first + 2 * day)).toEqual({ owner: [1], day: [1], refused: [1] });
    expect(await countsOf(first + 61, first + day)).toEqual({ owner: [1], day: [2], refused: [1] });
  });
});

const itemsSchema = z.object({ items: z.array(z.looseObject({ data_id: z.number(), app_id: z.number() })) });

const itemsOf = async (path: string) => itemsSchema.parse((await stack.api('GET', path)).body).items;

/** The figure of a gauge once metadata has looked again. */
const gaugeAfterRestart = async (name: string): Promise<number> => {
  await stack.metadata.stop();
  stack.metadata.start();
  await stack.metadata.ready();
  return await until(`${name} to be read`, async () => {
    const text = await stack.metadata.metrics();
    const at = /^tidemark_watch_last_success_timestamp_seconds\{[^}]*what="usage"[^}]*\} (\d+)/m.exec(
      text,
    )?.[1];
    const figure = new RegExp(`^${name}\\S* (\\d+)`, 'm').exec(text)?.[1];
    return Number(at ?? 0) > 0 && Number(figure);
  });
};

const hourAgo = 'toStartOfMinute(now() - INTERVAL 1 HOUR)';

/** An hour ago an export of this application arrived, all of whose items were rejected; a push of this data id was refused. */
const insertRejected = async (appId: number): Promise<void> =>
  run(
    `INSERT INTO otel.ingest_published VALUES ('TRACES', 7, ${hourAgo}, 0, ${appId}, 1, 4, 0, 1, {'span_id_invalid': 4}, 2, 2, 2, 1, 1, now())`,
  );
const insertRefused = async (dataId: number): Promise<void> =>
  run(
    `INSERT INTO otel.ingest_refusals VALUES ('metrics', ${dataId}, 0, ${hourAgo}, 'refused', 'metrics_empty', 1, 3, 7, 1)`,
  );

describe('a producer that was seen daily', () => {
  it('and is silent for a day is listed and counted; others are not', async () => {
    const withoutTable = await stack.createReport('without table');
    const [gone, young, present, disabled] = [
      await stack.createReport('gone', { mon_biz_id: 9 }),
      await stack.createReport('young'),
      await stack.createReport('present'),
      await stack.createReport('disabled'),
    ].map(({ data_source }) => data_source.mon_data_id);
    await insertUsage({ data_id: gone ?? 0 }, daily(25, 8));
    await insertUsage({ data_id: young ?? 0 }, daily(25, 6));
    await insertUsage({ data_id: present ?? 0 }, daily(20, 9));
    await insertUsage({ data_id: disabled ?? 0 }, daily(25, 8));
    await insertUsage({ app_id: one?.app_id ?? 0 }, daily(8 * 24, 9));
    expect((await stack.api('POST', `/api/v1/data-sources/${disabled}/disable`, {})).status).toBe(200);
    const { mon_data_id: refused } = withoutTable.data_source;
    await insertUsage({ data_id: refused }, daily(25, 8));
    const table = `/api/v1/result-tables/${withoutTable.time_series_group.table_id}`;
    expect((await stack.api('POST', `${table}/disable`, {})).status).toBe(200);
    expect((await stack.api('GET', `/api/v1/data-sources/${refused}/activity`)).body).toMatchObject({
      state: 'disabled',
    });
    expect(await itemsOf('/api/v1/usage/silent')).toMatchObject([
      { mon_biz_id: 9, data_id: gone, app_id: 0, last_sender: '10.0.0.9', last_sdk: 'job' },
    ]);
    // Nothing of what it sends is kept any more, which is another trouble than silence.
    const [unkept, rejecting] = [
      (await stack.createReport('nothing kept')).data_source.mon_data_id,
      (await stack.createApplication('all rejected')).app_id,
    ];
    await insertUsage({ data_id: unkept }, daily(25, 8));
    await insertUsage({ app_id: rejecting }, daily(25, 8));
    expect(await itemsOf('/api/v1/usage/silent')).toHaveLength(3);
    await insertRefused(unkept);
    await insertRejected(rejecting);
    expect(await itemsOf('/api/v1/usage/silent')).toMatchObject([{ data_id: gone }]);
    expect(await cli.text('usage --silent')).toMatch(new RegExp(`data id ${gone} +9 +.*10\\.0\\.0\\.9`));
    expect(await gaugeAfterRestart('tidemark_usage_silent_owners')).toBe(1);
  });
});

describe('tidemark doctor', () => {
  it('is neither in the usage nor silent, unless it is asked for', async () => {
    const { data_source: trial } = await stack.createReport('tidemark_doctor', { mon_biz_id: 13 });
    const id = trial.mon_data_id;
    await insertUsage({ data_id: id }, daily(25, 8));
    const since = Math.floor(Date.now() / 1000) - 10 * 86_400;
    for (const by of ['owner', 'business', 'day', 'signal', 'owner_signal']) {
      expect(await usage(`?by=${by}&mon_biz_id=13&since=${since}`), by).toEqual([]);
      const shown = await usage(`?by=${by}&mon_biz_id=13&since=${since}&system=true`);
      expect(shown.reduce((sum, row) => sum + row.requests, 0)).toBe(8);
    }
    const printed = new RegExp(`^data id ${id} `, 'm');
    expect(await cli.text('usage --since 10d')).not.toMatch(printed);
    expect(await cli.text('usage --since 10d --system')).toMatch(printed);
    expect((await usage(`?since=${since}`)).some((row) => row.data_id === id)).toBe(false);
    expect(await usage(`?data_id=${id}&since=${since}`)).toMatchObject([{ data_id: id, requests: 8 }]);
    expect((await itemsOf('/api/v1/usage/silent')).some((row) => row.data_id === id)).toBe(false);
  });

  it('is not in the sums by reason, unless it is asked for', async () => {
    const { app_id: id } = await stack.createApplication('tidemark_doctor', { mon_biz_id: 13 });
    await run(
      `INSERT INTO otel.ingest_outcomes (pipeline, data_id, app_id, base, first, ordinal, redrive, minute, received, outcomes, at)
         SELECT 'logs', 0, ${id}, 1, 0, -1, 0, toStartOfMinute(now()), 9, map('dropped/body_too_long', 9), now64(3)`,
    );
    const query = '/api/v1/outcomes?group=reason';
    const ofLogs = expect.objectContaining({ pipeline: 'logs', received: 9 });
    const buckets = async (path: string) =>
      z.object({ buckets: z.array(z.unknown()) }).parse((await stack.api('GET', path)).body).buckets;
    expect(await buckets(`${query}&system=true`)).toContainEqual(ofLogs);
    expect(await buckets(query)).not.toContainEqual(ofLogs);
  });
});

describe('a sender that fails authorisation', () => {
  it('hour by hour is listed and counted although another one fails far more often', async () => {
    const ofNamed = `reason = 'unauthorized' AND detail LIKE '%data id ${dataId()}'`;
    for (const hours of [1, 2, 3, 4, 5])
      await run(
        `INSERT INTO otel.ingest_samples SELECT * REPLACE (at - INTERVAL ${hours} HOUR AS at, seq + 1000 * ${hours} AS seq)
           FROM (SELECT * FROM otel.ingest_samples WHERE ${ofNamed} AND seq < 1000)`,
      );
    expect(await itemsOf('/api/v1/usage/failing')).toMatchObject([
      { data_id: dataId(), app_id: 0, reason: 'unauthorized', sender: '127.0.0.1', hours: 6, samples: 6 },
    ]);
    expect(await itemsOf('/api/v1/usage/failing?hours=7')).toEqual([]);
    expect(await itemsOf('/api/v1/usage/failing?hours=1')).toHaveLength(2);
    expect(await cli.text('usage --failing')).toMatch(
      new RegExp(`^127\\.0\\.0\\.1 +=cmd\\|reporter/1\\.2 +data id ${dataId()} +unauthorized +6 `, 'm'),
    );
    expect(await gaugeAfterRestart('tidemark_usage_failing_senders')).toBe(1);
  });
});

const diskSchema = z.object({
  volumes: z.array(z.looseObject({ disk: z.string(), days_left: z.number().nullable() })),
  items: z.array(
    z.looseObject({
      store: z.string(),
      data_id: z.number(),
      app_id: z.number(),
      day: z.string().nullable(),
      rows: z.number(),
      bytes: z.number(),
    }),
  ),
});

const disk = async (query = '') =>
  diskSchema.parse((await stack.api('GET', `/api/v1/usage/disk${query}`)).body);

describe('what owners have on the disk', () => {
  it('is theirs in each store, by owner and by day, with what a day adds and the retention', async () => {
    const { items } = await disk();
    expect(items.find((row) => row.data_id === dataId())).toMatchObject({
      ...{ store: 'questdb', mon_biz_id: 7, pipeline: 'metrics', rows: 51, days: 1, retention_days: 30 },
    });
    expect(items.find((row) => row.app_id === one?.app_id)).toMatchObject({
      ...{ store: 'clickhouse', mon_biz_id: 7, pipeline: 'traces', rows: 3, retention_days: 20 },
    });
    const table = z.object({ bytes: z.number(), days: z.array(z.object({ day: z.string() })) });
    const shown = table.parse((await stack.api('GET', `/api/v1/data-sources/${dataId()}/table`)).body);
    expect((await disk(`?data_id=${dataId()}&by=day`)).items).toMatchObject([
      { store: 'questdb', day: shown.days[0]?.day, rows: 51, bytes: shown.bytes },
    ]);
    const ofBiz = (await disk('?mon_biz_id=8')).items;
    expect(ofBiz).toMatchObject([{ app_id: other?.app_id, rows: 1 }]);
  });

  it('sums to the bytes of the stores, and the disk that they share has a forecast', async () => {
    const { volumes, items } = await disk();
    const sum = items.reduce((total, { bytes }) => total + bytes, 0);
    expect(volumes).toMatchObject([{ disk: 'data', stores: ['questdb', 'clickhouse'], why: '' }]);
    expect(Math.abs(sum - Number(volumes[0]?.['bytes']))).toBeLessThan(items.length);
    const exposed = /^tidemark_disk_days_left\{[^}]*disk="data"[^}]*\} (\S+)$/m;
    const left = await until('the forecast of the disk', async () =>
      Number(exposed.exec(await stack.metadata.metrics())?.[1]),
    );
    expect(left).toBeGreaterThan(7);
    expect(volumes[0]?.days_left).toBeGreaterThan(7);
  });

  it('is printed by tidemark usage --disk', async () => {
    const text = await cli.text('usage --disk');
    expect(text).toMatch(/^data +questdb, clickhouse +\d.*(in \d+ days|not in 10 years)$/m);
    expect(text).toMatch(new RegExp(`^data id ${dataId()} +metrics +7 +questdb +\\d.* 30 days$`, 'm'));
    expect(await cli.text(`usage --disk --by day --data-id ${dataId()}`)).toMatch(
      /^2\d{3}-\d\d-\d\d +questdb/m,
    );
    expect((await stack.api('GET', '/api/v1/usage/disk?data_id=1')).status).toBe(404);
  });

  it('comes as CSV, from the command and the API alike', async () => {
    expect(await stack.api('GET', '/api/v1/usage/disk')).toMatchObject({ body: { missing: [] } });
    const printed = await cli.text(`usage --disk --csv --data-id ${dataId()}`);
    const [head, row] = printed.split('\r\n');
    expect(head).toBe(
      'store,mon_biz_id,pipeline,data_id,app_id,day,days,rows,bytes,bytes_per_day,retention_days',
    );
    expect(row).toMatch(new RegExp(`^questdb,7,metrics,${dataId()},0,,1,51,\\d+,\\d+,30$`));
    const url = `http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/usage/disk?data_id=${dataId()}&format=csv`;
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${stack.adminToken()}` } });
    expect((await answer.text()).trim()).toBe(printed.trim());
  });
});

// Last: it stops QuestDB.
describe('while a store does not answer', () => {
  it('CSV of the disks is an error that names the store, beside the rows of the others', async () => {
    await stack.engines.questdb.stop();
    // The last read serves for a minute.
    await stack.metadata.stop();
    stack.metadata.start();
    const path = '/api/v1/usage/disk';
    // It is not ready without the store.
    await until('metadata to answer', async () => (await stack.api('GET', path)).status === 200);
    const missing = [{ store: 'questdb', why: expect.stringContaining('QuestDB') }];
    expect(await stack.api('GET', path)).toMatchObject({ status: 200, body: { missing } });
    expect(await stack.api('GET', `${path}?format=csv`)).toMatchObject({
      status: 503,
      body: { code: 'store_unavailable', detail: expect.stringContaining('questdb: QuestDB') },
    });
    const { code, stdout, stderr } = await cli.run('usage --disk --csv');
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`\r\nclickhouse,7,traces,0,${one?.app_id},`));
    expect(stderr).toMatch(/^the rows of questdb are missing: QuestDB/);
  });
});

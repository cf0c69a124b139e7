import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RefusalRow, SampleRow } from '../../src/outcomes/rows.ts';
import { createCli } from '../support/clients/cli.ts';
import { type LedgerTap, startLedgerTap } from '../support/outcomes/ledger-tap.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let tap: LedgerTap;
let report: Report;
let application: Application;

beforeAll(async () => {
  stack = await startStack({ traces: true, env: { TIDEMARK_LOG_LEVEL: 'trace' } });
  tap = await startLedgerTap(stack.env['TIDEMARK_NATS_URL'] ?? '');
  report = await stack.createReport('drops');
  application = await stack.createApplication('drops');
});
afterAll(async () => {
  await tap?.stop();
  await stack?.stop();
});

const port = (name: 'push' | 'otlp'): number => stack.ingress[0]?.ports[name] ?? 0;

const push = async (body: unknown, headers: Record<string, string> = {}): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${port('push')}/v2/push/`, {
    method: 'POST',
    headers: { 'User-Agent': 'bench-reporter/1.2', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  await response.text();
  return response.status;
};

const bodyOf = ({ data_source: { mon_data_id, token } }: Report, data: unknown) => ({
  data_id: mon_data_id,
  access_token: token,
  data,
});

const otlp = async (body: unknown, token: string): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${port('otlp')}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
};

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

const spansOf = (spans: readonly unknown[], resource: readonly object[] = []) => ({
  resourceSpans: [
    {
      resource: {
        attributes: [
          attribute('service.name', 'cart'),
          attribute('telemetry.sdk.name', 'opentelemetry'),
          ...resource,
        ],
      },
      scopeSpans: [{ scope: { name: 'lib' }, spans }],
    },
  ],
});

const span = (change: object = {}) => ({
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  name: 'checkout',
  kind: 2,
  startTimeUnixNano: `${Date.now()}000000`,
  endTimeUnixNano: `${Date.now()}000000`,
  ...change,
});

type Counted = Pick<RefusalRow, 'requests' | 'items'>;

/** What was counted of this, once as many requests and items came as are expected. */
const countedAs = async (
  where: Partial<Pick<RefusalRow, 'kind' | 'reason' | 'data_id' | 'app_id' | 'pipeline'>>,
  expected: Counted,
): Promise<void> => {
  await waitFor(`${JSON.stringify(where)} to come to ${JSON.stringify(expected)}`, 60_000, () => {
    const rows = tap
      .refusals()
      .filter((row) => Object.entries(where).every(([name, value]) => Reflect.get(row, name) === value));
    const requests = rows.reduce((sum, row) => sum + row.requests, 0);
    const items = rows.reduce((sum, row) => sum + row.items, 0);
    if (requests !== expected.requests || items !== expected.items)
      throw new Error(JSON.stringify({ requests, items }));
    return true;
  });
};

const sampleOf = (dataId: number, reason: string, appId = 0): Promise<SampleRow> =>
  waitFor(`a sample of ${reason}`, 60_000, () =>
    tap.samples().find((row) => row.data_id === dataId && row.app_id === appId && row.reason === reason),
  );

// An operator sees that a data id stores less than expected; these rows explain why without a question to its sender.
describe('requests that receivers refused', () => {
  it('is counted by data id, reason, requests and items', async () => {
    const dataId = report.data_source.mon_data_id;
    const point = { metrics: { cpu: 1 }, target: 'a' };
    expect(await push({ ...bodyOf(report, [point]), access_token: 'wrong-token' })).toBe(401);
    expect(await push({ ...bodyOf(report, [point]), data_id: 1_999_999 })).toBe(401);
    expect(await push('{"data_id": 1, oops')).toBe(400);
    expect(await push(bodyOf(report, []))).toBe(400);
    expect(await push(bodyOf(report, [{ metrics: {} }, { metrics: {} }, { metrics: { cpu: 'x' } }]))).toBe(
      400,
    );
    const keyed = bodyOf(report, [
      { ...point, timestamp: Date.now() },
      { ...point, timestamp: Date.now() - 1 },
    ]);
    expect(await push(keyed, { 'Idempotency-Key': 'k1' })).toBe(200);
    expect(await push(keyed, { 'Idempotency-Key': 'k1' })).toBe(200);
    const refused = { kind: 'refused', pipeline: 'metrics' } as const;
    await countedAs({ ...refused, reason: 'unauthorized', data_id: 0 }, { requests: 2, items: 0 });
    await countedAs({ ...refused, reason: 'body_not_json', data_id: 0 }, { requests: 1, items: 0 });
    await countedAs({ ...refused, reason: 'data_empty', data_id: dataId }, { requests: 1, items: 0 });
    await countedAs({ ...refused, reason: 'metrics_empty', data_id: dataId }, { requests: 1, items: 2 });
    await countedAs(
      { ...refused, reason: 'metric_value_invalid', data_id: dataId },
      { requests: 0, items: 1 },
    );
    await countedAs({ kind: 'duplicate', data_id: dataId }, { requests: 1, items: 2 });
    // A sender without rights must not choose the names that are counted.
    expect(tap.refusals().some((row) => row.data_id === 1_999_999)).toBe(false);
  });

  it('is counted by application for traces, lost values among it', async () => {
    const { app_id: appId, token } = application;
    const long = attribute('long', 'x'.repeat(70_000));
    const lossy = span({
      attributes: [long],
      events: [{ timeUnixNano: 'N', name: 'event' }],
      links: [{ traceId: 'ff', spanId: 'ff' }],
    });
    expect(await otlp(spansOf([lossy]), token)).toBe(200);
    expect(await otlp(spansOf([lossy]), 'no-such-token')).toBe(401);
    const repeated = spansOf([span(), span({ spanId: 'eee19b7ec3c1b175' })]);
    expect(await otlp(repeated, token)).toBe(200);
    expect(await otlp(repeated, token)).toBe(200);
    const both = {
      resourceSpans: [
        ...spansOf([span({ name: 'mine' })]).resourceSpans,
        ...spansOf([span({ name: 'nobodys' })], [attribute('mon.data.token', 'no-such-token')]).resourceSpans,
      ],
    };
    expect(await otlp(both, token)).toBe(200);
    for (const reason of ['value_cut', 'event_time_invalid', 'link_id_invalid'])
      await countedAs({ kind: 'value_lost', reason, app_id: appId }, { requests: 1, items: 1 });
    await countedAs({ kind: 'duplicate', app_id: appId }, { requests: 1, items: 2 });
    await countedAs({ reason: 'unauthorized', pipeline: 'traces', app_id: 0 }, { requests: 1, items: 0 });
    await countedAs({ reason: 'token_invalid', app_id: 0 }, { requests: 0, items: 1 });
  });
});

describe('examples', () => {
  // A sender with the token `data` or `wrong` would hide the data id that it names, and what is wrong with it.
  it('of a 401 keep each word of its text, and so does the answer, where one equals the token of the request', async () => {
    const dataId = report.data_source.mon_data_id;
    const answerOf = async (name: 'push' | 'otlp', path: string, token: string, body: object) => {
      const headers = { 'Content-Type': 'application/json', 'X-MON-TOKEN': token };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`http://127.0.0.1:${port(name)}${path}`, init);
      return [answer.status, await answer.text()];
    };
    const point = { metrics: { cpu: 1 } };
    const pushOf = (token: string) =>
      answerOf('push', '/v2/push/', token, { ...bodyOf(report, [point]), access_token: token });
    const exportOf = (token: string) => answerOf('otlp', '/v1/traces', token, spansOf([span()]));
    expect(await pushOf('data')).toEqual(await pushOf('no-such-token'));
    expect(await exportOf('wrong')).toEqual(await exportOf('no-such-token'));
    const details = (): string[] =>
      tap.samples().flatMap(({ reason, detail }) => (reason === 'unauthorized' ? [detail] : []));
    const ofExport = 'the write token is missing or wrong: send a valid one in the header';
    await waitFor('both samples', 60_000, () => {
      const shown = details();
      return shown.includes(`data id ${dataId}`) && shown.some((detail) => detail.startsWith(ofExport));
    });
    expect(details().join('\n')).not.toContain('[redacted]');
  });

  it('show a dropped point: its origin, its error, and the point', async () => {
    const own = await stack.createReport('examples');
    const dataId = own.data_source.mon_data_id;
    const points = [
      { metrics: { cpu: 1 }, target: 'good' },
      { metrics: { cpu: 'high' }, target: 'bad', dimension: { module: 'db' } },
      { metrics: { cpu: 1 }, target: 'late', timestamp: 'N' },
    ];
    expect(await push(bodyOf(own, points))).toBe(200);
    const common = {
      pipeline: 'metrics',
      data_id: dataId,
      app_id: 0,
      sender: '127.0.0.1',
      sdk: 'bench-reporter/1.2',
    };
    expect(await sampleOf(dataId, 'metric_value_invalid')).toMatchObject({
      ...common,
      stage: 'receiver',
      ordinal: 1,
      field: 'metrics.cpu',
      value: 'high',
      detail: 'expected a number',
      payload: JSON.stringify(points[1]),
    });
    expect(await sampleOf(dataId, 'timestamp_not_numeric')).toMatchObject({
      ...common,
      stage: 'transfer',
      ordinal: 2,
      field: 'timestamp',
      value: 'N',
      payload: JSON.stringify(points[2]),
    });
  });

  it('show a rejected and a deferred span, without values of an earlier span', async () => {
    const { app_id: appId, token } = await stack.createApplication('examples');
    const good = span({ traceId: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' });
    const bad = span({ traceId: 'nothex', spanId: '0000000000000000', name: 'bad ids' });
    const late = span({
      startTimeUnixNano: 'N',
      name: 'no time',
      attributes: [attribute('http.route', '/x')],
    });
    expect(await otlp(spansOf([good, bad, late]), token)).toBe(200);
    const rejected = await sampleOf(0, 'trace_id_invalid', appId);
    expect(rejected).toMatchObject({
      ordinal: 1,
      field: 'traceId',
      value: 'nothex',
      sdk: 'opentelemetry',
      sender: '127.0.0.1',
    });
    expect(rejected.payload).toContain('"name":"bad ids"');
    expect(rejected.payload).not.toContain('aaaaaaaa');
    const deferred = await sampleOf(0, 'timestamp_not_numeric', appId);
    expect(deferred).toMatchObject({
      stage: 'transfer',
      ordinal: 2,
      field: 'startTimeUnixNano',
      value: 'N',
    });
    expect(JSON.parse(deferred.payload)).toMatchObject({
      name: 'no time',
      traceId: late.traceId,
      attributes: { 'http.route': '/x' },
      resource: { 'service.name': 'cart' },
    });
  });

  it('stay few however much is sent', async () => {
    const own = await stack.createReport('many');
    const dataId = own.data_source.mon_data_id;
    for (let round = 0; round < 10; round++) {
      const points = Array.from({ length: 1000 }, () => ({ metrics: {} }));
      expect(await push(bodyOf(own, [...points, 'no object', { metrics: { cpu: 1 } }]))).toBe(200);
    }
    // The last of a thousand has a reason of its own, and is shown for it.
    await sampleOf(dataId, 'point_not_object');
    const ofReason = tap.samples().filter((row) => row.data_id === dataId && row.reason === 'metrics_empty');
    // A minute may have begun in between.
    expect(ofReason.length).toBeLessThanOrEqual(10);
  });
});

// A token in LEDGER is in ClickHouse for 30 days, before everybody who may look at a dashboard.
describe('credentials', () => {
  it('are nowhere, wherever a sender puts them', async () => {
    const own = await stack.createReport('secrets');
    const other = await stack.createReport('other secrets');
    const { app_id: appId, token: appToken } = await stack.createApplication('secrets');
    const { token } = own.data_source;
    const secrets = [token, other.data_source.token, appToken, stack.adminToken()].slice(0, 3);
    const everywhere = (secret: string) => [
      { metrics: { cpu: secret }, target: secret, dimension: { module: secret }, access_token: secret },
      { metrics: { [secret]: 'x' } },
      { metrics: { access_token: 'hunter2' } },
      { metrics: { cpu: 1 }, dimension: { token: { nested: secret } } },
      { metrics: { cpu: 1 }, timestamp: secret },
      { metrics: { cpu: 1 }, timestamp: `prefix ${secret}`, dimension: { url: `/a?token=${secret}&b=1` } },
      { metrics: {}, target: { authorization: `Bearer ${secret}` } },
      `text ${secret}`,
    ];
    for (const secret of secrets) {
      const headers = { 'User-Agent': secret, 'X-Forwarded-For': secret, 'X-MON-TOKEN': secret };
      await push(bodyOf(own, everywhere(secret)), headers);
      await push(bodyOf(own, everywhere(secret)[0]), headers);
      await push(bodyOf(own, { access_token: secret, rows: [secret] }), headers);
      await push({ data_id: 1_999_998, access_token: secret, data: everywhere(secret) }, headers);
      await push(`{"access_token": "${secret}", oops`, headers);
      await push(`data_id=1&access_token=${secret}`, { ...headers, 'Content-Encoding': secret });
      const attributes = [
        attribute('x-mon-token', secret),
        attribute('bk.data.token', secret),
        attribute('note', `it is ${secret}`),
        attribute(secret, 'key'),
      ];
      const bad = [
        span({ traceId: secret, attributes }),
        span({ traceId: `${secret}x`, attributes }),
        span({ spanId: secret, name: secret, attributes }),
        span({ startTimeUnixNano: secret, endTimeUnixNano: 'N', name: secret, attributes }),
        span({ startTimeUnixNano: `x${secret}`.repeat(5), attributes }),
        span({ attributes: [{ key: 'authorization', value: { kvlistValue: secret } }] }),
        secret,
      ];
      const resource = [
        attribute('mon.data.token', appToken),
        attribute('x-mon-token', secret),
        attribute('telemetry.sdk.language', secret),
      ];
      expect(await otlp(spansOf(bad, resource), secret)).toBe(200);
      await otlp(spansOf(bad, [attribute('mon.data.token', `${secret}0`)]), appToken);
      await otlp(`{"resourceSpans": "${secret}"`, secret);
    }
    await sampleOf(own.data_source.mon_data_id, 'point_not_object');
    await sampleOf(0, 'span_not_object', appId);
    const kept = 'SELECT * FROM otel.ingest_samples FINAL';
    await waitFor('the examples in ClickHouse', 60_000, async () => {
      const rows = await stack.spansQuery(kept);
      return rows.some((row) => row['reason'] === 'span_not_object' && Number(row['app_id']) === appId);
    });
    const tables = [kept, 'SELECT * FROM otel.ingest_refusals', 'SELECT * FROM otel.ingest_outcomes'];
    const stored = JSON.stringify(await Promise.all(tables.map((sql) => stack.spansQuery(sql))));
    const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));
    const shown = await cli.text('drops --limit 1000 --payload');
    const json = (await cli.run('drops --limit 1000 --json')).stdout;
    expect(shown).toContain('span_not_object');
    const logs = [...stack.ingress, ...stack.transfer, stack.metadata]
      .flatMap(({ lines }) => lines)
      .join('\n');
    const metrics = await Promise.all([...stack.ingress, ...stack.transfer].map((role) => role.metrics()));
    const places = { ledger: tap.text(), stored, shown, json, logs, metrics: metrics.join('\n') };
    for (const [place, text] of Object.entries(places)) {
      for (const secret of [...secrets, 'hunter2']) expect(text, place).not.toContain(secret.slice(0, 12));
    }
  });
});

// An operator finds what became of the one request that its sender asks about.
describe('the id of a request', () => {
  // Of a report of its own: samples of one owner and reason are few in a minute.
  let own: Report;
  const answered = async (body: unknown): Promise<{ status: number; id: string }> => {
    const response = await fetch(`http://127.0.0.1:${port('push')}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    await response.text();
    return { status: response.status, id: response.headers.get('X-Request-Id') ?? '' };
  };
  const sampleWith = (id: string): Promise<SampleRow> =>
    waitFor(`a sample of request ${id}`, 60_000, () => tap.samples().find(({ request }) => request === id));

  it('is the uid of its first row', async () => {
    own = await stack.createReport('request-id');
    const first = await waitFor('the data id is known', 60_000, async () => {
      const answer = await answered(bodyOf(own, [{ metrics: { cpu: 1 } }, { metrics: { cpu: 2 } }]));
      return answer.status === 200 ? answer : undefined;
    });
    const table = own.result_table.table_id;
    await stack.waitForRows(table, 2);
    const { dataset } = await stack.query(`SELECT cast(uid AS STRING) FROM "${table}" ORDER BY uid`);
    expect(dataset).toEqual([[first.id], [String(BigInt(first.id) + 1n)]]);
  });

  it('is in the sample of a dropped point, and of a refused request', async () => {
    const dropped = await answered(bodyOf(own, [{ metrics: { cpu: 1 } }, { metrics: { gpu: 'many' } }]));
    expect(dropped.status).toBe(200);
    expect(await sampleWith(dropped.id)).toMatchObject({ reason: 'metric_value_invalid' });
    const refused = await answered(bodyOf(own, []));
    expect(refused.status).toBe(400);
    expect(await sampleWith(refused.id)).toMatchObject({ reason: 'data_empty' });
    expect(new Set([dropped.id, refused.id]).size).toBe(2);
  });
});

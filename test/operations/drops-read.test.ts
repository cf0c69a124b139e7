import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli } from '../support/clients/cli.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const differencesSchema = z.looseObject({ items: z.array(z.looseObject({ is_open: z.boolean() })) });

let stack: Stack;
let report: Report;
let application: Application;

const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const push = async (
  { data_source: { mon_data_id: dataId, token } }: Report,
  data: unknown,
  headers: Record<string, string> = {},
): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    headers: { 'User-Agent': 'reporter/1.2', ...headers },
    body: JSON.stringify({ data_id: dataId, access_token: token, data }),
  });
  await response.text();
  return response.status;
};

const good = { metrics: { cpu: 1 }, target: 'a' };
const late = { ...good, timestamp: 'N' };
const wrong = { metrics: { cpu: 'high' }, target: 'a\u001b[31m' };

const insertInto = async (what: string): Promise<void> => {
  const query = encodeURIComponent(`INSERT INTO ${what}`);
  const { status } = await fetchEngine(`${stack.engines.clickhouse.url}/?query=${query}`, { method: 'POST' });
  expect(status).toBe(200);
};

beforeAll(async () => {
  stack = await startStack({ traces: true });
  report = await stack.createReport('read');
  application = await stack.createApplication('read');
  const keyed = { 'Idempotency-Key': 'k1' };
  const timed = [{ ...good, timestamp: Date.now() }];
  expect(await push(report, [good, good, late, wrong])).toBe(200);
  expect(await push(report, timed, keyed)).toBe(200);
  expect(await push(report, timed, keyed)).toBe(200);
  expect(await push(report, [{ metrics: {} }])).toBe(400);
  const body = {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
        scopeSpans: [
          {
            spans: [
              { traceId: 'no', spanId: 'eee19b7ec3c1b174', name: 'bad' },
              {
                traceId: '5b8efff798038103d269b633813fc60c',
                spanId: 'eee19b7ec3c1b174',
                name: 'good',
                startTimeUnixNano: `${Date.now()}000000`,
                endTimeUnixNano: `${Date.now()}000000`,
              },
            ],
          },
        ],
      },
    ],
  };
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': application.token },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  await waitFor('the outcomes, refusals and samples in ClickHouse', 60_000, async () => {
    const [row] = await stack.spansQuery(
      'SELECT (SELECT toUInt32(sum(received)) FROM otel.ingest_outcomes FINAL) AS received, ' +
        '(SELECT toUInt32(sum(requests)) FROM otel.ingest_refusals FINAL) AS refused, ' +
        '(SELECT toUInt32(count()) FROM otel.ingest_samples FINAL) AS samples',
    );
    expect(row).toMatchObject({ received: 7, refused: 2 });
    return Number(row?.['samples']) >= 4;
  });
  // Outcomes are visible before their messages are acknowledged.
  for (const stream of ['METRICS', 'TRACES'] as const) await stack.waitForEmptyStream(stream);
  await waitFor('the account is known', 60_000, async () => {
    const { items } = balancesSchema.parse((await stack.api('GET', '/api/v1/outcomes')).body);
    return items.length === 2 && items.every(({ adds_up: addsUp }) => addsUp === true);
  });
});
afterAll(() => stack?.stop());

const balanceSchema = z.looseObject({
  data_id: z.number(),
  app_id: z.number(),
  received: z.number(),
  stored: z.number(),
  dropped: z.record(z.string(), z.number()),
  dead_lettered: z.number(),
  adds_up: z.boolean().nullable(),
  minute: z.number().nullable(),
  refusals: z.array(z.unknown()),
});
const balancesSchema = z.object({
  since: z.number(),
  until: z.number(),
  items: z.array(balanceSchema),
  in_flight: z.array(z.looseObject({ stream: z.string(), messages: z.number() })),
});
const dropSchema = z.looseObject({
  at: z.number(),
  reason: z.string(),
  data_id: z.number(),
  payload: z.string(),
});
const dropsSchema = z.object({ items: z.array(dropSchema), next_cursor: z.string().nullable() });

const ofReport = () => ({
  pipeline: 'metrics',
  data_id: report.data_source.mon_data_id,
  app_id: 0,
  minute: null,
  received: 5,
  stored: 3,
  dead_lettered: 0,
  dropped: { metric_value_invalid: 1, timestamp_not_numeric: 1 },
  repeated: 0,
  lost: 0,
  stuck: 0,
  unrecorded: 0,
  in_flight: 0,
  adds_up: true,
  differences: [],
  refusals: [
    { kind: 'duplicate', reason: 'duplicate_request', requests: 1, items: 1 },
    { kind: 'refused', reason: 'metrics_empty', requests: 1, items: 1 },
  ],
});

// The one question of a sender to an operator: "we sent 1,000, where are they?"
describe('the balance', () => {
  it('accounts for every item of a data id and of an application, over the API and as a command', async () => {
    const dataId = report.data_source.mon_data_id;
    const { status, body } = await stack.api('GET', `/api/v1/outcomes?data_id=${dataId}`);
    expect({ status, items: balancesSchema.parse(body).items }).toEqual({ status: 200, items: [ofReport()] });
    const answer = await cli.json(balancesSchema, `ledger --app-id ${application.app_id} --since 1d`);
    expect(answer.items).toMatchObject([
      { app_id: application.app_id, received: 2, stored: 1, dropped: { trace_id_invalid: 1 }, adds_up: true },
    ]);
    expect(answer.in_flight.map(({ stream }) => stream)).toEqual([
      'METRICS',
      'TRACES',
      'LOGS',
      'OTEL_METRICS',
      'LEDGER',
    ]);
    const text = await cli.text(`ledger --data-id ${dataId}`);
    expect(text).toMatch(/^received +5$/m);
    expect(text).toMatch(/^dropped +2 \(\w+ 1, \w+ 1\)$/m);
    expect(text).toMatch(/^adds up +yes.*: 5 = 3 stored \+ 2 dropped \+ 0 dead-lettered/m);
    expect(text).toMatch(/^in flight +METRICS 0, TRACES 0, LOGS 0, OTEL_METRICS 0, LEDGER \d/m);
    expect(text).toMatch(/^refused +1 request, 1 item \(metrics_empty 1\)$/m);
    expect(text).toMatch(/^duplicates +1 request, 1 item$/m);
    const overview = await cli.text('ledger');
    expect(overview).toMatch(new RegExp(`^data id ${dataId} +metrics +5 +3 +2 .*yes`, 'm'));
    expect(overview).toMatch(/^from \d{4}-.* until \d{4}-/m);
  });

  it('is listed minute by minute, and for a time without items it is empty', async () => {
    const { items } = await cli.json(balancesSchema, `ledger --data-id ${ofReport().data_id} --by-minute`);
    expect(items.reduce((sum, { received }) => sum + received, 0)).toBe(5);
    for (const { minute } of items) expect(Number(minute) % 60).toBe(0);
    const minutes = items.map(({ minute }) => Number(minute));
    expect(minutes).toEqual(minutes.toSorted((a, b) => b - a));
    const { body } = await stack.api('GET', '/api/v1/outcomes?since=1000&until=2000');
    expect(balancesSchema.parse(body)).toMatchObject({ since: 1000, until: 2000, items: [] });
    const dataId = ofReport().data_id;
    const { body: own } = await stack.api('GET', `/api/v1/outcomes?data_id=${dataId}&since=1000&until=2000`);
    expect(balancesSchema.parse(own).items).toEqual([]);
    const moments = '--since 1970-01-01T00:16:40Z --until 1970-01-01T00:33:20Z';
    const answer = await cli.json(balancesSchema, `ledger --data-id ${dataId} ${moments}`);
    expect(answer).toMatchObject({ since: 1000, until: 2000, items: [] });
    const ages = await cli.json(balancesSchema, 'ledger --since 3h --until 2h');
    // Each age is of the second in which it is read.
    expect([3_600, 3_601]).toContain(ages.until - ages.since);
  });

  // An owner that never was would read like one without items.
  it.each([
    ['ledger --data-id 1999999', 'data id 1999999'],
    ['ledger --app-id 1999999', 'application 1999999'],
    ['account --owner 1999999', 'data id or application 1999999'],
    ['account --stores --owner 1999999', 'data id or application 1999999'],
  ])('refuses an unknown owner: %s', async (line, named) => {
    expect(await cli.run(line)).toMatchObject({ code: 1, stderr: expect.stringContaining(named) });
  });

  it('has no differences, and the stores hold what the records say', async () => {
    expect(await cli.text('account')).toMatch(/^no differences: the books agree$/m);
    const text = await cli.text(`account --stores --owner ${ofReport().data_id}`);
    expect(text).toMatch(new RegExp(`^data id ${ofReport().data_id} +metrics +yes`, 'm'));
  });

  it('says where it is truncated, and keeps the account with an open difference', async () => {
    const { mon_data_id: dataId } = (await stack.createReport('many minutes')).data_source;
    const minute = `toDateTime(${Math.floor(Date.now() / 60_000) * 60 - 86_400}) - 60`;
    await insertInto(`otel.ingest_refusals (pipeline, data_id, app_id, minute, kind, reason, requests, items, boot, seq)
      SELECT 'metrics', ${dataId}, 0, ${minute} * number, 'refused', 'metrics_empty', 1, 1, 1, number FROM numbers(10001)`);
    expect(await stack.api('GET', '/api/v1/outcomes')).toMatchObject({ body: { truncated: false } });
    await insertInto(`otel.ingest_differences (kind, stream, data_id, app_id, minute, items, messages, is_found, at)
      SELECT 'lost_in_the_stream', 'METRICS', ${dataId}, 0, ${minute} * 10000, 7, 2, 1, ${minute} * 10000`);
    const since = Math.floor(Date.now() / 1000) - 30 * 86_400;
    const query = `data_id=${dataId}&by=minute&since=${since}`;
    const { body } = await stack.api('GET', `/api/v1/outcomes?${query}`);
    const { items } = balancesSchema.parse(body);
    expect(body).toMatchObject({ truncated: true });
    expect(items).toHaveLength(10_000);
    expect(items.filter((item) => item.adds_up === false)).toEqual([items.at(-1)]);
    expect(await cli.text(`ledger --data-id ${dataId} --since 30d --by-minute`)).toMatch(
      /^only the first 10000 are shown/m,
    );
    expect(await stack.api('GET', `/api/v1/outcomes?${query}&format=csv`)).toMatchObject({
      status: 422,
      body: {
        ...{ code: 'invalid_value', field: 'since' },
        detail: expect.stringMatching(/1000\d accounts, the limit of CSV is 10000; choose a shorter period/),
      },
    });
  });

  it.each([
    ['data_id=1&app_id=1', 'app_id'],
    ['data_id=x', 'data_id'],
    ['since=9&until=5', 'since'],
    ['by=week', 'by'],
    ['dataid=1', 'dataid'],
  ])('refuses %s and names the field', async (query, field) => {
    expect(await stack.api('GET', `/api/v1/outcomes?${query}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_value', field },
    });
  });
});

describe('a comparison of one event day', () => {
  const stores = '/api/v1/account/stores';

  it.each([
    ['2026-02-30', 'is not a date of the calendar'],
    ['1960-01-01', 'must not be before 1970-01-01'],
    ['9999-12-31', 'must not be after'],
  ])('refuses %s, over the API and as a command', async (day, why) => {
    expect(await stack.api('GET', `${stores}?day=${day}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_value', field: 'day', detail: expect.stringContaining(why) },
    });
    const ended = await cli.run(`account --stores --day ${day}`);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`It ${why}`) });
  });

  it('takes the first and the last day that there can be', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    for (const day of ['1970-01-01', tomorrow])
      expect(await stack.api('GET', `${stores}?day=${day}`)).toMatchObject({
        status: 200,
        body: { compared: { rows: 0 } },
      });
  });

  it('is refused where no stores are compared', async () => {
    const ended = await cli.run('account --day 2026-11-22');
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: 'tidemark: --day needs --stores\n' });
  });
});

describe('a query of the account', () => {
  it.each([
    ['differences?owner=1999999&data_id=1999999', 'owner'],
    ['differences?owner=1999999&app_id=1999999', 'owner'],
    ['differences?data_id=1999999&app_id=1999999', 'app_id'],
    ['differences?since=9&until=5', 'since'],
    ['stores?owner=1999999&data_id=1999999', 'owner'],
    ['stores?owner=1999999&app_id=1999999', 'owner'],
  ])('refuses %s and names the field', async (query, field) => {
    expect(await stack.api('GET', `/api/v1/account/${query}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_value', field },
    });
  });
});

describe('samples of dropped items', () => {
  it('are listed newest first, by owner and reason, page by page', async () => {
    const dataId = report.data_source.mon_data_id;
    const all = await cli.json(dropsSchema, `drops --data-id ${dataId} --since 1h`);
    expect(all.items.map(({ reason }) => reason).toSorted()).toEqual([
      'metric_value_invalid',
      'metrics_empty',
      'timestamp_not_numeric',
    ]);
    expect(all.items.map(({ at }) => at)).toEqual(all.items.map(({ at }) => at).toSorted((a, b) => b - a));
    const paged: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const more = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await stack.api('GET', `/api/v1/drops?data_id=${dataId}&limit=1${more}`);
      const page = dropsSchema.parse(body);
      paged.push(...page.items);
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all.items);
    const one = await cli.json(dropsSchema, `drops --data-id ${dataId} --reason metric_value_invalid`);
    expect(one.items).toMatchObject([
      { field: 'metrics.cpu', value: 'high', ordinal: 3, sdk: 'reporter/1.2' },
    ]);
    const ofApplication = await cli.json(dropsSchema, `drops --app-id ${application.app_id}`);
    expect(ofApplication.items).toMatchObject([{ reason: 'trace_id_invalid', app_id: application.app_id }]);
    const text = await cli.text(`drops --data-id ${dataId} --payload`);
    expect(text).toMatch(
      /metric_value_invalid +metrics\.cpu +high +127\.0\.0\.1 +reporter\/1\.2 +\S* +expected a number/,
    );
    // What a sender wrote must not steer the terminal of who reads it.
    expect(text).not.toContain('\u001b');
  });

  // What does not exist must not look like what is well.
  it.each([
    ['ledger --data-id 2000000', /^tidemark: data (?:id|source) 2000000 does not exist/],
    ['ledger --app-id 4242', /^tidemark: application 4242 does not exist/],
    ['drops --data-id 2000000', /^tidemark: data (?:id|source) 2000000 does not exist/],
    ['usage --app-id 4242', /^tidemark: application 4242 does not exist/],
    ['dlq list --data-id 2000000', /^tidemark: data (?:id|source) 2000000 does not exist/],
    ['dlq purge --data-id 2000000', /^tidemark: data (?:id|source) 2000000 does not exist/],
    ['drops --reason nope', /unknown reason "nope"/],
    ['dlq list --reason metric_value_invalit', /Did you mean metric_value_invalid\?/],
  ])('%s is an error', async (line, sentence) => {
    const { code, stdout, stderr } = await cli.run(line);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    [
      'GET',
      '/api/v1/drops?reason=nope',
      undefined,
      /unknown reason "nope"; GET \/api\/v1\/reasons lists all/,
    ],
    ['GET', '/api/v1/drops?reason=', undefined, /unknown reason ""/],
    ['GET', '/api/v1/drops/live?reason=nope', undefined, /unknown reason "nope"/],
    ['GET', '/api/v1/dead-letters?reason=row_refusd', undefined, /did you mean row_refused\?/],
    ['POST', '/api/v1/dead-letters/redrive', { reason: 'nope' }, /unknown reason "nope"/],
    ['POST', '/api/v1/dead-letters/purge', { reason: 'nope' }, /unknown reason "nope"/],
  ] as const)('%s %s names a reason that does not exist', async (method, path, body, sentence) => {
    expect(await stack.api(method, path, body)).toMatchObject({
      status: 422,
      body: { field: 'reason', detail: expect.stringMatching(sentence) },
    });
  });

  it.each([{ reason: 'row_refused' }, { data_id: 7 }, { all: true }, { limit: 1 }])(
    'refuses to act on dead letters by sequence beside %o, which they would ignore',
    async (beside) => {
      const body = { sequences: [1, 2], ...beside };
      for (const act of ['redrive', 'purge'])
        expect(await stack.api('POST', `/api/v1/dead-letters/${act}`, body)).toMatchObject({
          status: 422,
          body: { field: 'sequences' },
        });
    },
  );

  // A blank, a number below 0, a fraction, hexadecimal digits: an empty page would be an end.
  it.each([
    'drops?cursor=abc',
    ...['IA', 'LTU', 'MS41', 'MHgx', 'MA', ''].map((text) => `dead-letters?cursor=${text}`),
  ])('refuses a cursor that no list answered: %s', async (path) => {
    expect(await stack.api('GET', `/api/v1/${path}`)).toMatchObject({
      status: 422,
      body: { field: 'cursor' },
    });
  });

  it('refuses a period that ends before it begins', async () => {
    for (const list of ['drops', 'outcomes'])
      expect(await stack.api('GET', `/api/v1/${list}?since=20&until=10`)).toMatchObject({
        status: 422,
        body: { field: 'since' },
      });
    expect(await stack.api('GET', '/api/v1/drops?since=20&until=20')).toMatchObject({ status: 200 });
  });

  it('arrive as they are published, by the filter, and continue after an outage of metadata', async () => {
    const own = await stack.createReport('tailed');
    const other = await stack.createReport('not tailed');
    const dataId = own.data_source.mon_data_id;
    const args = ['drops', '--tail', '--data-id', String(dataId), '--json'];
    const child = spawn(new URL('../../bin/tidemark', import.meta.url).pathname, args, {
      env: { PATH: process.env['PATH'], ...stack.env },
    });
    const written = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      written.out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      written.err += chunk.toString();
    });
    const lines = () =>
      written.out
        .split('\n')
        .slice(0, -1)
        .map((line) => dropSchema.parse(JSON.parse(line)));
    try {
      await waitFor('the tail to listen', 60_000, () => written.err.includes('waiting for drops'));
      expect(await push(other, [good, wrong])).toBe(200);
      expect(await push(own, [good, wrong])).toBe(200);
      await waitFor('the drop to be printed', 60_000, () => lines().length > 0);
      expect(lines()).toMatchObject([{ reason: 'metric_value_invalid', data_id: dataId }]);
      await stack.metadata.stop();
      stack.metadata.start();
      await stack.metadata.ready();
      await waitFor('the tail to connect again', 60_000, () => written.err.includes('connected again'));
      expect(await push(own, [good, late])).toBe(200);
      await waitFor('the next drop to be printed', 60_000, () => lines().length > 1);
      expect(lines()[1]).toMatchObject({ reason: 'timestamp_not_numeric', data_id: dataId });
    } finally {
      child.kill('SIGKILL');
    }
    expect(written.out + written.err).not.toContain(own.data_source.token);
  });

  it('are for those who may look, and refused to others before anything is read', async () => {
    for (const path of ['/api/v1/drops', '/api/v1/drops/live', '/api/v1/outcomes']) {
      const response = await fetch(`http://127.0.0.1:${stack.metadata.ports['api']}${path}`);
      expect([path, response.status]).toEqual([path, 401]);
    }
    expect(await stack.api('GET', '/api/v1/drops/live?reasn=x')).toMatchObject({ status: 422 });
  });
});

describe('tidemark account close', () => {
  it('names what no longer counts and asks, unless there is nothing to close', async () => {
    const { mon_data_id: dataId } = (await stack.createReport('differs')).data_source;
    const close = `account close --data-id ${dataId} --reason "purged by hand"`;
    expect((await cli.run(close)).stderr).toContain(`data id ${dataId} has no open difference`);
    // Of a day that no look compares any more.
    await insertInto(`otel.ingest_differences (kind, stream, data_id, app_id, minute, items, messages, is_found, at)
      VALUES ('lost_in_the_stream', 'METRICS', ${dataId}, 0, toStartOfMinute(now() - 864000), 7, 2, 1, now() - 864000)`);
    expect(await cli.run(close)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        `^tidemark: the account no longer counts data id ${dataId}: lost in the stream: 7 items in 2 messages .* cannot be undone: confirm with --yes`,
      ),
    });
    const isOpen = async (): Promise<unknown> =>
      (await cli.json(differencesSchema, `account --owner ${dataId}`)).items.map((each) => each.is_open);
    expect(await isOpen()).toEqual([true]);
    for (const option of ['--kind stuck', '--stream TRACES'])
      expect((await cli.run(`${close} ${option}`)).stderr).toContain(
        `data id ${dataId} has no open difference`,
      );
    for (const reason of ['"   "', `"${'x'.repeat(501)}"`])
      expect((await cli.run(`account close --data-id ${dataId} --yes --reason ${reason}`)).stderr).toMatch(
        /reason: must (not be empty|have at most 500 characters)/,
      );
    expect(await isOpen()).toEqual([true]);
    expect(await cli.text(`${close} --yes --stream METRICS`)).toMatch(/^closed: .*7 items in 2 messages/);
    expect(await isOpen()).toEqual([false]);
    expect(await cli.text(`audit --kind account --id "data id ${dataId}"`)).toMatch(
      new RegExp(`account\\.close +account data id ${dataId} +done +account: lost_in_the_stream$`, 'm'),
    );
  });

  it.each([
    ['--data-id 1999999', 'data id 1999999 does not exist'],
    ['--app-id 1999999', 'application 1999999 does not exist'],
    ['--data-id 0', 'there is no open difference without a known owner'],
  ])('%s is an error: %s', async (owner, why) => {
    const ended = await cli.run(`account close ${owner} --yes --reason known`);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });
});

// Last: it stops ClickHouse.
describe('during an outage of ClickHouse', () => {
  it('names it in a 503, and still shows live samples', async () => {
    await stack.engines.clickhouse.stop();
    for (const path of ['/api/v1/outcomes', '/api/v1/drops']) {
      expect(await stack.api('GET', path)).toMatchObject({
        status: 503,
        body: { code: 'clickhouse_unavailable' },
      });
    }
    expect(await cli.run('ledger')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no answer from ClickHouse'),
    });
  });
});

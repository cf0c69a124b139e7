import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli } from '../../support/clients/cli.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { push, sharedStack } from './stack.ts';

let stack: Stack;
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const activitySchema = z.object({
  at: z.number(),
  state: z.string(),
  last_request: z.object({ at: z.number(), sender: z.string(), sdk: z.string() }).nullable(),
  waiting: z.object({ since: z.number(), state: z.string(), stored_at: z.number().nullable() }).nullable(),
  refusals: z.array(
    z.looseObject({
      reason: z.string(),
      field: z.string(),
      value: z.string(),
      remedy: z.string(),
      sampled: z.boolean(),
    }),
  ),
  minutes: z.array(
    z.object({
      at: z.number(),
      received: z.number(),
      stored: z.number(),
      dropped: z.number(),
      dead_lettered: z.number(),
      refused_requests: z.number(),
      repeated_requests: z.number(),
      values_lost: z.number(),
    }),
  ),
  limits: z.array(z.object({ name: z.string(), limit: z.number().nullable(), used: z.number().nullable() })),
});

const activity = async (path: string, query = '') =>
  activitySchema.parse((await stack.api('GET', `/api/v1/${path}/activity${query}`)).body);

const pathOf = ({ data_source: source }: Report): string => `data-sources/${source.mon_data_id}`;

type Activity = z.output<typeof activitySchema>;

/** The sample of a refusal comes in a message of its own, which may be later than its count. */
const isSampled = ({ refusals }: Activity): boolean => refusals[0]?.sampled === true;

/** As the page of set-up does: it asks every half second from before the push on. Answers the ms from the push to the state. */
const waitAfter = async (
  path: string,
  state: string,
  send: () => Promise<unknown>,
  isWhole: (now: Activity) => boolean = () => true,
) => {
  const { at } = await activity(path, '?minutes=0');
  const query = `?minutes=0&since=${Math.floor(at)}`;
  expect((await activity(path, query)).waiting?.state).toBe('waiting');
  const sentAt = performance.now();
  await send();
  const answer = await until(`the state is ${state}`, async () => {
    const now = await activity(path, query);
    return now.waiting?.state === state && isWhole(now) ? now : undefined;
  });
  return { answer, ms: performance.now() - sentAt };
};

const good = { metrics: { cpu: 1 }, target: 'a', dimension: { module: 'db' } };

beforeAll(async () => {
  stack = await sharedStack();
});

describe('waiting for the first item', () => {
  it('ends with a stored point, about a second after the push', async () => {
    const report = await stack.createReport('first point');
    expect(await activity(pathOf(report))).toMatchObject({
      state: 'never',
      last_request: null,
      waiting: null,
    });
    const { answer, ms } = await waitAfter(pathOf(report), 'stored', () =>
      push(stack, report, report.data_source.token, [good]),
    );
    expect(answer.refusals).toEqual([]);
    expect(answer.waiting?.stored_at).toBeGreaterThan(answer.at - 60);
    // The promise is 2 s; a busy machine gets five times as long.
    expect(ms).toBeLessThan(10_000);
  });

  it('ends with the refusal of a point in seconds, its value and remedy', async () => {
    const report = await stack.createReport('first seconds');
    const seconds = Math.floor(Date.now() / 1000);
    const { answer, ms } = await waitAfter(
      pathOf(report),
      'refused',
      () => push(stack, report, report.data_source.token, [{ ...good, timestamp: seconds }]),
      isSampled,
    );
    expect(answer.refusals[0]).toMatchObject({
      reason: 'timestamp_unit_seconds',
      value: String(seconds),
      remedy: expect.stringContaining('milliseconds'),
    });
    expect(ms).toBeLessThan(10_000);
  });

  it('ends with a refused push, whose token is wrong, as it names the data id', async () => {
    const report = await stack.createReport('first token');
    const { answer } = await waitAfter(pathOf(report), 'refused', () =>
      push(stack, report, '0'.repeat(32), [good]),
    );
    expect(answer.refusals[0]).toMatchObject({ reason: 'unauthorized' });
  });

  it('ends with a refused span of an application', async () => {
    const { app_id: appId, token } = await stack.createApplication('first span');
    const span = { traceId: 'no', spanId: 'eee19b7ec3c1b174', name: 'bad' };
    const { answer } = await waitAfter(`applications/${appId}`, 'refused', () =>
      fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
        body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
      }),
    );
    expect(answer.refusals[0]).toMatchObject({ reason: 'trace_id_invalid', remedy: expect.any(String) });
    expect(answer.limits).toEqual([]);
  });

  it('ends without transfer, and before anything reaches ClickHouse', async () => {
    const report = await stack.createReport('first live');
    await stack.transfer[0]?.stop();
    try {
      const { answer } = await waitAfter(
        pathOf(report),
        'refused',
        () => push(stack, report, report.data_source.token, [{ metrics: {} }]),
        isSampled,
      );
      expect(answer.refusals[0]).toMatchObject({ reason: 'metrics_empty', field: 'metrics', sampled: true });
      const rows = await stack.spansQuery(
        `SELECT 1 FROM otel.ingest_samples WHERE data_id = ${report.data_source.mon_data_id}`,
      );
      expect(rows).toEqual([]);
    } finally {
      // The tests behind this one need it.
      stack.transfer[0]?.start();
      await stack.ready();
    }
  });

  it('finds in the stores what came before anybody asked', async () => {
    const report = await stack.createReport('asked late');
    const since = Math.floor(Date.now() / 1000);
    await push(stack, report, report.data_source.token, [good]);
    await until('it is in ClickHouse', async () => {
      const rows = await stack.spansQuery(
        `SELECT 1 FROM otel.ingest_outcomes WHERE data_id = ${report.data_source.mon_data_id}`,
      );
      return rows.length > 0;
    });
    expect((await activity(pathOf(report), `?minutes=0&since=${since}`)).waiting?.state).toBe('stored');
  });
});

describe('an application that sends spans and log records', () => {
  const nanos = () => String(BigInt(Date.now()) * 1_000_000n);
  const attributes = [{ key: 'service.name', value: { stringValue: 'both' } }];
  const resource = { attributes };
  const spansOf = (count: number) => ({
    resourceSpans: [
      {
        resource,
        scopeSpans: [
          {
            spans: Array.from({ length: count }, (_, index) => ({
              traceId: 'd'.repeat(32),
              spanId: String(index + 1).padStart(16, '0'),
              name: 'both',
              startTimeUnixNano: nanos(),
              endTimeUnixNano: nanos(),
            })),
          },
        ],
      },
    ],
  });
  /** The last one has an impossible severity. */
  const logsOf = (count: number) => ({
    resourceLogs: [
      {
        resource,
        scopeLogs: [
          {
            logRecords: Array.from({ length: count }, (_, index) => ({
              timeUnixNano: nanos(),
              severityNumber: index === count - 1 ? 1_000 : 17,
              body: { stringValue: `record ${index}` },
            })),
          },
        ],
      },
    ],
  });

  it('has an account, rows and an outcome for each signal, and one activity, usage and list of drops', async () => {
    const { app_id: appId, token } = await stack.createApplication('both signals');
    const send = (path: string, body: object): Promise<Response> =>
      fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
        body: JSON.stringify(body),
      });
    await until(
      'the application is known',
      async () => (await send('/v1/traces', spansOf(2))).status === 200,
    );
    expect((await send('/v1/logs', logsOf(4))).status).toBe(200);
    const accounts = z.object({
      items: z.array(
        z.looseObject({ pipeline: z.string(), received: z.number(), adds_up: z.boolean().nullable() }),
      ),
    });
    const own = async () => {
      const { items } = accounts.parse((await stack.api('GET', `/api/v1/outcomes?app_id=${appId}`)).body);
      return items.map(({ pipeline, received, stored, dropped }) => [pipeline, received, stored, dropped]);
    };
    await until(
      'both accounts are whole',
      async () => (await own()).every(([, received]) => Number(received) > 0) && (await own()).length === 2,
    );
    await until('all is settled', async () => (await own()).every(([, , stored]) => Number(stored) > 1));
    expect(await own()).toEqual([
      ['logs', 4, 3, { record_field_invalid: 1 }],
      ['traces', 2, 2, {}],
    ]);

    const ledger = await cli.text(`ledger --app-id ${appId}`);
    expect(ledger).toMatch(/^pipeline +logs\n(?:.+\n)*adds up +yes.*: 4 = 3 stored \+ 1 dropped/m);
    expect(ledger).toMatch(/^pipeline +traces\n(?:.+\n)*adds up +yes.*: 2 = 2 stored \+ 0 dropped/m);
    const { minutes } = await activity(`applications/${appId}`);
    const sum = (of: 'received' | 'stored' | 'dropped'): number =>
      minutes.reduce((all, minute) => all + minute[of], 0);
    expect([sum('received'), sum('stored'), sum('dropped')]).toEqual([6, 5, 1]);
    const usageSchema = z.object({
      items: z.array(
        z.looseObject({ pipeline: z.string().nullable(), items: z.number(), requests: z.number() }),
      ),
    });
    const usage = () => cli.json(usageSchema, `usage --app-id ${appId}`);
    // Receivers tell requests later than transfer tells items.
    await until('the requests are known', async () => (await usage()).items[0]?.requests === 2);
    expect((await usage()).items).toMatchObject([{ pipeline: null, app_id: appId, items: 6, requests: 2 }]);
    const drops = await stack.api('GET', `/api/v1/drops?app_id=${appId}`);
    expect(drops.body).toMatchObject({
      items: [{ pipeline: 'logs', reason: 'record_field_invalid', ordinal: 3 }],
    });
    expect(await cli.text(`account --stores --owner ${appId}`)).toMatch(
      new RegExp(`^application ${appId} +traces +yes.*\\napplication ${appId} +logs +yes`, 'm'),
    );
    expect(await cli.text('query logs --service both --severity error --text "record 1"')).toMatch(
      / ERROR|17 +both/,
    );
  });
});

describe('the activity of a data id', () => {
  let report: Report;

  beforeAll(async () => {
    report = await stack.createReport('active', { max_rate: 50 });
    for (let count = 0; count < 3; count++)
      expect(await push(stack, report, report.data_source.token, [good, good, { metrics: {} }])).toBe(200);
    expect(await push(stack, report, report.data_source.token, [{ metrics: {} }])).toBe(400);
    await until('the counts and the last request are there', async () => {
      const { minutes, last_request: last, refusals } = await activity(pathOf(report));
      const stored = minutes.reduce((sum, minute) => sum + minute.stored, 0);
      const refused = minutes.reduce((sum, minute) => sum + minute.refused_requests, 0);
      return stored === 6 && refused === 1 && last !== null && refusals.length === 1;
    });
  });

  it('has sixty minutes, each with the counts of a direct query', async () => {
    const { state, minutes, last_request: last } = await activity(pathOf(report));
    expect([state, minutes.length]).toEqual(['receiving', 60]);
    expect(last).toMatchObject({ sender: '127.0.0.1', sdk: 'reporter/1.2' });
    const rows = await stack.spansQuery(
      `SELECT toUInt32(toUnixTimestamp(minute)) AS at, toUInt32(sum(received)) AS received, toUInt32(sum(outcomes['stored'])) AS stored,
         toUInt32(sum(outcomes['dropped/metrics_empty'])) AS dropped, toUInt32(sum(outcomes['dead_lettered'])) AS dead_lettered
       FROM otel.ingest_outcomes FINAL WHERE data_id = ${report.data_source.mon_data_id} GROUP BY minute ORDER BY minute`,
    );
    const filled = minutes.filter(({ received }) => received > 0);
    expect(
      filled.map(({ refused_requests: _, repeated_requests: __, values_lost: ___, ...rest }) => rest),
    ).toEqual(rows);
    expect(minutes.every(({ at }, index) => index === 0 || at === (minutes[index - 1]?.at ?? 0) + 60)).toBe(
      true,
    );
  });

  it('has its limits against their use', async () => {
    const { limits } = await activity(pathOf(report));
    expect(limits).toEqual([
      { name: 'requests_per_second', limit: 50, used: expect.any(Number) },
      { name: 'metric_columns', limit: 512, used: 1 },
      { name: 'dimension_columns', limit: 64, used: 1 },
    ]);
    expect(limits[0]?.used).toBeGreaterThan(0);
  });

  it('has the newest sample of each reason: a loud one hides no other', async () => {
    const owner = await stack.createReport('loud');
    const send = (data: readonly unknown[]) => push(stack, owner, owner.data_source.token, data);
    expect(await send([good, { ...good, metrics: { cpu: 'high' } }])).toBe(200);
    for (let count = 0; count < 3; count++)
      expect(await send([good, ...Array.from({ length: 40 }, () => ({ metrics: {} }))])).toBe(200);
    expect(await send(Array.from({ length: 7 }, () => ({ metrics: {} })))).toBe(400);
    const text = await until('all of it is counted', async () => {
      const now = await cli.text(`activity ${owner.data_source.mon_data_id}`);
      return now.includes('120 items, 1 request with 7 items') && now.includes('metric_value_invalid') && now;
    });
    expect(text.match(/metrics_empty/g)).toHaveLength(1);
    expect(text).toMatch(/metric_value_invalid +1 item +/);
    const { refusals } = await activity(pathOf(owner));
    expect(refusals.map(({ reason }) => reason).toSorted()).toEqual([
      'metric_value_invalid',
      'metrics_empty',
    ]);
  });

  it('is printed, with the remedies of refusals', async () => {
    const text = await cli.text(`activity ${report.data_source.mon_data_id}`);
    expect(text).toMatch(/state\s+receiving/);
    // Not a rate: one request in an hour makes it 1.
    expect(text).toMatch(/^busiest second\s+\d+ of 50 requests, in the last hour$/m);
    expect(text).toContain('send at least one metric per point');
  });

  it('is printed without the counts of the day where they cannot be read, which is said and makes the exit code 1', async () => {
    const proxy = createServer((request, response) => {
      const url = `http://127.0.0.1:${stack.metadata.ports['api']}${request.url}`;
      if (request.url?.startsWith('/api/v1/outcomes')) return response.writeHead(503).end();
      const headers = { Authorization: request.headers.authorization ?? '' };
      return fetch(url, { headers }).then(async (answer) => response.end(await answer.text()));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const address = proxy.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      const env = { PATH: process.env['PATH'], ...stack.env, TIDEMARK_ADMIN_URL: `http://127.0.0.1:${port}` };
      const { code, stdout, stderr } = await createCli(() => env).run(
        `activity ${report.data_source.mon_data_id}`,
      );
      expect(code).toBe(1);
      expect(stdout).toMatch(/state\s+receiving/);
      expect(stdout).toContain('send at least one metric per point');
      expect(stderr).toMatch(/^the counts of the last day cannot be read: /);
    } finally {
      proxy.close();
    }
  });

  it('of a disabled one says so, and of an unknown one is a 404', async () => {
    const path = `/api/v1/custom-reports/${report.custom_report.custom_report_id}`;
    await stack.api('POST', `${path}/disable`);
    expect((await activity(pathOf(report), '?minutes=0')).state).toBe('disabled');
    for (const unknown of ['data-sources/2000000', 'applications/99999'])
      expect((await stack.api('GET', `/api/v1/${unknown}/activity`)).status).toBe(404);
  });
});

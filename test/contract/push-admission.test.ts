import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import { openRaw } from '../support/http/raw-client.ts';
import type { PushAnswer } from '../support/push/client.ts';
import { pointsAt } from '../support/push/point-cases.ts';
import { expectEnvelope, plainSuccess } from '../support/push/replies.ts';
import { bodyOf, type PushStack, startPushStack } from '../support/push/stack.ts';
import type { Report } from '../support/stack/stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import { untilPaused } from '../support/stack/until-paused.ts';
import { waitFor } from '../support/wait.ts';

/** A change is promised within a second; a busy machine gets five. */
const boundMs = 5_000;

let on: PushStack;
/** A report without a limit. */
let other: Report;

beforeAll(async () => {
  on = await startPushStack({ deadlineMs: 4_000 });
  other = await on.report();
});
afterAll(() => on?.stop());

const { good, timestamp } = pointsAt(Date.now());

describe('a data id', () => {
  it('that was just created is taken at once', async () => {
    for (let count = 0; count < 5; count++)
      expect((await on.push(await on.report(), [good])).text).toBe(plainSuccess);
  });

  it('that is disabled is refused with 403 within a second, and taken again when enabled', async () => {
    const own = await on.report();
    const path = `/api/v1/custom-reports/${own.custom_report.custom_report_id}`;
    expect((await on.push(own, [good])).status).toBe(200);
    expect((await on.stack.api('POST', `${path}/disable`, {})).status).toBe(200);
    const refused = await waitFor('the push to be refused', boundMs, async () => {
      const answer = await on.push(own, [{ metrics: { late: 1 } }]);
      return answer.status !== 200 && answer;
    });
    expect(refused.status).toBe(403);
    expectEnvelope(refused, {
      code: '403',
      result: 'false',
      message: expect.any(String),
      reason: 'data_source_disabled',
    });
    expect((await on.stack.api('POST', `${path}/enable`, {})).status).toBe(200);
    await waitFor(
      'the push to be taken',
      boundMs,
      async () => (await on.push(own, [{ metrics: { back: 1 } }])).status === 200,
    );
    const rows = await on.storedRows(own);
    expect(rows.filter((row) => 'back' in row)).toHaveLength(1);
    expect(rows.filter((row) => 'cpu' in row)).toHaveLength(1);
  });

  // The credential stands at the beginning of a body, which may take a minute: a source must be closed for those under way, too.
  it.each([
    [403, 'disabled', 'data_source_disabled'],
    [401, 'rotated without an overlap', 'unauthorized'],
  ])('refuses with %i a push whose body was on its way while it was %s', async (status, change, reason) => {
    const own = await on.report();
    const path =
      change === 'disabled'
        ? `custom-reports/${own.custom_report.custom_report_id}/disable`
        : `data-sources/${own.data_source.mon_data_id}/rotate-token`;
    const body = bodyOf(own, [good]);
    const raw = await openRaw(on.port);
    raw.send(
      `POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -12)}`,
    );
    // Behind it at the same receiver: the watch of the first body has found its credential.
    expect((await on.push(own, [good])).status).toBe(200);
    const begunAt = performance.now();
    const overlap = change === 'disabled' ? {} : { overlap_seconds: 0 };
    expect((await on.stack.api('POST', `/api/v1/${path}`, overlap)).status).toBe(200);
    await waitFor('the change to be a second old', 60_000, async () => {
      const answer = await on.push(own, [good]);
      return answer.status === status && performance.now() - begunAt > 1_000;
    });
    raw.send(body.slice(-12));
    expect(await raw.until(`"reason":"${reason}"`)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    raw.destroy();
  });

  it('counts a push with a slow body once against max_rate', async () => {
    const own = await on.report({ max_rate: 1 });
    const body = bodyOf(own, [good]);
    const raw = await openRaw(on.port);
    raw.send(
      `POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -12)}`,
    );
    const begunAt = performance.now();
    // Once this one is taken, nothing of the rate is left.
    await waitFor('another push to be taken after a second', 60_000, async () => {
      return performance.now() - begunAt > 1_000 && (await on.push(own, [good])).status === 200;
    });
    raw.send(body.slice(-12));
    expect(await raw.until('"result"')).toMatch(/^HTTP\/1\.1 200 /);
    raw.destroy();
  });

  /** Changes a stored record in a way that the API does not allow, and returns the answer to a push from then on. */
  const answerAfter = async (
    own: Report,
    key: string,
    change: Record<string, unknown>,
  ): Promise<PushAnswer> => {
    const bus = await connectBus(on.stack.engines.nats.url, 'test');
    try {
      const records = await openKvBucket(bus, buckets.records);
      const stored = await records.get(key);
      if (stored === undefined) throw new Error(`there is no ${key}`);
      await records.put(key, { ...Object(stored.value), ...change });
    } finally {
      await bus.close();
    }
    return waitFor('the push to be refused', 60_000, async () => {
      const answer = await on.push(own, [good]);
      return answer.status !== 200 && answer;
    });
  };

  it('of another type is refused as unsupported_type', async () => {
    const own = await on.report();
    const key = recordKeys.dataSource(own.data_source.mon_data_id);
    const refused = await answerAfter(own, key, { type_label: 'event' });
    expect(refused.status).toBe(400);
    expectEnvelope(refused, {
      code: '400',
      result: 'false',
      message: expect.stringContaining('event'),
      reason: 'unsupported_type',
    });
  });

  // Architecture 8.1: every one of these flags alone closes the door.
  it.each([
    ['data source', 'is_enable', false],
    ['group', 'is_enable', false],
    ['group', 'is_delete', true],
    ['table', 'is_enable', false],
    ['table', 'is_deleted', true],
  ] as const)('whose %s has %s %s is refused as disabled', async (record, flag, value) => {
    const own = await on.report();
    const kind = record === 'data source' ? 'dataSource' : record;
    const refused = await answerAfter(own, recordKeys[kind](own.data_source.mon_data_id), { [flag]: value });
    expect([refused.status, Object(refused.json).reason]).toEqual([403, 'data_source_disabled']);
  });
});

describe('an application', () => {
  it.each([
    [403, 'disable', 'disabled'],
    [401, 'rotate-token', 'is missing or wrong'],
  ])('refuses with %i an export whose body was on its way while it got %s', async (status, change, text) => {
    const app = await on.stack.createApplication(`closed by ${change}`);
    const port = on.stack.ingress[0]?.ports['otlp'] ?? 0;
    const exportNothing = async (): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-mon-token': app.token };
      const answer = await fetch(`http://127.0.0.1:${port}/v1/traces`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      return answer.status;
    };
    const fields = ['Host: a', 'Content-Type: application/json', `X-Mon-Token: ${app.token}`];
    const raw = await openRaw(port);
    raw.send(`POST /v1/traces HTTP/1.1\r\n${fields.join('\r\n')}\r\nContent-Length: 20\r\n\r\n{"resource`);
    // Behind it at the same receiver: the head of the first one has been read.
    expect(await exportNothing()).toBe(200);
    const begunAt = performance.now();
    const path = `/api/v1/applications/${app.app_id}/${change}`;
    expect(
      (await on.stack.api('POST', path, change === 'disable' ? {} : { overlap_seconds: 0 })).status,
    ).toBe(200);
    await waitFor(
      'the change to be a second old',
      60_000,
      async () => (await exportNothing()) === status && performance.now() - begunAt > 1_000,
    );
    raw.send('Spans":[]}');
    expect(await raw.until(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    raw.destroy();
  });
});

describe('max_rate', () => {
  it('refuses requests beyond it, names the time to wait, and accepts them then', async () => {
    const own = await on.report({ max_rate: 1 });
    const first = await on.push(own, [{ metrics: { n: 1 } }]);
    expect([first.status, first.text]).toEqual([200, plainSuccess]);
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"max_rate";q=1;w=1',
      ratelimit: '"max_rate";r=0;t=1',
    });
    const taken = [1];
    let last = 1;
    const pushNext = async (): Promise<PushAnswer> => {
      const n = ++last;
      const answer = await on.push(own, [{ metrics: { n } }]);
      if (answer.status === 200) taken.push(n);
      return answer;
    };
    // Together, because on a slow machine a second may pass between two.
    const refused = await waitFor('a push to be refused', 60_000, async () =>
      (await Promise.all([pushNext(), pushNext(), pushNext()])).find(({ status }) => status === 429),
    );
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'ratelimit-policy': '"max_rate";q=1;w=1',
      ratelimit: '"max_rate";r=0;t=1',
    });
    expectEnvelope(refused, {
      code: '429',
      result: 'false',
      message: expect.stringContaining('max_rate is 1'),
      reason: 'rate_limited',
    });
    await waitFor('the request to be taken', 60_000, async () => (await pushNext()).status === 200);
    const table = own.result_table.table_id;
    await on.stack.waitForRows(table, taken.length);
    const { dataset } = await on.stack.query(`SELECT n FROM "${table}" ORDER BY n`);
    expect(dataset).toEqual(taken.toSorted((a, b) => a - b).map((n) => [n]));
  });

  it('has RateLimit headers on every answer to a valid token, and on no other', async () => {
    const own = await on.report({ max_rate: 500 });
    const send = (change: Record<string, unknown>) => on.send({ body: bodyOf(own, [good], change) });
    const limited = [{}, { data: undefined }, { data: [] }, { data: [5] }, { data: [good, 5] }];
    for (const change of limited) {
      expect((await send(change)).headers).toMatchObject({
        'ratelimit-policy': '"max_rate";q=500;w=1',
        ratelimit: expect.stringMatching(/^"max_rate";r=\d+;t=1$/),
      });
    }
    expect((await send({ access_token: 'x' })).headers).not.toHaveProperty('ratelimit');
    expect((await on.push(other, [good])).headers).not.toHaveProperty('ratelimit');
  });

  it('comes before the data is looked at', async () => {
    const own = await on.report({ max_rate: -2 });
    expect((await on.push(own, 'x')).json).toMatchObject({ reason: 'rate_limited' });
  });

  // A source over its limit may send for ever: reading the rest of its bodies would be work for nothing.
  it('refuses a push whose body is still on its way, and a gzip body that is corrupt behind its credential', async () => {
    const { data_source: source } = await on.report({ max_rate: -2 });
    const head = `{"data_id":${source.mon_data_id},"access_token":"${source.token}","data":[`;
    const raw = await openRaw(on.port);
    raw.send(`POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${head}`);
    await waitFor('the refusal', 5_000, async () => {
      raw.send('5,');
      return raw.text.includes('rate_limited');
    });
    expect(raw.text).toMatch(/^HTTP\/1\.1 429 /);
    raw.destroy();
    const cut = gzipSync(head + '5'.repeat(200_000)).subarray(0, -20);
    const answer = await on.send({ body: cut, headers: { 'content-encoding': 'gzip' } });
    expect([answer.status, answer.json]).toMatchObject([429, { reason: 'rate_limited' }]);
  });

  it('refuses an export before its body is read', async () => {
    const { token } = await on.stack.createApplication('over', { max_rate: -2 });
    const raw = await openRaw(on.stack.ingress[0]?.ports['otlp'] ?? 0);
    const fields = [
      'Host: a',
      'Content-Type: application/json',
      `X-Mon-Token: ${token}`,
      'Content-Length: 9',
    ];
    raw.send(`POST /v1/traces HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    expect(await raw.until('max_rate is -2, which refuses every request')).toMatch(/^HTTP\/1\.1 429 /);
    raw.destroy();
  });

  it('is not used up by who has not the token', async () => {
    const own = await on.report({ max_rate: 1 });
    const stranger = bodyOf(own, [good], { access_token: 'x' });
    for (let count = 0; count < 5; count++) expect((await on.send({ body: stranger })).status).toBe(401);
    expect((await on.push(own, [good])).status).toBe(200);
  });

  it('below -1 takes nothing', async () => {
    const own = await on.report({ max_rate: -2 });
    const refused = await on.push(own, [good]);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
    expect(refused.json).toMatchObject({ reason: 'rate_limited' });
  });

  it('of 0 has no limit', async () => {
    const own = await on.report({ max_rate: 0 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => on.push(own, [good])));
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([plainSuccess]));
  });
});

describe('a bus that does not take a request', () => {
  const key = { 'Idempotency-Key': 'again' };

  const refusedAs = async (own: Report, headers: Record<string, string>, reason: string): Promise<void> => {
    const refused = await on.push(own, [good], headers);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^[1-5]$/);
    expectEnvelope(refused, { code: '503', result: 'false', message: expect.any(String), reason });
  };

  it.each([{}, key])(
    'because its stream is full makes it not_stored, and the same request is taken once there is room',
    async (headers) => {
      const own = await on.report();
      await on.push(own, [{ metrics: { cpu: 0 }, timestamp }]);
      const bus = await connectBus(on.stack.engines.nats.url, 'test');
      try {
        const restore = await limitStream(bus, 'METRICS', 1);
        await refusedAs(own, headers, 'not_stored');
        await restore();
      } finally {
        await bus.close();
      }
      expect((await on.push(own, [good], headers)).text).toBe(plainSuccess);
      expect((await on.storedRows(own)).map(({ cpu }) => cpu).toSorted()).toEqual([0, 1]);
    },
  );

  // Its messages are published one by one, so that a repeat finds each one: a part of them may be stored, and the answer says so.
  it('because its stream is full behind the first messages of a request with a key says so, and the repeat stores the rest once', async () => {
    const own = await on.report();
    await on.push(own, [{ metrics: { cpu: 0 }, timestamp }]);
    const target = 'x'.repeat(2_000);
    const points = Array.from({ length: 1_500 }, (_, cpu) => ({
      metrics: { cpu },
      target,
      timestamp: timestamp + cpu,
    }));
    const bus = await connectBus(on.stack.engines.nats.url, 'test');
    try {
      // A message of this push has 1 MB.
      const restore = await limitStream(bus, 'METRICS', 1_500_000);
      const refused = await on.push(own, points, key);
      expect([refused.status, refused.json]).toMatchObject([503, { reason: 'unconfirmed' }]);
      expect(refused.text).toMatch(/NATS took \d of its \d messages not, a repeat stores what is missing/);
      await restore();
    } finally {
      await bus.close();
    }
    expect((await on.push(own, points, key)).text).toBe(plainSuccess);
    const rows = await on.storedRows(own);
    expect(rows.map(({ cpu }) => Number(cpu)).toSorted((a, b) => a - b)).toEqual([
      0,
      ...points.map(({ metrics }) => metrics.cpu),
    ]);
  });

  // The publish may have been stored: only with the key can the sender try again without storing it twice.
  it('because it does not answer makes it unconfirmed, and with its key it is stored once after all', async () => {
    const own = await on.report();
    expect((await on.push(own, [{ metrics: { cpu: 0 }, timestamp }])).text).toBe(plainSuccess);
    on.stack.engines.nats.pause();
    await untilPaused(on.stack.engines.nats.pid ?? 0);
    try {
      await refusedAs(own, key, 'unconfirmed');
    } finally {
      on.stack.engines.nats.resume();
    }
    await waitFor(
      'the request to be taken',
      60_000,
      async () => (await on.push(own, [good], key)).status === 200,
    );
    // A delivery that the pause cut off comes again after its time to be acknowledged: later requests can be stored before it.
    const rows = await waitFor('both requests in the table', 60_000, async () => {
      const stored = await on.storedRows(own);
      return stored.length >= 2 && stored;
    });
    expect(rows.map(({ cpu }) => cpu).toSorted()).toEqual([0, 1]);
  });
});

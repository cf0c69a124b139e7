import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { droppedPointsAt, pointsAt } from '../support/point-cases.ts';
import { announceBody, createPushClient, type PushRequest } from '../support/push-client.ts';
import { compressors, encodings, expectEnvelope, plainSuccess } from '../support/push-replies.ts';
import { bodyOf, type PushStack, startPushStack } from '../support/push-stack.ts';
import type { Report } from '../support/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: PushStack;
let other: Report;

beforeAll(async () => {
  on = await startPushStack();
  other = await on.report();
});
afterAll(() => on?.stop());

const { good, timestamp } = pointsAt(Date.now());

describe('a point that breaks a rule', () => {
  it.each(droppedPointsAt(Date.now()))(
    'is dropped alone where $what: $reason',
    async ({ point, reason, field, isKeyed }) => {
      const own = await on.report();
      const data = [good, point, { ...good, target: 'second' }];
      const answer = await on.push(own, data, isKeyed === true ? { 'Idempotency-Key': 'k' } : {});
      expect(answer.status).toBe(200);
      expectEnvelope(answer, {
        code: '200',
        result: 'true',
        message: `1 of 3 points dropped (${reason} 1)`,
        accepted: 2,
        dropped: { [reason]: 1 },
        values_dropped: {},
        examples: [{ index: 1, reason, field, detail: expect.any(String) }],
      });
      const rows = await on.storedRows(own);
      expect(rows.toSorted((a, b) => String(a['target']).localeCompare(String(b['target'])))).toEqual([
        { timestamp, uid: expect.any(String), cpu: 1, target: '' },
        { timestamp, uid: expect.any(String), cpu: 1, target: 'second' },
      ]);
    },
  );

  it('leaves nothing where every point does: 400, and nothing is published', async () => {
    const own = await on.report();
    const answer = await on.push(own, [{ metrics: {} }, { ...good, timestamp: 'N' }, 5, { metrics: {} }]);
    expect(answer.status).toBe(400);
    expectEnvelope(answer, {
      code: '400',
      result: 'false',
      message: '4 of 4 points dropped (metrics_empty 2, timestamp_not_numeric 1, point_not_object 1)',
      reason: 'metrics_empty',
      accepted: 0,
      dropped: { metrics_empty: 2, timestamp_not_numeric: 1, point_not_object: 1 },
      values_dropped: {},
      examples: [
        { index: 0, reason: 'metrics_empty', field: 'metrics', detail: expect.any(String) },
        { index: 1, reason: 'timestamp_not_numeric', field: 'timestamp', detail: 'got "N"' },
        { index: 2, reason: 'point_not_object', field: '', detail: 'got 5' },
        { index: 3, reason: 'metrics_empty', field: 'metrics', detail: expect.any(String) },
      ],
    });
    expect(await on.storedRows(own)).toEqual([]);
  });

  it('is shown in the first twenty examples, and counted beyond', async () => {
    const own = await on.report();
    const answer = await on.push(own, [good, ...Array.from({ length: 30 }, () => 5)]);
    expect(answer.json).toMatchObject({ accepted: 1, dropped: { point_not_object: 30 } });
    expect(Object(answer.json).examples).toHaveLength(20);
  });

  it('keeps its reason in the first request that a data id ever gets', async () => {
    const own = await on.report();
    const answer = await on.push(own, [
      { metrics: { a: 1 } },
      { metrics: { b: 1 }, timestamp: Math.floor(timestamp / 1000) },
    ]);
    expect(answer.json).toMatchObject({ accepted: 1, dropped: { timestamp_unit_seconds: 1 } });
  });

  // 1e400 is JSON and no double; Python writes the others bare. One of them must not cost its neighbours.
  it.each(['NaN', 'Infinity', '-Infinity', '1e400', '-1e400'])(
    'is dropped alone where a value is a bare %s',
    async (value) => {
      const own = await on.report();
      const text = bodyOf(own, [{ metrics: { a: 1 } }, { metrics: { a: 2, b: 3 } }, { metrics: { a: 4 } }]);
      const answer = await on.send({ body: text.replace('"b":3', `"b":${value}`) });
      expect(answer.json).toMatchObject({
        accepted: 2,
        dropped: { metric_not_finite: 1 },
        examples: [{ index: 1, field: 'metrics.b' }],
      });
      expect((await on.storedRows(own)).map(({ a }) => a).toSorted()).toEqual([1, 4]);
    },
  );

  // A few kilobytes of nested objects must not turn into 503 for everybody's points in the request, again and again.
  it('is dropped alone where it is nested 10,000 deep', async () => {
    const own = await on.report();
    const deep = `${'{"0":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
    const answer = await on.send({
      body: bodyOf(own, [good, 5]).replace(',5]', `,{"metrics":{"cpu":1},"timestamp":${deep}}]`),
    });
    expect(answer.json).toMatchObject({ code: '200', accepted: 1, dropped: { timestamp_not_numeric: 1 } });
  });

  it('that goes to transfer does not hold up the others, however many come at once', async () => {
    const own = await on.report();
    await on.push(own, [good]);
    const seconds = { ...good, target: 't'.repeat(300), timestamp: Math.floor(timestamp / 1000) };
    const data = [good, ...Array.from({ length: 2000 }, () => seconds)];
    const answers = await Promise.all(Array.from({ length: 40 }, () => on.push(own, data)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await on.stack.waitForRows(own.result_table.table_id, 41);
  });
});

describe('a request that is taken', () => {
  const taken: [string, (own: Report) => PushRequest][] = [
    ['without Content-Type', (own) => ({ body: bodyOf(own, [good]) })],
    [
      'with the Content-Type of the specification',
      (own) => ({ headers: { 'Content-Type': 'application/json' }, body: bodyOf(own, [good]) }),
    ],
    [
      'with the Content-Type of curl -d',
      (own) => ({
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: bodyOf(own, [good]),
      }),
    ],
    ['on the path without its last slash', (own) => ({ path: '/v2/push', body: bodyOf(own, [good]) })],
    ['with a query', (own) => ({ path: '/v2/push/?debug=1', body: bodyOf(own, [good]) })],
    [
      'in identity encoding',
      (own) => ({ headers: { 'Content-Encoding': 'identity' }, body: bodyOf(own, [good]) }),
    ],
    ...encodings.map((encoding): [string, (own: Report) => PushRequest] => [
      `in ${encoding} encoding`,
      (own) => ({
        headers: { 'Content-Encoding': encoding },
        body: compressors[encoding](bodyOf(own, [good])),
      }),
    ]),
    [
      'in encoding GZIP',
      (own) => ({ headers: { 'Content-Encoding': 'GZIP' }, body: gzipSync(bodyOf(own, [good])) }),
    ],
    [
      'in encoding x-gzip',
      (own) => ({ headers: { 'Content-Encoding': 'x-gzip' }, body: gzipSync(bodyOf(own, [good])) }),
    ],
    [
      'in gzip of two members',
      (own) => {
        const text = bodyOf(own, [good]);
        return {
          headers: { 'Content-Encoding': 'gzip' },
          body: Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]),
        };
      },
    ],
    ['in chunks', (own) => ({ body: [...bodyOf(own, [good])].map((character) => Buffer.from(character)) })],
    [
      'in gzip and chunks',
      (own) => {
        const bytes = gzipSync(bodyOf(own, [good]));
        return { headers: { 'Content-Encoding': 'gzip' }, body: [bytes.subarray(0, 20), bytes.subarray(20)] };
      },
    ],
    ['with a byte order mark', (own) => ({ body: `\uFEFF${bodyOf(own, [good])}` })],
    [
      'with keys that are not known',
      (own) => ({
        body: bodyOf(own, [{ ...good, version: 'v2', extra: { a: [1] } }]).replace(
          '{',
          '{"version":"v2","x":[{}],',
        ),
      }),
    ],
    [
      'with a key twice: the last counts',
      (own) => ({ body: bodyOf(own, [good]).replace('{', '{"data":[],"access_token":"x",') }),
    ],
    [
      'with a data id that is written as a fraction of none',
      (own) => ({ body: bodyOf(own, [good]).replace(/"data_id":(\d+)/, '"data_id":$1.0') }),
    ],
  ];

  it.each(taken)('%s is stored, and answered with exactly the bytes of success', async (_, request) => {
    const own = await on.report();
    const answer = await on.send(request(own));
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      plainSuccess,
      'application/json',
    ]);
    expect(await on.storedRows(own)).toEqual([{ timestamp, uid: expect.any(String), cpu: 1, target: '' }]);
  });

  it('with Expect: 100-continue is told to go on first', async () => {
    const own = await on.report();
    const answer = await on.send({ headers: { Expect: '100-continue' }, body: bodyOf(own, [good]) });
    expect([answer.continued, answer.text]).toEqual([true, plainSuccess]);
  });
});

describe('a connection', () => {
  it('is kept after an error in what was read whole', async () => {
    const client = createPushClient(on.port, 1);
    try {
      const own = await on.report({ max_rate: 1 });
      const requests: [PushRequest, number][] = [
        [{ body: bodyOf(own, [good]) }, 200],
        [{ body: '{' }, 400],
        [{ body: bodyOf(other, [good], { access_token: 'x' }) }, 401],
        [{ method: 'PUT', body: 'x'.repeat(100_000) }, 405],
        [{ path: '/', body: 'x' }, 404],
        [{ body: bodyOf(other, [5]) }, 400],
        [{ body: bodyOf(own, [good]) }, 429],
        [
          {
            body: bodyOf(
              other,
              Array.from({ length: 50_001 }, () => 0),
            ),
          },
          413,
        ],
        [{ body: bodyOf(other, [good]) }, 200],
      ];
      const ports = new Set<number | undefined>();
      for (const [request, status] of requests) {
        const answer = await client.send(request);
        expect(answer.status).toBe(status);
        ports.add(answer.localPort);
      }
      expect(ports.size).toBe(1);
    } finally {
      client.close();
    }
  });

  it('that is closed after a body that was not read leaves the next request unharmed', async () => {
    const client = createPushClient(on.port, 1);
    try {
      for (const encoding of ['br', 'gzip', 'zstd']) {
        const refused = await client.send({
          headers: { 'Content-Encoding': encoding },
          body: 'no such thing',
        });
        expect(refused.status).toBeGreaterThanOrEqual(400);
        expect((await client.send({ body: bodyOf(other, [good]) })).text).toBe(plainSuccess);
      }
    } finally {
      client.close();
    }
  });

  it('that ends in the middle of a body stores nothing and gives its room back', async () => {
    const own = await on.report();
    const text = bodyOf(own, [good]);
    const socket = await announceBody(on.port, text.length);
    socket.write(text.slice(0, -1));
    socket.destroy();
    expect(await on.storedRows(own)).toEqual([]);
    const held = async (): Promise<string | undefined> =>
      /^tidemark_ingress_bytes_in_flight\S* (\d+)/m.exec((await on.stack.ingress[0]?.metrics()) ?? '')?.[1];
    await waitFor('no bytes in flight', 5000, async () => (await held()) === '0');
    await waitFor('the request to be counted', 5000, async () =>
      /requests_refused_total\{receiver="push",reason="aborted"\S* 1$/m.test(
        (await on.stack.ingress[0]?.metrics()) ?? '',
      ),
    );
  });
});

describe('after all this', () => {
  const counters = async (
    role: { metrics(): Promise<string> } | undefined,
    name: string,
  ): Promise<Record<string, number>> => {
    const text = (await role?.metrics()) ?? '';
    const found = [...text.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\d+)`, 'gm'))];
    const byReason: Record<string, number> = {};
    for (const [, labels = '', value] of found) {
      if (!labels.includes('pipeline="metrics"')) continue;
      const reason = /reason="(\w+)"/.exec(labels)?.[1] ?? 'all';
      byReason[reason] = (byReason[reason] ?? 0) + Number(value);
    }
    return byReason;
  };

  // Design decision D3: in = kept + dropped by reason; what was acknowledged is stored, what was deferred is dropped in transfer.
  it('everything that was acknowledged is stored, and everything deferred is dropped for the same reason', async () => {
    const [ingress, transfer] = [on.stack.ingress[0], on.stack.transfer[0]];
    await waitFor('transfer to have settled everything', 30_000, async () => {
      const accepted = await counters(ingress, 'tidemark_ingress_items_accepted_total');
      const stored = await counters(transfer, 'tidemark_transfer_items_stored_total');
      return accepted['all'] === stored['all'];
    });
    expect(await counters(transfer, 'tidemark_transfer_items_dropped_total')).toEqual(
      await counters(ingress, 'tidemark_ingress_items_deferred_total'),
    );
    expect(await counters(transfer, 'tidemark_transfer_dead_letters_total')).toEqual({});
  });

  it('no request was answered for a defect of ours', () => {
    expect(
      on.stack.ingress.flatMap(({ lines }) => lines.filter((line) => line.includes('"level":50'))),
    ).toEqual([]);
  });
});

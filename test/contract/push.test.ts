import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import { refusalStatus } from '../../src/ingress/push/reply.ts';
import { droppedPointsAt, pointsAt } from '../support/point-cases.ts';
import {
  announceBody,
  createPushClient,
  looseJson,
  type PushAnswer,
  type PushRequest,
} from '../support/push-client.ts';
import { bodyOf, type PushStack, startPushStack } from '../support/push-stack.ts';
import type { Report } from '../support/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: PushStack;
/** The report of everything that is refused whole: its table has to stay empty. */
let report: Report;
let other: Report;

beforeAll(async () => {
  on = await startPushStack();
  report = await on.report();
  other = await on.report();
});
afterAll(() => on?.stop());

const mebi = 2 ** 20;
const plainSuccess = '{"code":"200","result":"true","message":""}';
const { good, timestamp } = pointsAt(Date.now());

/** What the request says of its sender, correct unless changed. */
const fieldsOf = (change: Record<string, unknown> = {}) => ({
  data_id: report.data_source.mon_data_id,
  access_token: report.data_source.token,
  data: [good],
  ...change,
});
const body = (change: Record<string, unknown> = {}): string => looseJson(fieldsOf(change));

/** A body of exactly so many bytes: blanks after the JSON are JSON. */
const padded = (bytes: number, text = body()): Buffer => {
  const buffer = Buffer.alloc(bytes, ' ');
  buffer.write(text);
  return buffer;
};

const compressors = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync };
const encodings = ['gzip', 'deflate', 'zstd'] as const;

const expectEnvelope = (answer: PushAnswer, expected: Record<string, unknown>): void => {
  expect(answer.json).toEqual(expected);
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)));
};

type Refused = {
  what: string;
  request: () => PushRequest;
  status: number;
  reason: string;
  says?: string;
  headers?: Record<string, string>;
};

const withBody = (
  what: string,
  text: () => string | Buffer,
  status: number,
  reason: string,
  says = '',
): Refused => ({
  what,
  request: () => ({ body: text() }),
  status,
  reason,
  says,
});

// Every row of the table in design section 4 that refuses a request whole, by what a sender does wrong.
const refusals: Refused[] = [
  ...['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) => ({
    what: `the method is ${method}`,
    request: () => ({ method, ...(method === 'PUT' ? { body: body() } : {}) }),
    status: 405,
    reason: 'method_not_allowed',
    headers: { allow: 'POST' },
  })),
  {
    what: 'the method is GET on the other spelling of the path',
    request: () => ({ method: 'GET', path: '/v2/push' }),
    status: 405,
    reason: 'method_not_allowed',
    headers: { allow: 'POST' },
  },
  ...['/', '/v2/', '/v2/pushes', '/v2/push/x', '/v1/push/', '/V2/PUSH/', '/v2/push//'].map((path) => ({
    what: `the path is ${path}`,
    request: () => ({ path, body: body() }),
    status: 404,
    reason: 'path_unknown',
  })),

  { what: 'there is no body', request: () => ({}), status: 400, reason: 'body_empty' },
  { what: 'the body is empty', request: () => ({ body: '' }), status: 400, reason: 'body_empty' },
  {
    what: 'the body is chunked and empty',
    request: () => ({ headers: { 'Transfer-Encoding': 'chunked' } }),
    status: 400,
    reason: 'body_empty',
  },
  withBody('the body is text', () => 'hello', 400, 'body_not_json'),
  withBody('the body is a form', () => `data=${body()}`, 400, 'body_not_json'),
  withBody('the body is cut', () => body().slice(0, -1), 400, 'body_not_json', 'at character'),
  withBody('something follows the body', () => `${body()}x`, 400, 'body_not_json'),
  withBody('two bodies come together', () => body() + body(), 400, 'body_not_json'),
  withBody('the body is blank', () => ' \n', 400, 'body_not_json'),
  withBody('the body is Python', () => body().replaceAll('"', "'"), 400, 'body_not_json'),
  withBody('the body is compressed and does not say so', () => gzipSync(body()), 400, 'body_not_json'),
  withBody('a name is a bare NaN', () => body().replace('"cpu"', 'NaN'), 400, 'body_not_json'),
  ...['null', '[]', '5', '"text"', 'true', 'NaN'].map((text) =>
    withBody(`the body is ${text}`, () => text, 400, 'body_not_object'),
  ),
  withBody('the body is an array of bodies', () => `[${body()}]`, 400, 'body_not_object'),
  withBody('data_id is absent', () => body({ data_id: undefined }), 400, 'data_id_invalid', 'absent'),
  ...['1500001', 1.5, null, true, [1500001], {}, Number.NaN, Number.POSITIVE_INFINITY].map((dataId) =>
    withBody(`data_id is ${looseJson(dataId)}`, () => body({ data_id: dataId }), 400, 'data_id_invalid'),
  ),
  withBody('data is absent', () => body({ data: undefined }), 400, 'data_missing'),
  ...[null, {}, 'text', 5, good].map((data) =>
    withBody(`data is ${looseJson(data).slice(0, 20)}`, () => body({ data }), 400, 'data_not_array'),
  ),
  withBody('data is empty', () => body({ data: [] }), 400, 'data_empty'),
  withBody(
    'data holds 50,001 points',
    () => body({ data: Array.from({ length: 50_001 }, () => 0) }),
    413,
    'too_many_points',
    '50001 points, the limit is 50000',
  ),

  ...['br', 'compress', 'gzip, gzip', 'gzip, br', 'utf-8', '*'].map((encoding) => ({
    what: `Content-Encoding is ${encoding}`,
    request: () => ({ headers: { 'Content-Encoding': encoding }, body: body() }),
    status: 415,
    reason: 'encoding_unsupported',
  })),
  ...encodings.flatMap((encoding): Refused[] => [
    {
      what: `the body says ${encoding} and is not`,
      request: () => ({ headers: { 'Content-Encoding': encoding }, body: body() }),
      status: 400,
      reason: 'encoding_corrupt',
      says: encoding,
    },
    {
      what: `the ${encoding} body ends too early`,
      request: () => ({
        headers: { 'Content-Encoding': encoding },
        body: compressors[encoding](padded(10_000)).subarray(0, -6),
      }),
      status: 400,
      reason: 'encoding_corrupt',
      says: encoding,
    },
    {
      what: `the ${encoding} body inflates to one byte more than the limit`,
      request: () => ({
        headers: { 'Content-Encoding': encoding },
        body: compressors[encoding](padded(32 * mebi + 1)),
      }),
      status: 413,
      reason: 'body_too_large',
      says: `more than ${32 * mebi} bytes inflated`,
    },
  ]),
  ...(['gzip', 'deflate'] as const).map((encoding) => ({
    what: `a byte of the ${encoding} body was changed`,
    request: () => {
      const bytes = compressors[encoding](body());
      bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 0xff;
      return { headers: { 'Content-Encoding': encoding }, body: bytes };
    },
    status: 400,
    reason: 'encoding_corrupt',
  })),
  {
    what: 'the body is chunked and one byte longer than the limit',
    request: () => ({ body: [padded(16 * mebi), Buffer.from(' ')] }),
    status: 413,
    reason: 'body_too_large',
    says: `${16 * mebi} bytes on the wire`,
  },
];

describe('a request is refused where', () => {
  it.each(refusals)(
    '$what: $status $reason',
    async ({ request, status, reason, says = '', headers = {} }) => {
      const answer = await on.send(request());
      expect(answer.status).toBe(status);
      expectEnvelope(answer, {
        code: String(status),
        result: 'false',
        message: expect.stringContaining(says),
        reason,
      });
      for (const [name, value] of Object.entries(headers)) expect(answer.headers[name]).toBe(value);
    },
  );

  it('the method is HEAD: 405 without a body', async () => {
    const answer = await on.send({ method: 'HEAD' });
    expect([answer.status, answer.headers['allow'], answer.text]).toEqual([405, 'POST', '']);
  });

  // A sender that is cut off while it sends sees a broken pipe, tries the same again for ever, and never learns why.
  it.each([
    ['is too large by its Content-Length', () => ({ body: padded(16 * mebi + 1) }), 413],
    ['is much too large by its Content-Length', () => ({ body: padded(40 * mebi) }), 413],
    ['is chunked and much too large', () => ({ body: Array.from({ length: 40 }, () => padded(mebi)) }), 413],
    [
      'is encoded in a way that is not known',
      () => ({ headers: { 'Content-Encoding': 'br' }, body: padded(8 * mebi) }),
      415,
    ],
  ])('the body %s, and the sender gets to know it every time', async (_, request, status) => {
    for (let count = 0; count < 15; count++) expect((await on.send(request())).status).toBe(status);
  });

  it('has stored nothing of all these', async () => {
    expect(await on.storedRows(report)).toEqual([]);
  });
});

describe('the limits themselves', () => {
  it.each([
    ['a body of 16 MiB', () => ({ body: padded(16 * mebi, bodyOf(other, [good])) })],
    [
      'a chunked body of 16 MiB',
      () => ({ body: [padded(8 * mebi, bodyOf(other, [good])), Buffer.alloc(8 * mebi, ' ')] }),
    ],
    ...encodings.map((encoding): [string, () => PushRequest] => [
      `a ${encoding} body of 32 MiB inflated`,
      () => ({
        headers: { 'Content-Encoding': encoding },
        body: compressors[encoding](padded(32 * mebi, bodyOf(other, [good]))),
      }),
    ]),
  ])('%s is taken', async (_, request) => {
    expect((await on.send(request())).text).toBe(plainSuccess);
  });

  it('50,000 points are taken, and all of them stored', async () => {
    const own = await on.report();
    const data = Array.from({ length: 50_000 }, (_, index) => ({
      metrics: { i: index },
      timestamp: timestamp + index,
    }));
    expect((await on.push(own, data)).text).toBe(plainSuccess);
    const table = own.result_table.table_id;
    await on.stack.waitForRows(table, 50_000);
    const { dataset } = await on.stack.query(
      `SELECT count(), count_distinct(uid), min(i), max(i), sum(i) FROM "${table}"`,
    );
    expect(dataset).toEqual([[50_000, 50_000, 0, 49_999, 1_249_975_000]]);
  });

  // A few megabytes that inflate to gigabytes must cost the receiver no more than its limit of inflated bytes.
  it.each(['gzip', 'zstd'] as const)('a %s bomb stops at the limit', async (encoding) => {
    const bytesOf = async (): Promise<number> => {
      const text = (await on.stack.ingress[0]?.metrics()) ?? '';
      return Number(/^process_resident_memory_bytes\S* (\d+)/m.exec(text)?.[1]);
    };
    const member = compressors[encoding](Buffer.alloc(64 * mebi));
    const bomb = Buffer.concat(Array.from({ length: 48 }, () => member));
    const before = await bytesOf();
    let peak = 0;
    let isAnswered = false;
    const answering = on.send({ headers: { 'Content-Encoding': encoding }, body: bomb }).finally(() => {
      isAnswered = true;
    });
    while (!isAnswered) peak = Math.max(peak, await bytesOf());
    expect((await answering).json).toMatchObject({ reason: 'body_too_large' });
    expect(Math.max(peak, await bytesOf()) - before).toBeLessThan(512 * mebi);
  });
});

describe('a wrong credential', () => {
  const wrong: [string, () => Record<string, unknown>][] = [
    ['no token', () => ({ access_token: undefined })],
    ['an empty token', () => ({ access_token: '' })],
    ['a token that is null', () => ({ access_token: null })],
    ['a token that is a number', () => ({ access_token: 5 })],
    ['a wrong token', () => ({ access_token: 'f'.repeat(32) })],
    ['a token that is cut', () => ({ access_token: report.data_source.token.slice(0, -1) })],
    ['a token in capitals', () => ({ access_token: `${report.data_source.token.slice(0, -1)}G` })],
    ['a token with more behind it', () => ({ access_token: `${report.data_source.token} ` })],
    ['the token of another data id', () => ({ access_token: other.data_source.token })],
    ['a data id that is not there', () => ({ data_id: 2_000_000 })],
    ['data id 0', () => ({ data_id: 0 })],
    ['a negative data id', () => ({ data_id: -report.data_source.mon_data_id })],
    ['the data id plus 2^32', () => ({ data_id: report.data_source.mon_data_id + 2 ** 32 })],
    ['the data id plus 2^53', () => ({ data_id: report.data_source.mon_data_id + 2 ** 53 })],
    ['a data id of 10^21', () => ({ data_id: 1e21 })],
    ['a data id of 10^300', () => ({ data_id: 1e300 })],
  ];

  // A different answer would tell a stranger which data ids exist and how near a guess is.
  it.each(wrong)('is answered like every other: %s', async (_, change) => {
    const [answer, first] = [
      await on.send({ body: body(change()) }),
      await on.send({ body: body({ access_token: 'x' }) }),
    ];
    expect(answer.status).toBe(401);
    expect(answer.text).toBe(first.text);
    const { date: _date, ...headers } = answer.headers;
    expect(first.headers).toMatchObject(headers);
    expectEnvelope(answer, {
      code: '401',
      result: 'false',
      message: expect.any(String),
      reason: 'unauthorized',
    });
  });

  it('stores nothing', async () => {
    expect(await on.storedRows(report)).toEqual([]);
  });
});

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
    const refused = await waitFor('the push to be refused', 2000, async () => {
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
      2000,
      async () => (await on.push(own, [{ metrics: { back: 1 } }])).status === 200,
    );
    const rows = await on.storedRows(own);
    expect(rows.filter((row) => 'back' in row)).toHaveLength(1);
    expect(rows.filter((row) => 'cpu' in row)).toHaveLength(1);
  });

  /** Changes a stored record as nobody can over the API, and answers what a push is answered from then on. */
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
    return waitFor('the push to be refused', 5000, async () => {
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

  // Design section 3: every one of these flags alone closes the door.
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

// The checks have an order (design section 4): a later one answered first would judge, or leak, what an earlier one forbids.
describe('the first check that fails answers', () => {
  const disabled = { data_id: 0, access_token: '' };
  beforeAll(async () => {
    const own = await on.report();
    disabled.data_id = own.data_source.mon_data_id;
    disabled.access_token = own.data_source.token;
    await on.stack.api('POST', `/api/v1/custom-reports/${own.custom_report.custom_report_id}/disable`, {});
    await waitFor(
      'the push to be refused',
      5000,
      async () => (await on.send({ body: body(disabled) })).status === 403,
    );
  });

  const order: [string, () => PushRequest, string][] = [
    ['path before method', () => ({ method: 'GET', path: '/v2/' }), 'path_unknown'],
    [
      'method before body',
      () => ({ method: 'PUT', headers: { 'Content-Encoding': 'br' }, body: 'x' }),
      'method_not_allowed',
    ],
    [
      'encoding before JSON',
      () => ({ headers: { 'Content-Encoding': 'br' }, body: 'x' }),
      'encoding_unsupported',
    ],
    ['JSON before data_id', () => ({ body: '{' }), 'body_not_json'],
    ['data_id before token', () => ({ body: body({ data_id: 'x', access_token: 'x' }) }), 'data_id_invalid'],
    ['token before enabled', () => ({ body: body({ ...disabled, access_token: 'x' }) }), 'unauthorized'],
    ['token before data', () => ({ body: body({ access_token: 'x', data: 5 }) }), 'unauthorized'],
    ['enabled before data', () => ({ body: body({ ...disabled, data: undefined }) }), 'data_source_disabled'],
    [
      'the number of points before the points',
      () => ({ body: body({ data: Array.from({ length: 50_001 }, () => 'x') }) }),
      'too_many_points',
    ],
  ];

  it.each(order)('%s', async (_, request, reason) => {
    expect((await on.send(request())).json).toMatchObject({ reason });
  });
});

describe('max_rate', () => {
  it('refuses what comes beyond it, says when to come again, and takes it then', async () => {
    const own = await on.report({ max_rate: 1 });
    const first = await on.push(own, [{ metrics: { n: 1 } }]);
    expect([first.status, first.text]).toEqual([200, plainSuccess]);
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"max_rate";q=1;w=1',
      ratelimit: '"max_rate";r=0;t=1',
    });
    const refused = await on.push(own, [{ metrics: { n: 2 } }]);
    expect(refused.status).toBe(429);
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
    await waitFor(
      'the request to be taken',
      3000,
      async () => (await on.push(own, [{ metrics: { n: 3 } }])).status === 200,
    );
    const table = own.result_table.table_id;
    await on.stack.waitForRows(table, 2);
    const { dataset } = await on.stack.query(`SELECT n FROM "${table}" ORDER BY n`);
    expect(dataset).toEqual([[1], [3]]);
  });

  it('is told on every answer to who has the token, and on no other', async () => {
    const own = await on.report({ max_rate: 500 });
    const send = (change: Record<string, unknown>) =>
      on.send({
        body: body({ data_id: own.data_source.mon_data_id, access_token: own.data_source.token, ...change }),
      });
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
    const own = await on.report({ max_rate: 1 });
    await on.push(own, [good]);
    expect((await on.push(own, 'x')).json).toMatchObject({ reason: 'rate_limited' });
  });

  it('is not used up by who has not the token', async () => {
    const own = await on.report({ max_rate: 1 });
    const stranger = body({ data_id: own.data_source.mon_data_id, access_token: 'x' });
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

describe('too many bytes in flight', () => {
  it('are answered 503 before a body is read, and others are taken once they have gone', async () => {
    const holders = await Promise.all(Array.from({ length: 4 }, () => announceBody(on.port, 16 * mebi)));
    try {
      const refused = await waitFor('a request to be refused', 5000, async () => {
        const answer = await on.push(other, [good]);
        return answer.status !== 200 && answer;
      });
      expect(refused.status).toBe(503);
      expect(refused.headers['retry-after']).toMatch(/^[1-5]$/);
      expectEnvelope(refused, {
        code: '503',
        result: 'false',
        message: expect.any(String),
        reason: 'not_stored',
      });
    } finally {
      for (const socket of holders) socket.destroy();
    }
    await waitFor('a request to be taken', 5000, async () => (await on.push(other, [good])).status === 200);
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
        const { streams } = await bus.manager();
        const { config } = await streams.info('METRICS');
        await streams.update('METRICS', { max_bytes: 1 });
        await refusedAs(own, headers, 'not_stored');
        await streams.update('METRICS', { max_bytes: config.max_bytes });
      } finally {
        await bus.close();
      }
      expect((await on.push(own, [good], headers)).text).toBe(plainSuccess);
      expect((await on.storedRows(own)).map(({ cpu }) => cpu).toSorted()).toEqual([0, 1]);
    },
  );

  // The publish may have been stored: only with the key can the sender try again without storing it twice.
  it('because it does not answer makes it unconfirmed, and with its key it is stored once after all', async () => {
    const own = await on.report();
    await on.push(own, [{ metrics: { cpu: 0 }, timestamp }]);
    on.stack.engines.nats.pause();
    try {
      await refusedAs(own, key, 'unconfirmed');
    } finally {
      on.stack.engines.nats.resume();
    }
    await waitFor(
      'the request to be taken',
      20_000,
      async () => (await on.push(own, [good], key)).text === plainSuccess,
    );
    expect((await on.storedRows(own)).map(({ cpu }) => cpu).toSorted()).toEqual([0, 1]);
  });
});

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
      const own = await on.report({ max_rate: 2 });
      const requests: [PushRequest, number][] = [
        [{ body: bodyOf(own, [good]) }, 200],
        [{ body: '{' }, 400],
        [{ body: body({ access_token: 'x' }) }, 401],
        [{ method: 'PUT', body: 'x'.repeat(100_000) }, 405],
        [{ path: '/', body: 'x' }, 404],
        [{ body: bodyOf(own, [5]) }, 400],
        [{ body: bodyOf(own, [good]) }, 429],
        [{ body: body({ data: Array.from({ length: 50_001 }, () => 0) }) }, 413],
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

  // Replies end in logs of senders, logs in systems that many can read: a token in either is a token given away.
  it('no reply and no line of any log holds a token', () => {
    const tokens = [report.data_source.token, other.data_source.token, 'f'.repeat(32)];
    const lines = [...on.stack.ingress, ...on.stack.transfer, on.stack.metadata].flatMap(
      (role) => role.lines,
    );
    expect(lines.length).toBeGreaterThan(0);
    for (const token of tokens) {
      expect(
        on.answers.filter(
          ({ text, headers }) => text.includes(token) || JSON.stringify(headers).includes(token),
        ),
      ).toEqual([]);
      expect(lines.filter((line) => line.includes(token))).toEqual([]);
    }
  });

  it('every reason for which a request can be refused was met', () => {
    const met = new Set(on.answers.map(({ json }) => Object(json).reason));
    expect(Object.keys(refusalStatus).filter((reason) => !met.has(reason))).toEqual([]);
  });

  it('no request was answered for a defect of ours', () => {
    expect(
      on.stack.ingress.flatMap(({ lines }) => lines.filter((line) => line.includes('"level":50'))),
    ).toEqual([]);
  });
});

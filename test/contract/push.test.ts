import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusalStatus } from '../../src/ingress/push/reply.ts';
import { pointsAt } from '../support/point-cases.ts';
import { looseJson, type PushRequest } from '../support/push-client.ts';
import { compressors, encodings, expectEnvelope, plainSuccess } from '../support/push-replies.ts';
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
const { good, timestamp } = pointsAt(Date.now());

const body = (change: Record<string, unknown> = {}): string => bodyOf(report, [good], change);

/** A body of exactly so many bytes: blanks after the JSON are JSON. */
const padded = (bytes: number, text = body()): Buffer => {
  const buffer = Buffer.alloc(bytes, ' ');
  buffer.write(text);
  return buffer;
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

describe('after all this', () => {
  it('every reason for which a request can be refused was met, but for those that need a data id of their own', () => {
    const met = new Set(on.answers.map(({ json }) => Object(json).reason));
    expect(Object.keys(refusalStatus).filter((reason) => !met.has(reason))).toEqual([
      ...['unsupported_type', 'rate_limited', 'not_stored', 'unconfirmed'],
    ]);
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

  it('no request was answered for a defect of ours', () => {
    expect(
      on.stack.ingress.flatMap(({ lines }) => lines.filter((line) => line.includes('"level":50'))),
    ).toEqual([]);
  });
});

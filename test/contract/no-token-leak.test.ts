import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { allKnown } from '../support/examples-sources.ts';
import { createOtlpClient, type Encoding, encode, encodings, sendRaw } from '../support/otlp-client.ts';
import { createPushClient, type PushRequest } from '../support/push-client.ts';
import { createSecrets, type Leak } from '../support/secrets.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack.ts';
import { waitFor } from '../support/wait.ts';

/** Credentials: they may stand in no log, metric, table, stream or dead letter, and in no answer of a receiver. */
const secrets = createSecrets();
/** Good tokens that a sender puts among its own data: where that is stored they are, like all it sends. Nowhere else. */
const misplaced = createSecrets();
/** Tokens of applications that are there to be misplaced. */
const spare: string[] = [];
const misplace = (name: string): string => misplaced.note(name, spare.pop() ?? '');

let stack: Stack;
let bus: Bus;
/** Every message that anybody published, as its stream keeps it: subject, headers and payload. */
const published: { subject: string; text: string }[] = [];
/** Where the dimension is stored that holds a token. */
let plainTable = '';
/** What the receivers answered. */
const answers: string[] = [];

const streams = ['metrics', 'traces', 'ledger', 'deadletter', 'audit'];

const listen = (): void => {
  for (const stream of streams)
    bus.nc.subscribe(`${stream}.>`, {
      callback: (error, { subject, headers, data }) => {
        if (error !== null) throw error;
        const lines = (headers?.keys() ?? []).map((name) => `${name}: ${headers?.get(name)}`);
        const text = [subject, ...lines, Buffer.from(data).toString('latin1')].join('\n');
        published.push({ subject, text });
      },
    });
};

const postTo = async (path: string, token: string, body: unknown, method = 'POST'): Promise<unknown> => {
  const port = stack.metadata.ports['api'];
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return response.json();
};

const textField = (answer: unknown, name: string): string => String(Object(answer)[name]);

const now = Date.now();
const nanos = String(BigInt(now) * 1_000_000n);

const newReport = async (name: string, extra: Record<string, unknown> = {}): Promise<Report> => {
  const report = await stack.createReport(name, extra);
  secrets.note(`token of report ${name}`, report.data_source.token);
  return report;
};

const newApplication = async (name: string): Promise<Application> => {
  const application = await stack.createApplication(name);
  secrets.note(`token of application ${name}`, application.token);
  return application;
};

/** Pushes of every kind: taken, refused as a whole, in part, and what is no push at all. */
const push = async (): Promise<void> => {
  const port = stack.ingress[0]?.ports['push'] ?? 0;
  const client = createPushClient(port);
  const send = async (request: PushRequest): Promise<number> => {
    const { status, text, headers } = await client.send(request);
    answers.push(`${text} ${JSON.stringify(headers)}`);
    return status;
  };
  const report = await newReport('plain');
  const { mon_data_id: dataId, token } = report.data_source;
  plainTable = report.result_table.table_id;
  const good = { metrics: { cpu: 1 }, target: 'a', timestamp: now };
  const bodyOf = (change: object = {}): string =>
    JSON.stringify({ data_id: dataId, access_token: token, data: [good], ...change });

  expect(await send({ body: bodyOf() })).toBe(200);
  expect(
    await send({ body: bodyOf(), headers: { 'idempotency-key': secrets.invent('an Idempotency-Key') } }),
  ).toBe(200);
  expect(await send({ body: bodyOf({ access_token: secrets.invent('a wrong access_token') }) })).toBe(401);
  const unknown = { data_id: 2_000_000, access_token: secrets.invent('access_token of no data id') };
  expect(await send({ body: bodyOf(unknown) })).toBe(401);
  for (const wrong of [
    [secrets.invent('access_token in an array')],
    { a: secrets.invent('access_token in an object') },
  ])
    expect(await send({ body: bodyOf({ access_token: wrong }) })).toBe(401);
  const elsewhere = { access_token: undefined, token: secrets.invent('token under another name') };
  expect(await send({ body: bodyOf(elsewhere) })).toBe(401);
  expect(await send({ body: bodyOf({ data_id: secrets.invent('data_id that is a token') }) })).toBe(400);
  expect(await send({ body: bodyOf().slice(0, -5) })).toBe(400);
  expect(await send({ body: `[${bodyOf()}]` })).toBe(400);
  expect(await send({ body: `${bodyOf()} ${secrets.invent('text behind the body')}` })).toBe(400);
  expect(await send({ body: bodyOf(), headers: { 'content-encoding': 'gzip' } })).toBe(400);
  expect(
    await send({ body: gzipSync(bodyOf()).subarray(0, -9), headers: { 'content-encoding': 'gzip' } }),
  ).toBe(400);
  expect(
    await send({ body: bodyOf(), headers: { 'content-encoding': secrets.invent('a Content-Encoding') } }),
  ).toBe(415);
  expect(await send({ method: 'PUT', body: bodyOf() })).toBe(405);
  expect(await send({ path: `/v2/push/?access_token=${secrets.invent('a query')}`, body: bodyOf() })).toBe(
    200,
  );
  expect(await send({ path: `/v2/push/${secrets.invent('a path')}`, body: bodyOf() })).toBe(404);
  for (const name of [
    'x-mon-token',
    'x-bk-token',
    'authorization',
    'cookie',
    'user-agent',
    'x-forwarded-for',
  ]) {
    const headers = { [name]: secrets.invent(`a header ${name} of a push`) };
    expect(await send({ body: bodyOf(), headers })).toBe(200);
  }

  // Points that are dropped, deferred, and refused by the database: the token among them is the sender's own.
  const odd = [
    misplace('a point that is a text'),
    { ...good, target: { x: misplace('a target that is an object') } },
    { ...good, metrics: { cpu: misplace('a value') } },
    { ...good, metrics: { [`x-${misplace('a metric of no valid name')}`]: 1 } },
    { ...good, dimension: [misplace('dimensions that are an array')] },
    { ...good, timestamp: misplace('a timestamp') },
  ];
  expect(await send({ body: bodyOf({ data: [good, ...odd] }) })).toBe(200);
  expect(await send({ body: bodyOf({ data: odd }) })).toBe(400);
  const dimension = { access_token: misplace('a dimension') };
  expect(await send({ body: bodyOf({ data: [{ ...good, dimension }] }) })).toBe(200);

  const poisoned = await newReport('poisoned');
  await stack.query(`ALTER TABLE "${poisoned.result_table.table_id}" ADD COLUMN odd UUID`);
  const refused = { ...poisoned.data_source, data: [{ ...good, metrics: { odd: 1 } }] };
  expect(
    await send({
      body: JSON.stringify({
        data_id: refused.mon_data_id,
        access_token: refused.token,
        data: refused.data,
      }),
    }),
  ).toBe(200);

  const disabled = await newReport('disabled');
  await stack.api('POST', `/api/v1/custom-reports/${disabled.custom_report.custom_report_id}/disable`, {});
  const { mon_data_id: disabledId, token: disabledToken } = disabled.data_source;
  await waitFor('the disabled data id is refused', 10_000, async () => {
    return (await send({ body: bodyOf({ data_id: disabledId, access_token: disabledToken }) })) === 403;
  });
  client.close();
  const raw = secrets.invent('a request that is no HTTP');
  for (const bytes of [
    `POST /v2/push/?t=${raw} HTTP/1.1\r\nHost: a\r\nX-Mon-Token ${raw}\r\n\r\n`,
    `${raw}\r\n\r\n`,
    `POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${raw}\r\n\r\n`,
  ])
    answers.push(await sendRaw(port, bytes));
};

const spanOf = (change: object = {}) => ({
  ...{ traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174', name: 's' },
  ...{ startTimeUnixNano: nanos, endTimeUnixNano: nanos, ...change },
});

/** Something that is counted by the name of its sender. */
const forgiven = { parentSpanId: '0000000000000000' };

const named = (token: string) => ({ key: 'mon.data.token', value: { stringValue: token } });

const requestOf = (attributes: object[], ...spans: object[]) => ({
  resourceSpans: [
    { resource: { attributes }, scopeSpans: [{ spans: spans.length === 0 ? [spanOf()] : spans }] },
  ],
});

type Send = (
  token: string | undefined,
  body: object | Buffer | string,
  headers?: Record<string, string>,
) => Promise<number>;

const malformedTokens = (name: string): object[] => [
  { key: 'mon.data.token', value: secrets.invent(`a value that is a text, ${name}`) },
  { key: 'mon.data.token', value: { stringvalue: secrets.invent(`a value of no kind, ${name}`) } },
  { key: 'mon.data.token', value: [secrets.invent(`a value that is an array, ${name}`)] },
  { key: 'mon.data.token', stringValue: secrets.invent(`no value, ${name}`) },
];

const nestedTokens = (name: string): object[] => [
  named(secrets.invent(`the first of two, ${name}`)),
  {
    key: 'mon.data.token',
    value: { arrayValue: { values: [{ stringValue: secrets.invent(`an array, ${name}`) }] } },
  },
  {
    key: 'mon.data.token',
    value: {
      kvlistValue: {
        values: [{ key: 'token', value: { stringValue: secrets.invent(`a list, ${name}`) } }],
      },
    },
  },
];

/** Requests of spans in one encoding: taken, rejected, deferred and refused. */
const sendSpans = async (encoding: Encoding, send: Send): Promise<void> => {
  const own = await newApplication(`own ${encoding}`);
  const other = await newApplication(`other ${encoding}`);
  const good = requestOf([{ key: 'service.name', value: { stringValue: encoding } }]);
  const wrong = (name: string): string => secrets.invent(`${name} of ${encoding}`);
  expect(await send(own.token, good)).toBe(200);
  expect(await send(wrong('a wrong X-MON-TOKEN'), good)).toBe(401);
  expect(await send(undefined, good, { authorization: `Bearer ${own.token}` })).toBe(200);
  expect(await send(undefined, good, { authorization: `Bearer ${wrong('a wrong bearer token')}` })).toBe(401);
  expect(await send(undefined, good, { authorization: `Basic ${wrong('basic authorization')}` })).toBe(401);
  for (const name of ['user-agent', 'cookie', 'x-forwarded-for', 'idempotency-key'])
    expect(
      await send(own.token, requestOf([], spanOf(forgiven)), { [name]: wrong(`a header ${name}`) }),
    ).toBe(200);
  expect(await send(own.token, good, { 'content-encoding': wrong('a Content-Encoding') })).toBe(415);

  // The resource names the application: rows, deferred spans and rejected ones alike.
  const late = spanOf({ startTimeUnixNano: '1700000000' });
  const bad = spanOf({ traceId: '00' });
  expect(await send(own.token, requestOf([named(other.token)], spanOf(), late, bad))).toBe(200);
  expect(await send(undefined, requestOf([named(other.token)], late))).toBe(200);
  expect(await send(undefined, requestOf([named(other.token)], bad))).toBe(200);
  expect(await send(own.token, requestOf([named(wrong('a wrong mon.data.token'))]))).toBe(401);
  const many = Array.from({ length: 200 }, (_, index) => ({ key: `k${index}`, value: { stringValue: 'v' } }));
  expect(await send(own.token, requestOf([...many, named(other.token)]))).toBe(200);
  expect(
    await send(own.token, requestOf([...nestedTokens(encoding), named(other.token)], spanOf(), late)),
  ).toBe(200);
  expect(await send(own.token, requestOf([named(own.token), ...nestedTokens(`last, ${encoding}`)]))).toBe(
    401,
  );
  const mixed = {
    resourceSpans: [...good.resourceSpans, ...requestOf([named(wrong('a wrong one of two'))]).resourceSpans],
  };
  expect(await send(own.token, mixed)).toBe(200);
  const whole = encode(encoding, requestOf([named(other.token)]));
  expect(await send(own.token, whole.subarray(0, -7))).toBe(400);

  // What a sender calls itself is a label of the metrics of what it was forgiven.
  const sdk = {
    key: 'telemetry.sdk.name',
    value: { stringValue: misplace(`an SDK of ${encoding}`) },
  };
  const attribute = {
    key: 'authorization',
    value: { stringValue: misplace(`an attribute of ${encoding}`) },
  };
  const same = named(misplace(`mon.data.token of a span, ${encoding}`));
  expect(
    await send(own.token, requestOf([sdk], spanOf({ attributes: [attribute, same], ...forgiven }))),
  ).toBe(200);
};

const otlp = async (): Promise<void> => {
  const port = stack.ingress[0]?.ports['otlp'] ?? 0;
  const client = createOtlpClient(port);
  const types = { json: 'application/json', protobuf: 'application/x-protobuf' };
  const post = async (
    headers: Record<string, string>,
    body: Buffer | string,
    path = '/v1/traces',
  ): Promise<number> => {
    const { status, headers: received, bytes } = await client.send({ path, headers, body });
    answers.push(`${bytes.toString('latin1')} ${JSON.stringify(received)}`);
    return status;
  };
  for (const encoding of encodings)
    await sendSpans(encoding, (token, body, more = {}) => {
      const headers = {
        'content-type': types[encoding],
        ...(token === undefined ? {} : { 'x-mon-token': token }),
      };
      const isWhole = typeof body === 'string' || Buffer.isBuffer(body);
      return post({ ...headers, ...more }, isWhole ? body : encode(encoding, body));
    });
  const application = await newApplication('in JSON alone');
  const json = { 'content-type': types.json, 'x-mon-token': application.token };
  for (const attribute of malformedTokens('alone'))
    expect([200, 401]).toContain(await post(json, JSON.stringify(requestOf([attribute]))));
  const late = spanOf({ endTimeUnixNano: 'N' });
  const body = requestOf(
    [...malformedTokens('beside the right one'), named(application.token)],
    late,
    spanOf(),
  );
  expect(await post(json, JSON.stringify(body))).toBe(200);
  const escaped = JSON.stringify(requestOf([named(application.token)])).replace('mon.data', '\\u006don.data');
  expect(await post({ 'content-type': types.json }, escaped)).toBe(200);
  const loose = {
    [secrets.invent('an unknown key')]: 1,
    resource_spans: secrets.invent('no array of resources'),
  };
  expect(await post(json, JSON.stringify(loose))).toBe(400);
  expect(await post({ ...json, 'content-type': secrets.invent('a Content-Type') }, '{}')).toBe(415);
  const query = `?X-MON-TOKEN=${secrets.invent('a query of OTLP')}`;
  expect(await post({ 'content-type': types.json }, '{}', `/v1/traces${query}`)).toBe(401);
  expect(await post(json, '{}', `/${secrets.invent('a path of OTLP')}`)).toBe(404);
  await stack.api('POST', `/api/v1/applications/${application.app_id}/disable`, {});
  await waitFor('the disabled application is refused', 10_000, async () => (await post(json, '{}')) === 403);
  await client.close();
  const raw = secrets.invent('OTLP that is no HTTP');
  answers.push(
    await sendRaw(
      port,
      `POST /v1/traces HTTP/1.1\r\nHost: a\r\nX-Mon-Token: ${raw}\r\nbroken ${raw}\r\n\r\n`,
    ),
  );
};

/** The admin API: who calls, tokens that are issued, changed, shown, exported and brought back, and what is refused. */
const administer = async (): Promise<void> => {
  const admin = secrets.note('the first admin token', stack.adminToken());
  const issued = async (name: string, fields: object): Promise<string> =>
    secrets.note(name, textField(await postTo('/api/v1/admin-tokens', admin, { name, ...fields }), 'token'));
  const editor = await issued('an admin token', { role: 'editor' });
  const node = await issued('a node token', { role: 'node' });
  const wrong = secrets.invent('a wrong admin token');
  for (const token of [editor, node, wrong]) {
    await postTo('/api/v1/custom-reports', token, undefined, 'GET');
    await postTo('/api/v1/custom-reports', token, { name: secrets.invent('a body that is refused') });
    await postTo('/api/v1/applications', token, `{"broken ${secrets.invent('broken JSON')}`);
    await postTo(
      `/api/v1/audit?token=${secrets.invent('a query of the admin API')}`,
      token,
      undefined,
      'GET',
    );
    await postTo(
      `/api/v1/applications/${secrets.invent('a path of the admin API')}`,
      token,
      undefined,
      'GET',
    );
  }
  const report = await newReport('rotated');
  const path = `/api/v1/data-sources/${report.data_source.mon_data_id}`;
  const rotated = await postTo(`${path}/rotate-token`, editor, { overlap_seconds: 3600 });
  secrets.note('a new token of a report', textField(rotated, 'token'));
  expect(textField(await postTo(`${path}/reveal-token`, editor, {}), 'token')).toBe(
    textField(rotated, 'token'),
  );
  const application = await newApplication('rotated');
  const answer = await postTo(`/api/v1/applications/${application.app_id}/rotate-token`, admin, {});
  secrets.note('a new token of an application', textField(answer, 'token'));
  const exported = await postTo('/api/v1/export', admin, undefined, 'GET');
  await postTo('/api/v1/import', admin, exported);
  await postTo('/api/v1/import', admin, {
    ...Object(exported),
    version: secrets.invent('an import that is refused'),
  });
  await postTo('/operations/metadata.task.custom_report.refresh_custom_report_2_node_man', editor, {});
  const subscriptions = await postTo('/v1/subscriptions/2', node, undefined, 'GET');
  expect(JSON.stringify(subscriptions)).toContain(textField(rotated, 'token'));
  await postTo('/v1/subscriptions/2', secrets.invent('a wrong node token'), undefined, 'GET');
};

const roles = () => [...stack.ingress, ...stack.transfer, stack.metadata];

/** Every table of QuestDB, row by row, as text. */
const questdbRows = async (): Promise<{ table: string; text: string }[]> => {
  const tables = (await stack.query('SELECT table_name FROM tables()')).dataset.map(([name]) => String(name));
  return Promise.all(
    tables.map(async (table) => ({
      table,
      text: JSON.stringify(await stack.query(`SELECT * FROM "${table}"`)),
    })),
  );
};

/** Every table of ClickHouse that somebody writes, ours and the server's own logs. */
const clickhouseRows = async (): Promise<{ table: string; text: string }[]> => {
  const tables = await stack.spansQuery(
    `SELECT database, name FROM system.tables WHERE database IN ('otel', 'default')
       OR (database = 'system' AND (name LIKE '%_log' OR name IN ('processes', 'errors', 'query_cache')))`,
  );
  return Promise.all(
    tables.map(async ({ database, name }) => {
      const table = `${database}.${name}`;
      return { table, text: JSON.stringify(await stack.spansQuery(`SELECT * FROM ${table}`)) };
    }),
  );
};

beforeAll(async () => {
  stack = await startStack({ traces: true, env: { TIDEMARK_LOG_LEVEL: 'trace' } });
  bus = await connectBus(stack.engines.nats.url, 'test');
  listen();
  for (let count = 0; count < 13; count++)
    spare.push((await stack.createApplication(`spare ${count}`)).token);
  await allKnown(stack);
  await push();
  await otlp();
  await administer();
  await stack.waitForEmptyStream('METRICS');
  await stack.waitForEmptyStream('TRACES');
  await waitFor('a dead letter', 30_000, () =>
    published.some(({ subject }) => subject.startsWith('deadletter.')),
  );
  await bus.nc.flush();
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

// A token in a log, a label or a table is read by people who must not send as somebody else.
describe('no token is found', () => {
  it('where there is something to be found', async () => {
    expect([secrets.size, misplaced.size].map((size) => size > 10)).toEqual([true, true]);
    const subjects = new Set(published.map(({ subject }) => subject.split('.')[0]));
    expect([...subjects]).toEqual(expect.arrayContaining(['metrics', 'traces', 'deadletter', 'audit']));
    const stored = await stack.spansQuery('SELECT count() AS spans FROM otel.otel_traces');
    expect(Number(stored[0]?.['spans'])).toBeGreaterThan(10);
    expect((await questdbRows()).length).toBeGreaterThan(2);
    for (const role of roles()) expect(role.lines.length).toBeGreaterThan(0);
  });

  it('in the log of any role or engine', () => {
    const found: Leak[] = [];
    for (const { name, lines } of [...roles(), { name: 'engine', lines: stack.engines.lines }]) {
      found.push(...secrets.in(name, lines.join('\n')), ...misplaced.in(name, lines.join('\n')));
    }
    expect(found).toEqual([]);
  });

  it('in any metric', async () => {
    const found: Leak[] = [];
    for (const role of roles()) {
      const text = await role.metrics();
      expect(text).toContain('tidemark_');
      found.push(...secrets.in(role.name, text), ...misplaced.in(role.name, text));
    }
    expect(found).toEqual([]);
  });

  it('in any message of METRICS, TRACES, LEDGER, DEADLETTER and AUDIT', () => {
    expect(published.flatMap(({ subject, text }) => secrets.in(subject, text))).toEqual([]);
    const ofOthers = published.filter(({ subject }) => /^(ledger|audit)\./.test(subject));
    expect(ofOthers.flatMap(({ subject, text }) => misplaced.in(subject, text))).toEqual([]);
  });

  it('in any table of QuestDB and ClickHouse', async () => {
    const rows = [...(await questdbRows()), ...(await clickhouseRows())];
    expect(rows.map(({ table }) => table)).toContain('otel.otel_traces');
    expect(rows.flatMap(({ table, text }) => secrets.in(table, text))).toEqual([]);
  });

  it('in any answer of a receiver', () => {
    expect(answers.length).toBeGreaterThan(80);
    expect(answers.flatMap((text) => secrets.in('an answer', text))).toEqual([]);
  });

  it('in any file, but for the records themselves and the first admin token', () => {
    // The records are in the buckets, tokens and all (design section 3); the admin token is in a file for its operator.
    const isRecord = (path: string): boolean =>
      path === 'data/admin.token' || path.includes('/streams/KV_tidemark-records/');
    expect(secrets.inFiles(stack.folder, isRecord)).toEqual([]);
  });

  it('among the data of its sender but where that is stored', async () => {
    const found = [...(await questdbRows()), ...(await clickhouseRows())].flatMap(({ table, text }) =>
      misplaced.in(table, text),
    );
    // Attributes and dimensions are stored as they are sent; only a resource's mon.data.token is a credential.
    const ofSpans = encodings.flatMap((encoding) => [
      `otel.otel_traces: an SDK of ${encoding}`,
      `otel.otel_traces: an attribute of ${encoding}`,
      `otel.otel_traces: mon.data.token of a span, ${encoding}`,
    ]);
    expect(found.toSorted()).toEqual([`${plainTable}: a dimension`, ...ofSpans.toSorted()]);
  });
});

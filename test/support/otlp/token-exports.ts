import { expect } from 'vitest';
import type { TokenTraffic } from '../outcomes/token-traffic.ts';
import { waitFor } from '../wait.ts';
import { createOtlpClient, type Encoding, encode, encodings, sendRaw } from './client.ts';

const nanos = String(BigInt(Date.now()) * 1_000_000n);

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

const malformedTokens = ({ secrets }: TokenTraffic, name: string): object[] => [
  { key: 'mon.data.token', value: secrets.invent(`a value that is a text, ${name}`) },
  { key: 'mon.data.token', value: { stringvalue: secrets.invent(`a value of no kind, ${name}`) } },
  { key: 'mon.data.token', value: [secrets.invent(`a value that is an array, ${name}`)] },
  { key: 'mon.data.token', stringValue: secrets.invent(`no value, ${name}`) },
];

const nestedTokens = ({ secrets }: TokenTraffic, name: string): object[] => [
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
const sendSpans = async (traffic: TokenTraffic, encoding: Encoding, send: Send): Promise<void> => {
  const { secrets, misplace, newApplication } = traffic;
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
    await send(
      own.token,
      requestOf([...nestedTokens(traffic, encoding), named(other.token)], spanOf(), late),
    ),
  ).toBe(200);
  expect(
    await send(own.token, requestOf([named(own.token), ...nestedTokens(traffic, `last, ${encoding}`)])),
  ).toBe(401);
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

/** Exports of every kind, in both encodings, and what is no export at all. */
export const sendExports = async (traffic: TokenTraffic): Promise<void> => {
  const { stack, secrets, answers, newApplication } = traffic;
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
    await sendSpans(traffic, encoding, (token, body, more = {}) => {
      const headers = {
        'content-type': types[encoding],
        ...(token === undefined ? {} : { 'x-mon-token': token }),
      };
      const isWhole = typeof body === 'string' || Buffer.isBuffer(body);
      return post({ ...headers, ...more }, isWhole ? body : encode(encoding, body));
    });
  const application = await newApplication('in JSON alone');
  const json = { 'content-type': types.json, 'x-mon-token': application.token };
  for (const attribute of malformedTokens(traffic, 'alone'))
    expect([200, 401]).toContain(await post(json, JSON.stringify(requestOf([attribute]))));
  const late = spanOf({ endTimeUnixNano: 'N' });
  const body = requestOf(
    [...malformedTokens(traffic, 'beside the right one'), named(application.token)],
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
  await waitFor('the disabled application is refused', 60_000, async () => (await post(json, '{}')) === 403);
  await client.close();
  const raw = secrets.invent('OTLP that is not HTTP');
  answers.push(
    await sendRaw(
      port,
      `POST /v1/traces HTTP/1.1\r\nHost: a\r\nX-Mon-Token: ${raw}\r\nbroken ${raw}\r\n\r\n`,
    ),
  );
};

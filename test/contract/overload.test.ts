import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startClient } from '../support/clients/process.ts';
import {
  answersIn,
  exchange,
  openRaw,
  type RawAnswer,
  type RawConnection,
} from '../support/http/raw-client.ts';
import { exportWithSdk } from '../support/otlp/sdk-spans.ts';
import { installPython, whyNoPython } from '../support/python/python.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const program = join(import.meta.dirname, '../support/python/export_spans.py');
const bytesInFlightMax = 2 ** 20;
const connectionsMax = 60;

type Name = 'push' | 'otlp';
const names = ['push', 'otlp'] as const;
const paths = { push: '/v2/push/', otlp: '/v1/traces' };

let stack: Stack;
let report: Report;
let application: Application;

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    env: {
      TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: String(bytesInFlightMax),
      TIDEMARK_INGRESS_CONNECTIONS_MAX: String(connectionsMax),
    },
  });
  report = await stack.createReport('overload');
  application = await stack.createApplication('overload');
  for (const name of names) await waitForTaken(name);
});
afterAll(() => stack?.stop());

const portOf = (name: Name): number => stack.ingress[0]?.ports[name] ?? 0;

const pushBody = (to = report, data: unknown = [{ metrics: { load: 1 } }]): string =>
  JSON.stringify({ data_id: to.data_source.mon_data_id, access_token: to.data_source.token, data });

const head = (name: Name, fields = '', token = application.token): string =>
  `POST ${paths[name]} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-MON-TOKEN: ${token}\r\n${fields}`;

const request = (name: Name, body = name === 'push' ? pushBody() : '{}', token = application.token): string =>
  `${head(name, 'Connection: close\r\n', token)}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const send = async (name: Name, bytes = request(name)): Promise<RawAnswer> => {
  const [answer, ...more] = answersIn(await exchange(portOf(name), bytes));
  if (answer === undefined || more.length > 0) throw new Error(`${more.length + 1} answers`);
  return answer;
};

const waitForTaken = (name: Name): Promise<unknown> =>
  waitFor('a request to be taken', 60_000, async () => (await send(name)).status === 200);

const figure = async (metric: string, ...labels: string[]): Promise<number> =>
  ((await stack.ingress[0]?.metrics()) ?? '')
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

const held = (): Promise<number> => figure('tidemark_ingress_bytes_in_flight');
const refusedOf = (name: Name): Promise<number> =>
  figure('tidemark_ingress_requests_total', `receiver="${name}"`, 'status="503"');

/** Fills the room for bytes with a body that arrives fast enough to keep it. Ends on request. */
const fillRoom = async (): Promise<() => void> => {
  const connection = await openRaw(portOf('push'));
  connection.send(`${head('push')}Content-Length: 16000000\r\n\r\n`);
  connection.send(Buffer.alloc(bytesInFlightMax, ' '));
  const piece = Buffer.alloc(20_000, ' ');
  const timer = setInterval(() => connection.send(piece), 50);
  await waitFor('the room to be full', 60_000, async () => (await held()) >= bytesInFlightMax);
  return () => {
    clearInterval(timer);
    connection.destroy();
  };
};

/** Takes all connections there may be. */
const fillConnections = async (): Promise<() => void> => {
  const holders: RawConnection[] = await Promise.all(
    Array.from({ length: connectionsMax }, () => openRaw(portOf('otlp'))),
  );
  return () => {
    for (const { destroy } of holders) destroy();
  };
};

const expectOverload = (name: Name, { status, headers, body }: RawAnswer): void => {
  expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^[1-5]$/)]);
  expect(JSON.parse(body)).toEqual(
    name === 'push'
      ? { code: '503', result: 'false', message: expect.any(String), reason: 'not_stored' }
      : { code: 14, message: expect.any(String) },
  );
};

describe.each(names)('a full %s receiver', (name) => {
  // Under overload each byte that is read and each body that is parsed for a refusal is taken from who could be served.
  it('answers 503 without reading the body, with a known and with an unknown length', async () => {
    const empty = await fillRoom();
    try {
      const before = await figure('tidemark_ingress_body_bytes_total');
      for (const framing of ['Content-Length: 100000', 'Transfer-Encoding: chunked']) {
        for (const fields of ['', 'Expect: 100-continue\r\n']) {
          const connection = await openRaw(portOf(name));
          // Nothing of the body is ever sent: the answer can only be of the header.
          connection.send(`${head(name, fields)}${framing}\r\n\r\n`);
          await connection.until(/\r\n\r\n\{.*\}$/);
          const [answer, ...more] = answersIn(connection.text);
          if (answer === undefined) throw new Error('no answer');
          expectOverload(name, answer);
          expect(more).toEqual([]);
          connection.destroy();
        }
      }
      expect(await figure('tidemark_ingress_body_bytes_total')).toBe(before);
    } finally {
      empty();
    }
    await waitForTaken(name);
  });
});

// Else one sender of large bodies would take the whole room, and every other one would be answered 503.
it('takes small requests beside a large one that holds more than the room', async () => {
  const large = await openRaw(portOf('push'));
  large.send(`${head('push')}Content-Length: 16000000\r\n\r\n`);
  large.send(Buffer.alloc(8 * bytesInFlightMax, ' '));
  const timer = setInterval(() => large.send(Buffer.alloc(20_000, ' ')), 50);
  try {
    await waitFor('it to be held', 60_000, async () => (await held()) >= 8 * bytesInFlightMax);
    const answers = [await send('push'), await send('otlp')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await held()).toBeGreaterThanOrEqual(8 * bytesInFlightMax);
  } finally {
    clearInterval(timer);
    large.destroy();
  }
  await waitFor('nothing to be held', 60_000, async () => (await held()) === 0);
});

// A slow sender, by intent or over a bad line, must not block all others.
it('a stalled body is ended for requests that wait for its room', async () => {
  const stalled = await openRaw(portOf('push'));
  stalled.send(`${head('push')}Content-Length: 16000000\r\n\r\n`);
  stalled.send(Buffer.alloc(bytesInFlightMax, ' '));
  await waitFor('the room to be full', 60_000, async () => (await held()) >= bytesInFlightMax);
  await waitForTaken('push');
  expectOverload('push', answersIn(await stalled.until(/\}$/))[0] ?? { status: 0, headers: {}, body: '' });
  expect(stalled.text).toContain('arrived too slowly');
  await waitFor('nothing to be held', 60_000, async () => (await held()) === 0);
  stalled.destroy();
});

// A kilobyte that grows to a megabyte: what many of them grow to together has to fit, too.
it('bodies that grow when inflated are held to the same room', async () => {
  const bomb = gzipSync(Buffer.alloc(900_000, ' ')).toString('latin1');
  const bytes = `${head('push', 'Connection: close\r\nContent-Encoding: gzip\r\n')}Content-Length: ${bomb.length}\r\n\r\n${bomb}`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('push', bytes)));
  expect(answers.map(({ status }) => status).filter((status) => status !== 503 && status !== 400)).toEqual(
    [],
  );
  await waitFor('nothing to be held', 60_000, async () => (await held()) === 0);
  await waitForTaken('push');
});

describe('a limited source', () => {
  const policy = '"max_rate";q=1000;w=1';

  it('has RateLimit headers in every answer after its token was checked', async () => {
    const limited = await stack.createReport('limited', { max_rate: 1000 });
    const { token } = await stack.createApplication('limited', { max_rate: 1000 });
    await waitFor('the records to be known', 60_000, async () => {
      const answers = [
        await send('push', request('push', pushBody(limited))),
        await send('otlp', request('otlp', '{}', token)),
      ];
      return answers.every(({ status }) => status === 200);
    });
    const span = { traceId: '00', spanId: '00', name: 'x' };
    const wrong = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    const answers = await Promise.all([
      send('push', request('push', pushBody(limited))),
      send('push', request('push', pushBody(limited, []))),
      send('push', request('push', pushBody(limited, [1]))),
      send('otlp', request('otlp', '{}', token)),
      send('otlp', request('otlp', wrong, token)),
      send('otlp', request('otlp', '{"resourceSpans":[{"scopeSpans":[{"spans":1}]}]}', token)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 200, 200, 400]);
    for (const { headers } of answers) {
      expect(headers['ratelimit-policy']).toBe(policy);
      expect(headers['ratelimit']).toMatch(/^"max_rate";r=\d+;t=\d+$/);
    }
    const strangers = [
      await send('otlp', request('otlp', '{}', 'x')),
      await send('push', request('push', pushBody())),
    ];
    for (const { headers } of strangers) expect(headers).not.toHaveProperty('ratelimit');
  });

  it('gets 429 with Retry-After and the remaining requests beyond its rate', async () => {
    const limited = await stack.createReport('slow', { max_rate: 1 });
    const { token } = await stack.createApplication('slow', { max_rate: 1 });
    const requests = { push: request('push', pushBody(limited)), otlp: request('otlp', '{}', token) };
    for (const name of names) {
      const { headers } = await waitFor('429', 60_000, async () => {
        const answer = await send(name, requests[name]);
        return answer.status === 429 && answer;
      });
      expect(headers).toMatchObject({
        'retry-after': expect.stringMatching(/^[1-9]\d?$/),
        ratelimit: expect.stringMatching(/^"max_rate";r=0;t=\d+$/),
        'ratelimit-policy': '"max_rate";q=1;w=1',
      });
    }
  });
});

describe('exporters against a receiver that is overloaded for some seconds', () => {
  const overloadMs = 2500;
  const spans = 300;

  const storedIds = async ({ app_id: appId }: Application): Promise<unknown[]> => {
    await stack.waitForEmptyStream('TRACES');
    const rows = await stack.spansQuery(
      `SELECT SpanId FROM otel.otel_traces WHERE AppId = ${appId} ORDER BY SpanId`,
    );
    return rows.map(({ SpanId }) => SpanId);
  };

  /** Works while the receiver is full, and for a time after it first refused something. */
  const during = async <T>(fill: () => Promise<() => void>, work: () => Promise<T>): Promise<T> => {
    const before = await refusedOf('otlp');
    const empty = await fill();
    try {
      const working = work();
      const refused = waitFor('a refusal', 60_000, async () => (await refusedOf('otlp')) > before);
      // An exporter that ends before it was refused has failed, and reports why.
      await Promise.race([refused, working]);
      const end = setTimeout(empty, overloadMs);
      const result = await working;
      clearTimeout(end);
      return result;
    } finally {
      empty();
    }
  };

  it.each([
    ['JavaScript, JSON, too many bytes', JsonExporter, () => fillRoom()],
    ['JavaScript, protobuf, too many bytes', ProtobufExporter, () => fillRoom()],
    ['JavaScript, protobuf, too many connections', ProtobufExporter, () => fillConnections()],
  ] as const)('lose nothing (%s)', async (_, Exporter, fill) => {
    const own = await stack.createApplication(`exporter ${_}`);
    const exporter = new Exporter({
      url: `http://127.0.0.1:${portOf('otlp')}/v1/traces`,
      headers: { 'X-MON-TOKEN': own.token },
    });
    const exported = await during(fill, () => exportWithSdk(exporter, spans, 11));
    expect(exported).toHaveLength(spans);
    expect(await storedIds(own)).toEqual(exported.map((span) => span.spanContext().spanId).toSorted());
  });

  it('lose nothing (Python)', async (context) => {
    const missing = await whyNoPython();
    context.skip(missing !== undefined, missing);
    const python = await installPython();
    const own = await stack.createApplication('exporter of Python');
    const target = { url: `http://127.0.0.1:${portOf('otlp')}/v1/traces`, token: own.token };
    const client = startClient(python, [program, 'protobuf'], target);
    const { ok, rows } = await during(fillRoom, () => client.export({ first: 0, count: spans }));
    expect(ok, client.log()).toBe(true);
    expect(await storedIds(own)).toEqual(rows.map((row) => row['SpanId']).toSorted());
  });
});

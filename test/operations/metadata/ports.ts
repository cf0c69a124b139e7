import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { answersIn, exchange, openRaw } from '../../support/http/raw-client.ts';
import { createReport } from '../../support/metadata/admin-api.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import { otherFormsOf } from '../../support/targets.ts';
import { sharedStack } from './stack.ts';

let metadata: MetadataRole;
let token: string;
const ports = { api: 0, ops: 0 };
type Port = keyof typeof ports;

/** Half a header, which never ends. */
type HalfOpen = { readonly since: number; readonly texts: Promise<string[]>; endedAt: number };
const halfOpen = new Map<Port, HalfOpen>();
const halfOpenCount = 300;

beforeAll(async () => {
  ({ metadata } = await sharedStack());
  ports.api = Number(new URL(metadata.url).port);
  ports.ops = Number(metadata.env['TIDEMARK_METADATA_OPS_PORT']);
  token = (await readFile(`${metadata.dataFolder}/admin.token`, 'utf8')).trim();
  for (const port of ['api', 'ops'] as const) {
    const since = performance.now();
    const all = await Promise.all(Array.from({ length: halfOpenCount }, () => openRaw(ports[port])));
    for (const connection of all) connection.send('GET /livez HTTP/1.1\r\nHost: a\r\nX: ');
    const own: HalfOpen = { since, texts: Promise.all(all.map(({ ended }) => ended)), endedAt: Infinity };
    // The tests before the one that looks at them take longer than they do.
    void own.texts.then(() => {
      own.endedAt = performance.now();
    });
    halfOpen.set(port, own);
  }
});

const request = (target: string, fields = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${fields}Connection: close\r\n\r\n`;

const ask = async (port: Port, text: string) => answersIn(await exchange(ports[port], text));

const known = { api: '/api/v1/custom-reports', ops: '/livez' };

describe.each(['api', 'ops'] as const)('the %s port of metadata', (port) => {
  it('answers its requests while hundreds of clients hold half a header', async () => {
    const [answer] = await ask(port, request(known[port]));
    expect(answer?.status).toBe(200);
  });

  it.each(
    ['/api/v1/export', '/api/v1/custom-reports', '/livez', '/readyz', '/metrics', '/openapi.json'].flatMap(
      otherFormsOf,
    ),
  )('answers nothing by another form of a path: %s', async (target) => {
    const [answer] = await ask(port, request(target));
    expect([400, 404]).toContain(answer?.status);
  });

  it('refuses two Host fields, none, and bytes that are not HTTP, in its own form', async () => {
    const type = port === 'api' ? 'application/problem+json' : 'text/plain';
    for (const text of [
      request(known[port], 'Host: b\r\n'),
      request(known[port]).replace('Host: a\r\n', ''),
      'hello\r\n\r\n',
      request(known[port], 'X : 1\r\n'),
    ]) {
      const [answer, ...more] = await ask(port, text);
      expect([answer?.status, answer?.headers['content-type'], more.length]).toEqual([400, type, 0]);
    }
  });

  it('refuses a header beyond its limit', async () => {
    const [answer] = await ask(port, request(known[port], `X: ${'x'.repeat(20_000)}\r\n`));
    expect(answer?.status).toBe(431);
  });

  it('takes a request in absolute form and of HTTP/1.0', async () => {
    const [absolute] = await ask(port, request(`http://elsewhere${known[port]}`));
    const [old] = await ask(port, request(known[port]).replace('HTTP/1.1\r\nHost: a\r\n', 'HTTP/1.0\r\n'));
    expect([absolute?.status, old?.status]).toEqual([200, 200]);
  });
});

it('the admin API takes parameters in paths that are percent-encoded where they need it', async () => {
  const created = await createReport(metadata, { mon_biz_id: 51, name: 'größe' });
  const path = `/api/v1/result-tables/${encodeURIComponent(String(created.result_table['table_id']))}`;
  expect((await metadata.ask('GET', path)).status).toBe(200);
  // An unused id, and no other route.
  expect((await metadata.ask('GET', '/api/v1/result-tables/a%2Fb')).status).toBe(404);
  const listed = await metadata.ask('GET', `/api/v1/custom-reports?name=${encodeURIComponent('größe')}`);
  expect(listed.body).toMatchObject({ items: [{ name: 'größe' }] });
});

it('a target without a normal form gets an answer only with a valid token', async () => {
  expect((await metadata.askAs(undefined, 'GET', '/api/v1/%65xport')).status).toBe(401);
  expect((await metadata.ask('GET', '/api/v1/%65xport')).status).toBe(404);
});

it('a reader of drops beyond the limit is refused each time, and logged once', async () => {
  const headers = { Authorization: `Bearer ${token}` };
  const ending = new AbortController();
  const listen = () => fetch(`${metadata.url}/api/v1/drops/live`, { headers, signal: ending.signal });
  try {
    const readers = await Promise.all(Array.from({ length: 64 }, listen));
    expect(readers.map(({ status }) => status)).toEqual(readers.map(() => 200));
    for (let count = 0; count < 50; count++) {
      const refused = await metadata.ask('GET', '/api/v1/drops/live');
      expect(refused).toMatchObject({ status: 503, body: { code: 'too_many_readers' } });
    }
    const told = metadata.lines.filter((line) => line.includes('too_many_readers'));
    expect(told.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, code: 'too_many_readers' }]);
  } finally {
    ending.abort();
  }
});

it('a client that never ends a header gets an answer and is disconnected after ten seconds, on both ports', async () => {
  for (const [port, own] of halfOpen) {
    const texts = await own.texts;
    // Ten seconds, and the grain at which they are looked at; a busy machine gets more.
    expect(own.endedAt - own.since).toBeLessThan(50_000);
    // Those that had to make room went without a word.
    const told = texts.filter((text) => text.startsWith('HTTP/1.1 408 '));
    expect(told.length, port).toBeGreaterThan(200);
    expect(texts.filter((text) => text !== '' && !text.startsWith('HTTP/1.1 408 '))).toEqual([]);
  }
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { tokenHeaders } from '../../src/cli/sending.ts';
import { otlpSignals } from '../../src/ingress/otlp/signals.ts';
import { connectGrpc } from '../support/grpc/client.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const origin = 'https://app.example.com';
/** Distinct values of a dimension. */
const valuesMax = 50;
const docsUrl = 'https://wiki.example.com/reasons';
// Settings that change what senders and readers see, on one stack.

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    env: {
      TIDEMARK_INGRESS_PUSH_CORS_ORIGIN: origin,
      TIDEMARK_DOCS_URL: docsUrl,
      TIDEMARK_INGRESS_TOKEN_HEADERS: 'X-Shop-Token, X-Second',
      TIDEMARK_METADATA_DIMENSION_VALUES_MAX: String(valuesMax),
    },
  });
});
afterAll(() => stack?.stop());

const ask = (init: RequestInit): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, init);

it('a page of the origin that the setting names may push: its browser asks first, and is answered', async () => {
  const asked = await ask({
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
  });
  expect(asked.status).toBe(204);
  expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
  expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
  expect(asked.headers.get('access-control-allow-headers')).toContain('Idempotency-Key');
});

it('a page sees why its push was refused', async () => {
  const body = JSON.stringify({ data_id: 1, access_token: 'x', data: [] });
  const answered = await ask({ method: 'POST', headers: { Origin: origin }, body });
  expect(answered.status).toBe(401);
  expect(answered.headers.get('access-control-allow-origin')).toBe(origin);
  expect(await answered.json()).toMatchObject({ reason: 'unauthorized' });
});

it('answers link to the page of reasons that TIDEMARK_DOCS_URL names: refusals and dropped items of both receivers', async () => {
  const { mon_data_id: dataId, token } = (await stack.createReport('links')).data_source;
  const application = await stack.createApplication('links');
  const messageOf = async (url: string, headers: Record<string, string>, body: object): Promise<string> => {
    const answered = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return answered.text();
  };
  const { push, otlp } = stack.ingress[0]?.ports ?? {};
  const pushed = (data: object[], access_token = token) =>
    messageOf(`http://127.0.0.1:${push}/v2/push/`, {}, { data_id: dataId, access_token, data });
  expect(await pushed([], 'x')).toContain(`; see ${docsUrl}#unauthorized"`);
  expect(await pushed([{ metrics: { load: 1 } }, { metrics: { load: 1 }, timestamp: 5 }])).toContain(
    `(timestamp_unit_seconds 1); see ${docsUrl}#timestamp_unit_seconds"`,
  );
  const exported = (accessToken: string) => {
    const times = { startTimeUnixNano: 'N', endTimeUnixNano: 'N' };
    const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'linked', ...times };
    return messageOf(
      `http://127.0.0.1:${otlp}/v1/traces`,
      { 'x-shop-token': accessToken },
      { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
    );
  };
  expect(await exported('x')).toContain(`; see ${docsUrl}#unauthorized"`);
  expect(await exported(application.token)).toContain(`; see ${docsUrl}#timestamp_not_numeric"`);
});

it('a refusal for its token names the headers that the setting names, over HTTP and over gRPC', async () => {
  const { otlp, grpc } = stack.ingress[0]?.ports ?? {};
  const headers = { 'content-type': 'application/json', 'x-mon-token': 'x' };
  const answered = await fetch(`http://127.0.0.1:${otlp}/v1/traces`, { method: 'POST', headers, body: '{}' });
  expect(answered.status).toBe(401);
  expect(answered.headers.get('www-authenticate')).toBe('Bearer realm="tidemark"');
  expect(await answered.json()).toMatchObject({
    message: expect.stringContaining(
      'in the header X-SHOP-TOKEN or X-SECOND, or in Authorization as a bearer',
    ),
  });
  const client = await connectGrpc(`http://127.0.0.1:${grpc}`);
  const { code, message } = await client.call(otlpSignals.traces.exportPath, new Uint8Array());
  client.close();
  expect(code).toBe(16);
  expect(message).toContain('in the metadata as x-shop-token or x-second, or as authorization: Bearer');
});

it('doctor and `trace --send` are let in where the header has another name', async () => {
  const { token } = await stack.createApplication('sent');
  const headers = { 'content-type': 'application/json', ...tokenHeaders(token) };
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`;
  expect((await fetch(url, { method: 'POST', headers, body: '{"resourceSpans":[]}' })).status).toBe(200);
});

const columnsSchema = z.object({
  items: z.array(z.object({ name: z.string(), full_since: z.number().optional() })),
});

it('a dimension with too many values keeps further ones in more_dimensions, and no point is lost', async () => {
  const report = await stack.createReport('many values');
  const { mon_data_id: dataId, token } = report.data_source;
  const { table_id: table } = report.result_table;
  let sent = 0;
  const push = async (modules: readonly string[], padding = ''): Promise<void> => {
    const data = modules.map((module) => ({
      metrics: { load: sent++ },
      target: `a${padding}`,
      dimension: { module, zone: 'z' },
    }));
    const answered = await ask({
      method: 'POST',
      body: JSON.stringify({ data_id: dataId, access_token: token, data }),
    });
    expect(await answered.text()).toBe('{"code":"200","result":"true","message":""}');
  };
  const countOf = async (where: string): Promise<unknown> =>
    (await stack.query(`SELECT count() FROM "${table}" WHERE ${where}`)).dataset[0]?.[0];

  await push(Array.from({ length: valuesMax }, (_, index) => `early ${index}`));
  await stack.waitForRows(table, valuesMax);
  const { body: groups } = await stack.api('GET', `/api/v1/time-series-groups?mon_data_id=${dataId}`);
  const groupId = z
    .object({ items: z.array(z.object({ time_series_group_id: z.number() })).length(1) })
    .parse(groups).items[0]?.time_series_group_id;
  const full = await waitFor('the dimension is full', 90_000, async () => {
    const { body } = await stack.api('GET', `/api/v1/time-series-groups/${groupId}/columns`);
    const names = columnsSchema
      .parse(body)
      .items.flatMap((item) => (item.full_since === undefined ? [] : [item.name]));
    return names.length > 0 && names;
  });
  expect(full).toEqual(['module']);
  // Which dimension of which table is full, with the number of its values beside the bound.
  expect(await stack.api('GET', `/api/v1/data-sources/${dataId}/cardinality`)).toMatchObject({
    body: {
      table_id: table,
      dimension_values_max: valuesMax,
      dimensions: [
        { name: 'target', values_known: 1, full_since: null },
        { name: 'module', values_known: valuesMax, full_since: expect.any(Number) },
        { name: 'zone', values_known: 1, full_since: null },
      ],
    },
  });

  let tries = 0;
  await waitFor('receivers follow', 60_000, async () => {
    await push([`late ${tries++}`]);
    await stack.waitForRows(table, sent);
    return Number(await countOf('module IS NULL')) > 0;
  });
  const before = Number(await countOf('module IS NULL'));
  // The second request is so large that the thread beside the event loop reads it.
  await push(['later']);
  // Also a value that the column has.
  await push(['early 0']);
  const manyRows = 2_000;
  await push(
    Array.from({ length: manyRows }, (_, index) => `latest ${index}`),
    'x'.repeat(300),
  );
  await stack.waitForRows(table, sent);
  expect(await countOf('module IS NULL')).toBe(before + 2 + manyRows);
  expect(await countOf(`more_dimensions = '{"module":"later"}' AND zone = 'z'`)).toBe(1);
  expect(await countOf(`more_dimensions = '{"module":"early 0"}'`)).toBe(1);
  expect(await countOf(`more_dimensions LIKE '{"module":"latest %'`)).toBe(manyRows);
  const answered = await stack.api('POST', '/api/v1/query/points', {
    ...{ data_id: dataId, metrics: ['load'], aggregate: 'count', group_by: ['module'], step: 86_400 },
    filter: [{ dimension: 'module', operator: 'in', values: ['early 0', 'later'] }],
  });
  const early = { group: ['early 0'], rows: 2 };
  expect(answered.body).toMatchObject({ series: [early, { group: ['later'], rows: 1 }] });
  expect(await countOf("module LIKE 'early %'")).toBe(valuesMax);
  const { dataset } = await stack.query(
    `SELECT symbolTableSize FROM table_columns('${table}') WHERE "column" = 'module'`,
  );
  expect(Number(dataset[0]?.[0])).toBeLessThan(valuesMax + 1 + tries);
});

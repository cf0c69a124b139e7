import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../support/stack/stack.ts';

const origin = 'https://app.example.com';
const docsUrl = 'https://wiki.example.com/reasons';
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    env: { TIDEMARK_INGRESS_PUSH_CORS_ORIGIN: origin, TIDEMARK_DOCS_URL: docsUrl },
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
      { 'x-mon-token': accessToken },
      { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
    );
  };
  expect(await exported('x')).toContain(`; see ${docsUrl}#unauthorized"`);
  expect(await exported(application.token)).toContain(`; see ${docsUrl}#timestamp_not_numeric"`);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../support/stack/stack.ts';

const origin = 'https://app.example.com';
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ env: { TIDEMARK_INGRESS_PUSH_CORS_ORIGIN: origin } });
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

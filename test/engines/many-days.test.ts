import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Application, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let nextSpan = 1;

beforeAll(async () => {
  stack = await startStack({ traces: true });
});
afterAll(() => stack.stop());

const dayMs = 86_400_000;
const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0');

/** Sends one request of spans, each a day before the other. */
const send = async ({ token }: Application, days: number): Promise<void> => {
  const spans = Array.from({ length: days }, (_, index) => {
    const time = `${Date.now() - index * dayMs}000000`;
    const id = nextSpan++;
    return {
      traceId: hex(id, 32),
      spanId: hex(id, 16),
      name: 'a',
      startTimeUnixNano: time,
      endTimeUnixNano: time,
    };
  });
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect(response.status).toBe(200);
};

const stored = async ({ app_id }: Application): Promise<number> => {
  const [row] = await stack.spansQuery(
    `SELECT count() AS rows FROM otel.otel_traces WHERE AppId = ${app_id}`,
  );
  return Number(row?.['rows']);
};

// ClickHouse makes a part for each day of a table, by an insert of a tenth of a second each.
describe('a request with spans of many days', () => {
  it('is stored once, also where transfer is killed between, and spans of others wait for a few of its days', async () => {
    const [wide, other] = await Promise.all([
      stack.createApplication('wide'),
      stack.createApplication('other'),
    ]);
    const days = 160;
    await send(wide, days);
    await waitFor('the first days', 30_000, async () => (await stored(wide)) > 0);
    await send(other, 1);
    await waitFor('the span of the other', 30_000, async () => (await stored(other)) === 1);
    const [transfer] = stack.transfer;
    await transfer?.kill();
    expect(await stored(wide)).toBeLessThan(days / 2);
    transfer?.start();
    await stack.waitForEmptyStream('TRACES', 120_000);
    expect([await stored(wide), await stored(other)]).toEqual([days, 1]);
  }, 240_000);
});

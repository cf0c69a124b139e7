import { beforeAll, describe, expect, it } from 'vitest';
import type { Application, Report, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let nextSpan = 1;

beforeAll(async () => {
  stack = await sharedStack();
});

const dayMs = 86_400_000;

/** Pushes points of one report, each a day before the other. */
const push = async ({ data_source: { mon_data_id, token } }: Report, days: number): Promise<void> => {
  const data = Array.from({ length: days }, (_, index) => ({
    ...{ metrics: { m: 1 }, target: 't', dimension: { d: 'x' } },
    timestamp: Date.now() - index * dayMs,
  }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data_id: mon_data_id, access_token: token, data }),
  });
  expect(response.status).toBe(200);
};

const pointsOf = async ({ result_table: { table_id } }: Report): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM "${table_id}"`)).dataset[0]?.[0]);

/** Whether QuestDB has confirmed a write of this report that it has not applied. */
const isWaiting = async ({ result_table: { table_id } }: Report): Promise<boolean> => {
  const { dataset } = await stack.query(
    `SELECT writerTxn, sequencerTxn FROM wal_tables() WHERE name = '${table_id}'`,
  );
  return Number(dataset[0]?.[0]) < Number(dataset[0]?.[1]);
};

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
    const days = 112;
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

// QuestDB makes a partition for each day, and the write has a transaction for each 128 days of its table.
describe('a push with points of many days', () => {
  it('does not hold up the points of other tables while QuestDB applies it', async () => {
    const [wide, other] = await Promise.all([stack.createReport('wide'), stack.createReport('other')]);
    await Promise.all([push(wide, 1), push(other, 1)]);
    await waitFor(
      'the first points',
      30_000,
      async () => (await pointsOf(wide)) === 1 && (await pointsOf(other)) === 1,
    );
    const days = 1_500;
    await push(wide, days);
    await waitFor('the write of many days', 30_000, () => isWaiting(wide));
    await push(other, 1);
    await waitFor('the point of the other', 60_000, async () => (await pointsOf(other)) === 2);
    expect(await pointsOf(wide)).toBeLessThan(days);
    await stack.waitForRows(wide.result_table.table_id, days + 1, 120_000);
  }, 240_000);
});

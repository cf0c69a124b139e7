import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { publishConfirmed } from '../../src/bus/outbox.ts';
import { encodeEnvelope } from '../../src/wire/envelope.ts';
import { figureOf, readDeadLetters } from '../support/dead-letters.ts';
import { type Report, type Stack, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let bus: Bus;
const waitSeconds = 2;

beforeAll(async () => {
  stack = await startStack({
    pipelines: (_file, text) => text.replace(/table_wait_seconds: \d+/, `table_wait_seconds: ${waitSeconds}`),
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
});
afterAll(async () => {
  await bus.close();
  await stack.stop();
});

const push = async (report: Report, value: number): Promise<void> => {
  const { mon_data_id: dataId, token } = report.data_source;
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({
      data_id: dataId,
      access_token: token,
      data: [{ metrics: { up: value }, target: 'a', dimension: {}, timestamp: Date.now() + value }],
    }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
};

let nextUid = 1;

/** A point for a table that no record knows of, so that nobody makes it: its message comes as from a receiver. */
const pushTo = async (table: string, value: number): Promise<void> => {
  const [uid, now] = [nextUid++, Date.now()];
  const row = Buffer.from(`${table},target=a up=${value},uid=${uid}i ${now}\n`);
  const part = {
    dataId: 2_000_000,
    table,
    layout: 'wide' as const,
    rows: 1,
    points: 1,
    base: String(uid),
    first: 0,
    last: 0,
    timeMin: now,
    timeMax: now,
    bytes: row.length,
  };
  const header = {
    version: 1,
    kind: 'metrics' as const,
    arrivedAt: now,
    parts: [part],
    deferred: [],
    outcomes: [],
  };
  const payload = encodeEnvelope(header, [row]);
  await publishConfirmed(bus, { subject: 'metrics.0', messageId: `test-${uid}`, payload, version: 1 });
};

const figure = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  figureOf((await stack.transfer[0]?.metrics()) ?? '', name, labels);

const messages = async (): Promise<number> =>
  (await (await bus.manager()).streams.info('METRICS')).state.messages;

const create = (table: string): string =>
  `CREATE TABLE "${table}" (timestamp TIMESTAMP, uid LONG, target SYMBOL, more_dimensions VARCHAR) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`;

// One table that was dropped by hand must not stop the tables of everybody else, nor may its points be lost.
describe('a table that fails alone', () => {
  it('waits without holding up the others, then is set aside, and takes rows by itself when it is back', async () => {
    const healthy = await stack.createReport('healthy');
    const brokenTable = '2_mon_time_series_2000000.__default__';
    const healthyTable = healthy.result_table.table_id;
    // Nothing else is stored yet: for all that is known it is QuestDB and not the table.
    await pushTo(brokenTable, 2);
    const missing = { outcome: 'table_missing' };
    await until(
      'QuestDB has refused it',
      async () => (await figure('tidemark_transfer_writes_total', missing)) > 0,
    );
    let healthyRows = 0;
    const isSetAside = async (): Promise<boolean> => {
      await push(healthy, ++healthyRows);
      return (await figure('tidemark_transfer_tables_set_aside')) === 1;
    };
    await until('the table is set aside', isSetAside, 60_000);
    await stack.waitForRows(healthyTable, healthyRows);
    await pushTo(brokenTable, 3);
    await until('its messages are settled', async () => (await messages()) === 0, 60_000);
    const letters = (await readDeadLetters(bus)).filter(
      ({ header }) => header['reason'] === 'table_unavailable',
    );
    expect(letters.map(({ header }) => header['table'])).toEqual([brokenTable, brokenTable]);
    expect(letters.map(({ bytes }) => /up=(\d)/.exec(bytes.toString())?.[1])).toEqual(['2', '3']);
    expect(letters[0]?.header).toMatchObject({
      dataId: 2_000_000,
      part: { table: brokenTable, rows: 1, points: 1 },
    });
    expect(stack.transfer[0]?.lines.some((line) => line.includes('table_unavailable'))).toBe(true);

    await stack.query(create(brokenTable));
    await until(
      'the table takes rows again',
      async () => {
        await pushTo(brokenTable, 4);
        return (await figure('tidemark_transfer_tables_set_aside')) === 0;
      },
      60_000,
    );
    await pushTo(brokenTable, 5);
    await until('the last point is stored', async () => {
      const { dataset } = await stack.query(`SELECT count() FROM "${brokenTable}" WHERE up = 5`);
      return Number(dataset[0]?.[0]) === 1;
    });
  });

  it('is not set aside while nothing else is stored: then it may be QuestDB, and the stream keeps the points', async () => {
    const table = '2_mon_time_series_2000001.__default__';
    const before = (await readDeadLetters(bus)).length;
    const tried = await figure('tidemark_transfer_writes_total', { outcome: 'table_missing' });
    await pushTo(table, 1);
    await until(
      'it was tried for longer than a table is waited for',
      async () => (await figure('tidemark_transfer_writes_total', { outcome: 'table_missing' })) >= tried + 4,
      90_000,
    );
    expect(await figure('tidemark_transfer_tables_set_aside')).toBe(0);
    expect(await messages()).toBe(1);
    expect((await readDeadLetters(bus)).length).toBe(before);
    await stack.query(create(table));
    await stack.waitForRows(table, 1);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { figureOf, readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { createPointMessages, createTableSql, unknownTable } from '../support/push/point-messages.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let bus: Bus;
let pushTo: ReturnType<typeof createPointMessages>;
const waitSeconds = 2;

beforeAll(async () => {
  stack = await startStack({
    pipelines: (_file, text) => text.replace(/table_wait_seconds: \d+/, `table_wait_seconds: ${waitSeconds}`),
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  pushTo = createPointMessages(bus);
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

const figure = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  figureOf((await stack.transfer[0]?.metrics()) ?? '', name, labels);

const messages = async (): Promise<number> =>
  (await (await bus.manager()).streams.info('METRICS')).state.messages;

const rowsIn = async (table: string): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM "${table}"`)).dataset[0]?.[0]);

// One table that was dropped by hand must not stop the tables of everybody else, nor may its points be lost.
describe('a table that fails alone', () => {
  it('waits without delaying the others, then is dead-lettered, and accepts rows by itself when it is back', async () => {
    const healthy = await stack.createReport('healthy');
    const brokenId = 2_000_000;
    const brokenTable = unknownTable(brokenId);
    const healthyTable = healthy.result_table.table_id;
    await pushTo(brokenId, 2);
    const missing = { outcome: 'table_missing' };
    await until(
      'QuestDB has refused it',
      async () => (await figure('tidemark_transfer_writes_total', missing)) > 0,
    );
    let healthyRows = 0;
    const isUnavailable = async (): Promise<boolean> => {
      await push(healthy, ++healthyRows);
      return (await figure('tidemark_transfer_tables_set_aside')) === 1;
    };
    await until('the points of the table are dead-lettered', isUnavailable, 60_000);
    await stack.waitForRows(healthyTable, healthyRows);
    await pushTo(brokenId, 3);
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

    await stack.query(createTableSql(brokenTable));
    await until(
      'the table takes rows again',
      async () => {
        await pushTo(brokenId, 4);
        return (await figure('tidemark_transfer_tables_set_aside')) === 0;
      },
      60_000,
    );
    await pushTo(brokenId, 5);
    await until('the last point is stored', async () => {
      const { dataset } = await stack.query(`SELECT count() FROM "${brokenTable}" WHERE up = 5`);
      return Number(dataset[0]?.[0]) === 1;
    });
  });

  // Otherwise the points of all other tables would wait for a broken one: only they could prove that QuestDB works.
  it('is dead-lettered within its time also when nothing else is delivered', async () => {
    const dataId = 2_000_001;
    const before = (await readDeadLetters(bus)).length;
    await pushTo(dataId, 1);
    await until('its message is settled', async () => (await messages()) === 0, 60_000);
    const [letter, ...more] = (await readDeadLetters(bus)).slice(before);
    expect([letter?.header['reason'], letter?.header['table'], more]).toEqual([
      'table_unavailable',
      unknownTable(dataId),
      [],
    ]);
  });

  it('is not dead-lettered while most of the written tables fail like it: then it is QuestDB', async () => {
    const ids = [2_000_002, 2_000_003, 2_000_004, 2_000_005, 2_000_006];
    const before = (await readDeadLetters(bus)).length;
    const deadLettered = await figure('tidemark_transfer_tables_set_aside');
    const triesNow = () => figure('tidemark_transfer_writes_total', { outcome: 'table_missing' });
    const tried = await triesNow();
    for (const dataId of ids) await pushTo(dataId, 1);
    const isTriedLong = async (): Promise<boolean> => (await triesNow()) > tried + 2 * ids.length;
    await until('they were tried for longer than a table is waited for', isTriedLong, 90_000);
    expect(await figure('tidemark_transfer_tables_set_aside')).toBe(deadLettered);
    expect([await messages(), (await readDeadLetters(bus)).length]).toEqual([ids.length, before]);
    for (const dataId of ids) await stack.query(createTableSql(unknownTable(dataId)));
    // Once most of them take rows, the others fail alone: points of theirs may go to the dead letters before the next try.
    const isKept = async (): Promise<boolean> => {
      let kept = (await readDeadLetters(bus)).length - before;
      for (const dataId of ids) kept += await rowsIn(unknownTable(dataId));
      return kept === ids.length && (await messages()) === 0;
    };
    await until('each point is stored or a dead letter', isKept, 90_000);
    expect(await rowsIn(unknownTable(ids[0] ?? 0))).toBe(1);
  });
});

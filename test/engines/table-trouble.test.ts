import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { figureOf } from '../support/outcomes/dead-letters.ts';
import { createPointMessages, createTableSql, unknownTable } from '../support/push/point-messages.ts';
import { holdTableBacklog } from '../support/push/table-backlog.ts';
import { missedByTransfer } from '../support/stack/readiness.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;

beforeAll(async () => {
  // QuestDB suspends a table on command only then.
  process.env['QDB_DEV_MODE_ENABLED'] = 'true';
  stack = await startStack();
});
afterAll(async () => {
  delete process.env['QDB_DEV_MODE_ENABLED'];
  await stack?.stop();
});

let nextTime = Date.now() - 600_000;

const push = async (report: Report, points: number): Promise<void> => {
  const data = Array.from({ length: points }, () => ({ metrics: { up: 1 }, timestamp: nextTime++ }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({
      data_id: report.data_source.mon_data_id,
      access_token: report.data_source.token,
      data,
    }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('')]);
};

const tableOf = (report: Report): string => report.result_table.table_id;

const readiness = (): Promise<Record<string, string>> => missedByTransfer(stack);

/** Rows are visible before their message is acknowledged, and until then transfer may still check the table. */
const untilStored = async (report: Report, rows: number): Promise<void> => {
  await stack.waitForRows(tableOf(report), rows);
  await stack.waitForEmptyStream('METRICS');
};

const untilNamed = (check: string, table: string): Promise<boolean> =>
  waitFor(
    `${check} names ${table}`,
    60_000,
    async () => (await readiness())[check]?.includes(table) === true,
  );

/** Transfer has looked at QuestDB since the newest table was created, and all are fine. */
const untilListed = (): Promise<boolean> =>
  waitFor('transfer has seen every table', 60_000, async () => {
    const all = await stack.query("SELECT count() FROM tables() WHERE table_name LIKE '%.__default__'");
    const metrics = (await stack.transfer[0]?.metrics()) ?? '';
    return (
      figureOf(metrics, 'tidemark_transfer_questdb_tables', { questdb: 'default', state: 'ok' }) ===
      all.dataset[0]?.[0]
    );
  });

const untilFine = (): Promise<boolean> =>
  waitFor('nothing is missed', 60_000, async () => Object.keys(await readiness()).length === 0);

describe('a table of points in trouble', () => {
  it('that QuestDB suspended takes rows, is named in readiness and metrics, and is resumed by itself', async () => {
    const report = await stack.createReport('suspended');
    await push(report, 3);
    await untilStored(report, 3);
    await stack.metadata.kill();
    await stack.query(`ALTER TABLE "${tableOf(report)}" SUSPEND WAL WITH 'DISK FULL', 'no room'`);
    await push(report, 4);
    await stack.waitForEmptyStream('METRICS');
    await untilNamed('questdb_tables', tableOf(report));
    expect((await readiness())['questdb_tables']).toContain('DISK FULL: no room');
    expect(await stack.transfer[0]?.metrics()).toMatch(
      /tidemark_transfer_questdb_tables\{[^}]*state="suspended"[^}]*\} 1/,
    );
    expect((await stack.query(`SELECT count() FROM "${tableOf(report)}"`)).dataset).toEqual([[3]]);
    stack.metadata.start();
    await stack.waitForRows(tableOf(report), 7, 60_000);
    await untilFine();
  });

  // As QuestDB 9.3.4 does with a table that it was killed out of: it may never show them.
  it('of which QuestDB confirms rows after its start without showing them is acknowledged once they are shown', async () => {
    await stack.metadata.ready();
    const report = await stack.createReport('unshown');
    const table = tableOf(report);
    await push(report, 3);
    await untilStored(report, 3);
    await stack.metadata.kill();
    await stack.engines.questdb.kill();
    await stack.engines.questdb.start();
    await stack.query(`ALTER TABLE "${table}" SUSPEND WAL`);
    await push(report, 4);
    await waitFor('transfer leaves the message in the stream', 60_000, () =>
      stack.transfer[0]?.lines.some((line) => line.includes(table) && line.includes('"why":"suspended')),
    );
    expect((await stack.streamState('METRICS')).messages).toBe(1);
    expect((await stack.query(`SELECT count() FROM "${table}"`)).dataset).toEqual([[3]]);
    stack.metadata.start();
    await stack.waitForRows(table, 7, 60_000);
    await stack.waitForEmptyStream('METRICS');
    await untilFine();
  });

  it('that is dropped under load is created again, and holds later points once; others continue', async () => {
    await stack.metadata.ready();
    const dropped = await stack.createReport('dropped');
    const other = await stack.createReport('other');
    await push(dropped, 2);
    await push(other, 2);
    await untilStored(dropped, 2);
    await stack.query(`DROP TABLE "${tableOf(dropped)}"`);
    // A commit that was under way may still be confirmed and go with the old table.
    await waitFor('transfer has seen that the table is gone', 60_000, async () => {
      await push(dropped, 1);
      return stack.transfer[0]?.lines.some(
        (line) => line.includes(tableOf(dropped)) && line.includes('does not take rows of a table'),
      );
    });
    const since = nextTime;
    for (let pushes = 0; pushes < 20; pushes++) {
      await push(dropped, 5);
      await push(other, 5);
    }
    await stack.waitForRows(tableOf(other), 102, 60_000);
    const countSince = `SELECT count() FROM "${tableOf(dropped)}" WHERE timestamp >= ${since}000`;
    await waitFor(
      'the points since then are there',
      90_000,
      async () => (await stack.query(countSince)).dataset[0]?.[0] === 100,
    );
    expect(stack.metadata.lines.join('\n')).toContain('it was created again, empty');
    await stack.waitForEmptyStream('METRICS');
    expect((await stack.query(countSince)).dataset).toEqual([[100]]);
  });

  // The connection of the other table's rows is the one that wrote to the dropped one.
  it('that is dropped while nothing comes for it takes every point once it is created again', async () => {
    const dropped = await stack.createReport('dropped-idle');
    const other = await stack.createReport('kept-busy');
    await push(dropped, 2);
    await push(other, 2);
    await untilStored(dropped, 2);
    await untilListed();
    await stack.query(`DROP TABLE "${tableOf(dropped)}"`);
    const createdAgain = (line: string): boolean =>
      line.includes(tableOf(dropped)) && line.includes('it was created again, empty');
    await waitFor('metadata creates it again', 60_000, async () => {
      await push(other, 1);
      return stack.metadata.lines.some(createdAgain);
    });
    await push(dropped, 50);
    await untilStored(dropped, 50);
  });

  it('whose upsert keys were disabled gets no writes until they are enabled again', async () => {
    const report = await stack.createReport('keyless');
    const table = tableOf(report);
    await push(report, 2);
    await untilStored(report, 2);
    await stack.metadata.kill();
    await stack.query(`ALTER TABLE "${table}" DEDUP DISABLE`);
    await untilNamed('questdb_tables', table);
    await push(report, 3);
    await waitFor('transfer leaves its rows for later', 60_000, () =>
      stack.transfer[0]?.lines.some((line) => line.includes(table) && line.includes('upsert keys are off')),
    );
    expect((await stack.query(`SELECT count() FROM "${table}"`)).dataset).toEqual([[2]]);
    stack.metadata.start();
    await stack.waitForRows(table, 5, 60_000);
    await untilFine();
    expect((await stack.query(`SELECT dedup FROM tables() WHERE table_name = '${table}'`)).dataset).toEqual([
      [true],
    ]);
  });

  it('whose upsert keys are others gets no writes until they are set again', async () => {
    await stack.metadata.ready();
    const report = await stack.createReport('other-keys');
    const table = tableOf(report);
    await push(report, 2);
    await untilStored(report, 2);
    await stack.metadata.kill();
    await stack.query(`ALTER TABLE "${table}" DEDUP ENABLE UPSERT KEYS(timestamp)`);
    await untilNamed('questdb_tables', table);
    // Points of one time.
    nextTime--;
    await push(report, 1);
    nextTime--;
    await push(report, 1);
    await waitFor('transfer leaves their rows for later', 60_000, () =>
      stack.transfer[0]?.lines.some(
        (line) => line.includes(table) && line.includes('upsert keys are not (timestamp, uid)'),
      ),
    );
    expect((await stack.query(`SELECT count() FROM "${table}"`)).dataset).toEqual([[2]]);
    stack.metadata.start();
    await stack.waitForRows(table, 4, 60_000);
    await untilFine();
    expect(
      (await stack.query(`SELECT "column" FROM table_columns('${table}') WHERE upsertKey`)).dataset,
    ).toEqual([['timestamp'], ['uid']]);
  });

  it('is named in readiness and in figures, with the messages that wait for it and their age', async () => {
    const dataId = 2_000_009;
    const table = unknownTable(dataId);
    const bus = await connectBus(stack.engines.nats.url, 'test');
    const pushTo = createPointMessages(bus);
    for (let pushes = 0; pushes < 3; pushes++) await pushTo(dataId, 1);
    await bus.close();
    await waitFor('readiness names it', 60_000, async () =>
      (await readiness())['questdb_tables']?.includes(
        `takes no rows, its messages wait: ${table} (the table does not exist; 3 messages, the oldest `,
      ),
    );
    const labels = { questdb: 'default', table_id: table };
    const figure = async (name: string): Promise<number> =>
      figureOf((await stack.transfer[0]?.metrics()) ?? '', name, labels);
    await waitFor(
      'the figures name it',
      60_000,
      async () =>
        (await figure('tidemark_transfer_table_messages_waiting')) === 3 &&
        (await figure('tidemark_transfer_table_oldest_message_seconds')) >= 1,
    );
    await stack.query(createTableSql(table));
    await stack.waitForRows(table, 3);
    await untilFine();
    await waitFor(
      'the figures name it no more',
      60_000,
      async () => !(await stack.transfer[0]?.metrics())?.includes(table),
    );
  });

  // More than the consumer delivers without an acknowledgement, and long before the table is given up for the time that it fails.
  it('holds up no other table, however many of its messages wait, and none of them is lost', async () => {
    await holdTableBacklog(stack, { dataId: 2_900_000, messages: 4_300, boundMs: 40_000 });
  });
});

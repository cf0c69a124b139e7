import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPublisher, type Publisher } from '../../../src/bus/publisher.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
  type MetricsHeader,
  type Part,
} from '../../../src/wire/metrics-envelope.ts';
import { createPushClient, type PushClient } from '../../support/push/client.ts';
import { bodyOf } from '../../support/push/stack.ts';
import { type LiveRecords, openLiveRecords } from '../../support/stack/live-records.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let live: LiveRecords;
let publisher: Publisher;
let client: PushClient;
let nextUid = 1;

beforeAll(async () => {
  stack = await sharedStack();
  live = await openLiveRecords(stack);
  publisher = createPublisher(live.bus, { deadlineMs: 10_000, awayMs: 5_000 });
  client = createPushClient(stack.ingress[0]?.ports['push'] ?? 0);
});
afterAll(async () => {
  client?.close();
  publisher?.close();
  await live?.close();
});

const dataIdOf = (report: Report): number => report.data_source.mon_data_id;
const tableOf = (report: Report): string => report.result_table.table_id;
const purge = (report: Report) => live.purge(dataIdOf(report), tableOf(report));

const rowsIn = async (table: string): Promise<number> =>
  Number((await stack.query(`SELECT count() FROM "${table}"`)).dataset[0]?.[0]);

const figure = async (pattern: RegExp): Promise<number> =>
  Number(pattern.exec((await stack.transfer[0]?.metrics()) ?? '')?.[1] ?? 0);
const purgedPoints = () => figure(/items_dropped_total\{[^}]*reason="data_source_purged"[^}]*\} (\d+)/);
const storedPoints = () => figure(/items_stored_total\{[^}]*pipeline="metrics"[^}]*\} (\d+)/);
const deadLetters = () => figure(/dead_letters_total\{[^}]*\} (\d+)/);

/** The data ids of each message that waits in METRICS. */
const waitingDataIds = async (): Promise<number[][]> => {
  const manager = await live.bus.manager();
  const { state } = await manager.streams.info('METRICS');
  const found: number[][] = [];
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++) {
    const message = await manager.streams.getMessage('METRICS', { seq: sequence });
    if (message === null) continue;
    const read = decodeEnvelope(message.data, 1);
    if (read.kind !== 'envelope') throw new Error(read.kind);
    found.push([...new Set(read.envelope.header.parts.map(({ dataId }) => dataId))]);
  }
  return found;
};

/** Publishes a message of one point of each report, as a receiver that has not read of a purge yet. */
const publish = async (...reports: Report[]): Promise<void> => {
  const now = Date.now();
  const sections = reports.map((report) => `${tableOf(report)},target=a up=1,uid=${nextUid++}i ${now}\n`);
  const parts = reports.map(
    (report, index): Part => ({
      dataId: dataIdOf(report),
      table: tableOf(report),
      layout: 'wide',
      rows: 1,
      points: 1,
      base: '1000',
      first: 0,
      last: 0,
      timeMin: now,
      timeMax: now,
      bytes: sections[index]?.length ?? 0,
    }),
  );
  const header: MetricsHeader = {
    version: 1,
    kind: 'metrics',
    arrivedAt: now,
    parts,
    deferred: [],
    outcomes: [],
  };
  const payload = encodeEnvelope(
    header,
    sections.map((section) => Buffer.from(section)),
  );
  await publisher.publish('metrics.0', `purge-${nextUid++}`, payload, 1);
};

// A purge must remove the data: no point of the backlog may reach the table, none may be lost uncounted, and points of
// other owners must not suffer.
describe('a purge', () => {
  it('of a data id with a backlog drops and counts its points when transfer starts, and stores those of others in the same messages', async () => {
    const [gone, kept] = [await stack.createReport('purge-gone'), await stack.createReport('purge-kept')];
    await stack.transfer[0]?.stop();
    const pushes = 60;
    const answers = await Promise.all(
      Array.from({ length: pushes }, (_, index) => {
        const point = { metrics: { up: index }, target: `t${index}` };
        // The second point of each is deferred: its time is malformed.
        return client.send({
          body: bodyOf(index % 2 === 0 ? gone : kept, [point, { ...point, timestamp: 'N' }]),
        });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const shared = (await waitingDataIds()).filter((dataIds) => dataIds.length > 1);
    expect(shared.length).toBeGreaterThan(0);
    await purge(gone);
    stack.transfer[0]?.start();
    await stack.transfer[0]?.ready();
    await stack.waitForEmptyStream('METRICS');
    await stack.waitForRows(tableOf(kept), pushes / 2);
    expect(await rowsIn(tableOf(gone))).toBe(0);
    expect([await purgedPoints(), await storedPoints(), await deadLetters()]).toEqual([
      pushes,
      pushes / 2,
      0,
    ]);
    expect(await figure(/items_dropped_total\{[^}]*reason="timestamp_not_numeric"[^}]*\} (\d+)/)).toBe(
      pushes / 2,
    );
  });

  it('during the run of transfer applies to later points, and outlives the table', async () => {
    const [gone, kept] = [await stack.createReport('running-gone'), await stack.createReport('running-kept')];
    const before = { purged: await purgedPoints(), stored: await storedPoints() };
    await publish(gone, kept);
    await stack.waitForRows(tableOf(gone), 1);
    await purge(gone);
    let published = 1;
    await waitFor('a point of the purged data id to be dropped', 60_000, async () => {
      await publish(gone, kept);
      published++;
      return (await purgedPoints()) > before.purged;
    });
    await stack.waitForEmptyStream('METRICS');
    const stored = await rowsIn(tableOf(gone));
    await stack.query(`DROP TABLE "${tableOf(gone)}"`);
    for (let count = 0; count < 3; count++) await publish(gone, kept);
    published += 3;
    await stack.waitForEmptyStream('METRICS');
    await stack.waitForRows(tableOf(kept), published);
    expect((await purgedPoints()) - before.purged).toBe(published - stored);
    expect((await storedPoints()) - before.stored).toBe(published + stored);
    const tables = await stack.query(`SELECT count() FROM tables() WHERE table_name = '${tableOf(gone)}'`);
    expect(tables.dataset).toEqual([[0]]);
    expect(await deadLetters()).toBe(0);
  });

  it('ends the waiting of messages whose table was dropped before the purge was known', async () => {
    const gone = await stack.createReport('table-first');
    const before = await purgedPoints();
    await stack.query(`DROP TABLE "${tableOf(gone)}"`);
    await publish(gone);
    await waitFor('the message to be given back', 60_000, async () =>
      figure(/writes_total\{[^}]*outcome="table_missing"[^}]*\} (\d+)/),
    );
    await purge(gone);
    await stack.waitForEmptyStream('METRICS');
    expect((await purgedPoints()) - before).toBe(1);
  });

  it('makes the receiver refuse the data id as a disabled one within a second', async () => {
    const gone = await stack.createReport('refused');
    const push = () => client.send({ body: bodyOf(gone, [{ metrics: { up: 1 } }]) });
    expect((await push()).status).toBe(200);
    await purge(gone);
    const refused = await waitFor('the push to be refused', 5_000, async () => {
      const answer = await push();
      return answer.status !== 200 && answer;
    });
    expect([refused.status, refused.json]).toMatchObject([403, { reason: 'data_source_disabled' }]);
  });
});

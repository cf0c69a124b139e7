import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../../src/bus/publisher.ts';
import { minuteText, momentText } from '../../../src/outcomes/times.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { startFillAlarm } from '../../../src/transfer/ledger/ledger-alarm.ts';
import { createOutcomeReader, type OutcomeReader } from '../../support/outcomes/outcomes.ts';
import { createPushClient, type PushClient } from '../../support/push/client.ts';
import { bodyOf } from '../../support/push/stack.ts';
import { readyzOf } from '../../support/stack/readiness.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { limitStream } from '../../support/stack/stream-limits.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let bus: Bus;
let publisher: Publisher;
let client: PushClient;
let outcomes: OutcomeReader;

beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
  publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
  client = createPushClient(stack.ingress[0]?.ports['push'] ?? 0);
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  client?.close();
  publisher?.close();
  await outcomes?.close();
  await bus?.close();
});

const dataIdOf = (report: Report): number => report.data_source.mon_data_id;
const tableOf = (report: Report): string => report.result_table.table_id;

const push = async (report: Report): Promise<void> => {
  const answer = await client.send({ body: bodyOf(report, [{ metrics: { up: 1 } }, { metrics: {} }]) });
  expect(answer.status).toBe(200);
};

const messagesIn = async (stream: string): Promise<number> =>
  (await (await bus.manager()).streams.info(stream)).state.messages;

const readiness = () => readyzOf(stack.transfer[0]);

/** Pushes until transfer reports that LEDGER is full; returns the number of pushes. */
const fillLedger = async (report: Report): Promise<number> => {
  let pushes = 0;
  await until('LEDGER to be full', async () => {
    await push(report);
    pushes++;
    return (await readiness()).degraded['ledger'] !== undefined;
  });
  return pushes;
};

describe('during an outage of ClickHouse', () => {
  it('points are stored and acknowledged, readiness says so, and the balance is exact afterwards', async () => {
    const report = await stack.createReport('clickhouse-away');
    await stack.engines.clickhouse.kill();
    for (let count = 0; count < 5; count++) await push(report);
    await stack.waitForRows(tableOf(report), 5);
    await stack.waitForEmptyStream('METRICS');
    const told = await until('it is degraded', async () => {
      const ready = await readiness();
      return ready.degraded['outcomes'] !== undefined && ready;
    });
    expect([told.status, told.failing]).toEqual([200, {}]);
    expect(told.degraded['outcomes']).toContain('no answer from ClickHouse');
    expect(await messagesIn('LEDGER')).toBeGreaterThan(0);
    await stack.engines.clickhouse.start();
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 10, stored: 5, dropped: { metrics_empty: 5 } },
    ]);
    await until('it is well', async () => (await readiness()).degraded['outcomes'] === undefined);
  });

  // An ack without a record would be an item without an account.
  it('and with a full LEDGER, nothing is acknowledged, readiness reports it, and all of it continues by itself', async () => {
    const report = await stack.createReport('ledger-full');
    await stack.engines.clickhouse.kill();
    const restore = await limitStream(bus, 'LEDGER', 4_096);
    let pushes = await fillLedger(report);
    const { status, degraded } = await readiness();
    expect([status, degraded['ledger']]).toEqual([200, expect.stringContaining('the stream is full')]);
    // Points are in QuestDB, their messages are kept.
    await push(report);
    pushes++;
    expect(await messagesIn('METRICS')).toBeGreaterThan(0);
    await stack.engines.clickhouse.start();
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 2 * pushes, stored: pushes, dropped: { metrics_empty: pushes } },
    ]);
    await stack.waitForRows(tableOf(report), pushes);
    await until('LEDGER has room', async () => (await readiness()).degraded['ledger'] === undefined);
    await restore();
  });

  it('and transfer is killed before its messages are acknowledged, the balance is exact', async () => {
    const report = await stack.createReport('killed-while-full');
    await stack.engines.clickhouse.kill();
    // Room for the records of all the pushes that wait at the end: transfer publishes them as one message.
    const restore = await limitStream(bus, 'LEDGER', 4_096);
    const pushes = await fillLedger(report);
    await stack.transfer[0]?.kill();
    stack.transfer[0]?.start();
    await stack.engines.clickhouse.start();
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 2 * pushes, stored: pushes, dropped: { metrics_empty: pushes } },
    ]);
    await stack.waitForRows(tableOf(report), pushes);
    await restore();
    await stack.ready();
  });
});

describe('the ledger', () => {
  // One bad record would otherwise stop all records behind it for good.
  it('sets a line aside that ClickHouse refuses, as ledger_line_refused, and stores those around it', async () => {
    const manager = await bus.manager();
    const lettersBefore = (await manager.streams.info('DEADLETTER')).state.last_seq;
    const publishedAt = Date.now();
    const line = (base: number, change: object = {}): string =>
      `${JSON.stringify({
        pipeline: 'metrics',
        data_id: 1_999_999,
        app_id: 0,
        base: String(base),
        first: 0,
        ordinal: -1,
        redrive: 0,
        minute: minuteText(publishedAt),
        received: 2,
        outcomes: { stored: 1, 'dropped/metrics_empty': 1 },
        at: momentText(publishedAt),
        ...change,
      })}\n`;
    const bad = line(3, { received: 'two' });
    const unknown = line(4, { colour: 'red' });
    const lines = [line(1), line(2), bad, line(5), unknown, line(6)];
    await publisher.publish('ledger.outcomes', 'lines-1', Buffer.from(lines.join('')), 1);
    await publisher.publish('ledger.outcomes', 'lines-2', Buffer.from(line(7)), 1);
    await publisher.publish('ledger.nothing', 'lines-3', Buffer.from(line(8)), 1);
    expect(await outcomes.settled({ dataId: 1_999_999 })).toMatchObject([{ received: 10, stored: 5 }]);
    const { state } = await manager.streams.info('DEADLETTER');
    const found: string[] = [];
    for (let sequence = lettersBefore + 1; sequence <= state.last_seq; sequence++) {
      const message = await manager.streams.getMessage('DEADLETTER', { seq: sequence });
      const data = Buffer.from(message?.data ?? []);
      const end = 4 + data.readUInt32LE(0);
      expect(JSON.parse(data.toString('utf8', 4, end))).toMatchObject({
        reason: 'ledger_line_refused',
        stream: 'LEDGER',
        items: 1,
      });
      found.push(data.toString('utf8', end));
    }
    expect(found.sort()).toEqual([bad, unknown, line(8)].sort());
  });

  it('takes the rows of refusals and samples to their tables', async () => {
    const refusal = {
      pipeline: 'metrics',
      data_id: 7,
      app_id: 0,
      minute: minuteText(Date.now()),
      kind: 'refused',
      reason: 'rate_limited',
      requests: 3,
      items: 9,
      boot: 1,
      seq: 1,
    };
    const at = momentText(Date.now());
    const sample = { at, pipeline: 'traces', app_id: 7, reason: 'span_id_invalid', value: '"é"', boot: 1 };
    for (const id of ['a', 'b']) {
      const payload = Buffer.from(`${JSON.stringify(refusal)}\n`);
      await publisher.publish('ledger.refusals', `refusal-${id}`, payload, 1);
      await publisher.publish(
        'ledger.samples',
        `sample-${id}`,
        Buffer.from(`${JSON.stringify(sample)}\n`),
        1,
      );
    }
    await stack.waitForEmptyStream('LEDGER');
    expect(
      await stack.spansQuery(
        'SELECT kind, requests, items FROM otel.ingest_refusals FINAL WHERE data_id = 7',
      ),
    ).toEqual([{ kind: 'refused', requests: '3', items: '9' }]);
    expect(
      await stack.spansQuery('SELECT reason, value, ordinal FROM otel.ingest_samples FINAL WHERE app_id = 7'),
    ).toEqual([{ reason: 'span_id_invalid', value: '"é"', ordinal: '-1' }]);
  });

  it('warns while over half of the stream is full', async () => {
    await stack.engines.clickhouse.kill();
    await publisher.publish('ledger.refusals', 'waiting', Buffer.from('{}\n'), 1);
    let read = 0;
    const alarm = startFillAlarm(bus, {
      stream: 'LEDGER',
      bytesMax: 10,
      intervalMs: 20,
      log: createLog('test', 'silent'),
      onFill: (bytes) => {
        read = bytes;
      },
    });
    await until('a problem', () => alarm.problem);
    expect(alarm.problem).toContain('stream LEDGER is');
    expect(read).toBeGreaterThan(10);
    await stack.engines.clickhouse.start();
    await until('no problem', () => alarm.problem === undefined);
    alarm.stop();
    await stack.waitForEmptyStream('LEDGER');
  });
});

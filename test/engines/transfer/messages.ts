import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../../src/bus/publisher.ts';
import { encodeEnvelope, type MetricsHeader, type Part } from '../../../src/wire/metrics-envelope.ts';
import { readyzOf } from '../../support/stack/readiness.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let bus: Bus;
let publisher: Publisher;
let nextId = 0;

beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
  publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
});
afterAll(async () => {
  publisher.close();
  await bus.close();
});

const partOf = (report: Report, rows: string, overrides: Partial<Part> = {}): Part => ({
  dataId: report.data_source.mon_data_id,
  table: report.result_table.table_id,
  layout: 'wide',
  rows: rows.split('\n').length - 1,
  points: rows.split('\n').length - 1,
  base: '1000',
  first: 0,
  last: 9,
  timeMin: 1,
  timeMax: 2,
  bytes: Buffer.byteLength(rows),
  ...overrides,
});

const messageOf = (parts: readonly (readonly [Part, string])[]): Buffer => {
  const header: MetricsHeader = {
    version: 1,
    kind: 'metrics',
    arrivedAt: Date.now(),
    parts: parts.map(([part]) => part),
    deferred: [],
    outcomes: [],
  };
  return encodeEnvelope(
    header,
    parts.map(([, rows]) => Buffer.from(rows)),
  );
};

const publish = (payload: Uint8Array, version = 1) =>
  publisher.publish('metrics.0', `test-${nextId++}`, payload, version);

const streamMessages = async (name: string): Promise<number> =>
  (await (await bus.manager()).streams.info(name)).state.messages;

const deadLetters = async (): Promise<{ reason: string; error: string; bytes: Buffer }[]> => {
  const manager = await bus.manager();
  const { state } = await manager.streams.info('DEADLETTER');
  const found = [];
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++) {
    const message = await manager.streams.getMessage('DEADLETTER', { seq: sequence });
    if (message === null) continue;
    const data = Buffer.from(message.data);
    const headerEnd = 4 + data.readUInt32LE(0);
    const { reason, error } = JSON.parse(data.toString('utf8', 4, headerEnd));
    found.push({ reason: String(reason), error: String(error), bytes: data.subarray(headerEnd) });
  }
  return found;
};

const metricValue = async (pattern: RegExp): Promise<number> =>
  Number(pattern.exec((await stack.transfer[0]?.metrics()) ?? '')?.[1] ?? Number.NaN);

describe('transfer', () => {
  it('dead-letters a malformed message with its bytes, and continues', async () => {
    const report = await stack.createReport('after-unreadable');
    const garbage = Buffer.from('this is no envelope at all');
    await publish(garbage);
    const rows = `${report.result_table.table_id},target=a up=1,uid=1i ${Date.now()}\n`;
    await publish(messageOf([[partOf(report, rows), rows]]));
    await stack.waitForRows(report.result_table.table_id, 1);
    await waitFor('the stream is empty', 60_000, async () => (await streamMessages('METRICS')) === 0);
    const letters = await deadLetters();
    expect(
      letters.filter((letter) => letter.reason === 'unreadable_message').map((letter) => letter.bytes),
    ).toEqual([garbage]);
  });

  it('sets a row that QuestDB refuses aside alone; its neighbours in the same message and in others are stored', async () => {
    const report = await stack.createReport('refused-row');
    const table = report.result_table.table_id;
    const now = Date.now();
    const first = `${table},target=a up=1,uid=11i ${now}\n${table},target=a\\\nb up=2,uid=12i ${now}\n`;
    await publish(messageOf([[partOf(report, first), first]]));
    await stack.waitForRows(table, 2);
    const poison = `${table},target=a up="text",uid=14i ${now}\n`;
    const second = `${table},target=a\\\nb up=3,uid=13i ${now}\n${poison}${table},target=a up=5,uid=15i ${now}\n`;
    await publish(messageOf([[partOf(report, second), second]]));
    await stack.waitForRows(table, 4);
    await waitFor('the message is settled', 60_000, async () => (await streamMessages('METRICS')) === 0);
    const refused = (await deadLetters()).filter((letter) => letter.reason === 'row_refused');
    expect(refused.map((letter) => letter.bytes.toString())).toEqual([poison]);
    expect(refused[0]?.error).toContain('cast error');
  });

  it('holds a message for a missing table back and stores the others', async () => {
    const there = await stack.createReport('there');
    const missing = '2_mon_time_series_2000000.__default__';
    const now = Date.now();
    const good = `${there.result_table.table_id},target=a up=1,uid=21i ${now}\n`;
    const lost = `${missing},target=a up=1,uid=22i ${now}\n`;
    await publish(messageOf([[partOf(there, lost, { table: missing, dataId: 2_000_000 }), lost]]));
    await publish(messageOf([[partOf(there, good), good]]));
    await stack.waitForRows(there.result_table.table_id, 1);
    // A row is visible before its message is acknowledged.
    await waitFor('one message is left', 60_000, async () => (await streamMessages('METRICS')) === 1);
    // The table appears (a purge undone by hand, a slow metadata): the message goes through by itself.
    await stack.query(
      `CREATE TABLE "${missing}" (timestamp TIMESTAMP, uid LONG, target SYMBOL, more_dimensions VARCHAR) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`,
    );
    await stack.waitForRows(missing, 1);
    await waitFor('the stream is empty', 60_000, async () => (await streamMessages('METRICS')) === 0);
  });

  it('holds a message of a newer program back, reports it in readiness and metrics, and continues with the others', async () => {
    const report = await stack.createReport('beside-newer');
    const table = report.result_table.table_id;
    await publish(Buffer.from('a layout that only version 7 knows'), 7);
    const rows = `${table},target=a up=1,uid=31i ${Date.now()}\n`;
    await publish(messageOf([[partOf(report, rows), rows]]));
    await stack.waitForRows(table, 1);
    await waitFor(
      'the version is reported',
      60_000,
      async () => (await metricValue(/newer_envelope_version\S* (\d+)/)) === 7,
    );
    const { status, degraded } = await readyzOf(stack.transfer[0]);
    expect(status).toBe(200);
    expect(degraded['envelope']).toContain('version 7 is newer');
    // A row is visible before its message is acknowledged.
    await waitFor('one message is left', 60_000, async () => (await streamMessages('METRICS')) === 1);
    expect((await deadLetters()).some((letter) => letter.bytes.toString().includes('version 7'))).toBe(false);
    await (await bus.manager()).streams.purge('METRICS');
  });
});

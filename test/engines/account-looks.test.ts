import { AckPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { closeDifferences, readDifferences } from '../../src/account/difference-table.ts';
import { createLook, type Look, type LookDependencies } from '../../src/account/look.ts';
import { createStoreLook } from '../../src/account/store-look.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createQuestdbSql } from '../../src/stores/questdb/sql.ts';
import {
  itemsPerMessage,
  makeDeadLetters,
  makeWorkQueue,
  publishBooked,
  silentStores,
} from '../support/account/looks.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

const dataId = 1_500_001;
const consumer = 'c';
const minute = 60 * Math.floor(Date.now() / 60_000);

let engines: TestEngines;
let bus: Bus;
let clickhouse: Clickhouse;
const stop = new AbortController();

const elapsed = performance.now.bind(performance);
let aheadMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + aheadMs);

/** A stream for each test; the lines of each are of a life of its own. */
const streams = [
  'METRICS-a',
  'METRICS-b',
  'METRICS-c',
  'METRICS-d',
  'METRICS-e',
  'METRICS-f',
  'METRICS-g',
  'METRICS-h',
  'METRICS-i',
  'METRICS-j',
  'METRICS-k',
  'METRICS-l',
] as const;
const lives: Readonly<Record<string, number>> = {
  'METRICS-a': 7,
  'METRICS-b': 8,
  'METRICS-c': 9,
  'METRICS-d': 11,
  'METRICS-e': 12,
  'METRICS-f': 13,
  'METRICS-g': 14,
  'METRICS-h': 15,
  'METRICS-i': 16,
  'METRICS-j': 17,
  'METRICS-k': 18,
  'METRICS-l': 19,
  METRICS: 10,
};

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'looks');
  for (const name of [...streams, 'METRICS', 'LEDGER']) await makeWorkQueue(bus, name, consumer);
  await makeDeadLetters(bus);
});
afterAll(async () => {
  vi.restoreAllMocks();
  stop.abort();
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

/** The streams of this file never become shorter. */
const nats: LookDependencies['nats'] = { id: async () => undefined, lastLife: async () => undefined };

type GivenTo = Partial<Pick<LookDependencies, 'stores' | 'findOrphans'>>;

/** Looks at one stream every 40 seconds. Unless others are given, its stores say nothing. */
const looksAt = (
  name: string,
  { stores = silentStores, findOrphans = async () => [] }: GivenTo = {},
): Look => {
  const look = createLook({
    ...{ bus, clickhouse, streams: [{ name, consumer }], ledger: { name: 'LEDGER', consumer } },
    ...{ stores, findOrphans },
    ...{ nats, log: { warn: () => {} }, stop: stop.signal },
  });
  return () => {
    aheadMs += 40_000;
    return look();
  };
};

/** The name of the record of a message. */
const recordOf = (stream: string, serial: number): number => 10_000 * (lives[stream] ?? 0) + serial;

/** Publishes messages of an owner with these serials. */
const publish = async (stream: string, serials: readonly number[], ofOwner = dataId): Promise<void> => {
  const life = lives[stream] ?? 0;
  const send = (serial: number): Promise<void> =>
    publishBooked(bus, stream, { dataId: ofOwner, life, serial, minute, base: recordOf(stream, serial) });
  const together = 200;
  for (let at = 0; at < serials.length; at += together)
    await Promise.all(serials.slice(at, at + together).map(send));
};

const insert = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);

/** The publishers' book has this many messages of the stream. */
const book = (stream: string, messages: number, ofOwner = dataId) =>
  insert(
    'ingest_published',
    [0, ofOwner].map((owner) => ({
      ...{ stream, life: lives[stream], minute, data_id: owner, app_id: 0, messages, rows: 0, bytes: 0 },
      ...{ items: owner === 0 ? 0 : itemsPerMessage * messages, dropped: {}, sequence_first: 1 },
      ...{ sequence_last: messages, closed: messages, ended: 0, version: 1 },
    })),
  );

const settle = async (stream: string, serials: readonly number[], ofOwner = dataId): Promise<void> => {
  // Lines younger than two seconds may still lack their record.
  const writtenAt = Math.floor(Date.now() / 1_000) - 10;
  const owner = { data_id: ofOwner, app_id: 0, redrive: 0, minute, at: writtenAt };
  await insert(
    'ingest_settled',
    serials.map((serial) => ({
      ...{ ...owner, stream, life: lives[stream], serial, sequence: serial, owners: 1 },
      ...{ items: itemsPerMessage, record: recordOf(stream, serial) },
    })),
  );
  await insert(
    'ingest_outcomes',
    serials.map((serial) => ({
      ...{
        ...owner,
        pipeline: 'metrics',
        base: String(recordOf(stream, serial)),
        first: 0,
        ordinal: -1,
        at: minute,
      },
      ...{ received: itemsPerMessage, outcomes: { 'dropped/metrics_empty': itemsPerMessage }, book: 1 },
    })),
  );
};

const row = z.object({ kind: z.string(), items: z.coerce.number(), messages: z.coerce.number() });

const found = async (stream: string): Promise<string[]> => {
  const rows = await clickhouse.rows(
    row,
    'SELECT kind, items, messages FROM otel.ingest_differences FINAL WHERE is_found = 1 AND stream = {stream:String}',
    { params: { stream } },
  );
  return rows.map(({ kind, items, messages }) => `${kind} ${items} ${messages}`);
};

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('the looks at a stream', () => {
  it('take messages that the consumer was moved past for stuck ones, and at no look for lost', async () => {
    const [stream] = streams;
    const count = 5_200;
    await publish(stream, range(count));
    await book(stream, count);
    const look = looksAt(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await found(stream)).toEqual([]);
    await (await bus.manager()).consumers.reset(stream, consumer, count + 1);
    await look();
    expect(await found(stream)).toEqual([]);
    for (let turn = 0; turn < 2; turn++) await look();
    const stuck = [`stuck ${itemsPerMessage * count} ${count}`];
    expect(await found(stream)).toEqual(stuck);
    // As another process does, or this one after a restart.
    await looksAt(stream)();
    expect(await found(stream)).toEqual(stuck);
  });

  it('do not rest for long, and find what is lost, from the first one at which a message waits', async () => {
    const [, stream] = streams;
    await publish(stream, range(10));
    await book(stream, 10);
    const look = looksAt(stream);
    for (let turn = 0; turn < 2; turn++) await look();
    const pulled = await bus.js.consumers.get(stream, consumer);
    // The fourth waits for its table, the last two are deleted.
    const settled = [1, 2, 3, 5, 6, 7, 8];
    await settle(stream, settled);
    for await (const message of await pulled.fetch({ max_messages: 10, expires: 2_000 }))
      if (settled.includes(message.seq)) await message.ackAck();
    const { streams: manager } = await bus.manager();
    for (const sequence of [9, 10]) await manager.deleteMessage(stream, sequence);
    const { isCalm } = await look();
    expect(isCalm).toBe(false);
    expect(await found(stream)).toEqual([`lost_in_the_stream ${2 * itemsPerMessage} 2`]);
  });

  it.each(['METRICS', 'METRICS-c'])(
    'find a record that is deleted after its minute was compared: %s',
    async (stream) => {
      await book(stream, 3);
      await settle(stream, [1, 2, 3]);
      await publish(stream, [1, 2, 3]);
      await (await bus.manager()).streams.purge(stream);
      const look = looksAt(stream);
      for (let turn = 0; turn < 3; turn++) await look();
      expect(await found(stream)).toEqual([]);
      await clickhouse.run(
        `ALTER TABLE otel.ingest_outcomes DELETE WHERE base = ${recordOf(stream, 2)} SETTINGS mutations_sync = 2`,
      );
      for (let turn = 0; turn < 3; turn++) await look();
      expect(await found(stream)).toEqual([`unrecorded ${itemsPerMessage} 1`]);
    },
  );

  it('go on while a QuestDB is away: they name what is lost, and search the dead letters', async () => {
    const [, , , stream] = streams;
    await publish(stream, range(3));
    const ofAway = 1_500_002;
    await book(stream, 3, ofAway);
    const away = createQuestdbSql({ url: 'http://127.0.0.1:1' });
    let searches = 0;
    const look = looksAt(stream, {
      stores: createStoreLook(() => ({
        ...{ clickhouse, isLeftOut: () => false, caughtUp: async () => () => true },
        points: [{ dataId: ofAway, table: 't', sql: away }],
      })),
      findOrphans: async () => {
        searches++;
        return [];
      },
    });
    await (await bus.manager()).streams.purge(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    await away.close();
    expect(await found(stream)).toEqual([`lost_in_the_stream ${3 * itemsPerMessage} 3`]);
    expect(searches).toBe(3);
  });

  it('of two processes report a loss without a line once, and withdraw it when its line comes after a restart', async () => {
    const [, , , , stream] = streams;
    vi.spyOn(Date, 'now').mockImplementation(() => 1_000 * minute + aheadMs);
    const turns = async (looks: readonly Look[], count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn++)
        for (const look of looks) {
          await look();
          // So that each process finds it in a minute of its own.
          aheadMs += 20_000;
        }
    };
    const processes = [looksAt(stream), looksAt(stream)];
    await turns(processes, 1);
    await publish(stream, range(6));
    await (await bus.manager()).streams.purge(stream);
    await turns(processes, 4);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 6']);
    const restarted = [looksAt(stream), looksAt(stream)];
    await turns(restarted, 1);
    await book(stream, 6, 1_500_003);
    await turns(restarted, 4);
    expect(await found(stream)).toEqual([`lost_in_the_stream ${6 * itemsPerMessage} 6`]);
    vi.mocked(Date.now).mockRestore();
  });

  it('take a receiver that is silent for ended, and take that back when it writes again', async () => {
    const [, , , , , stream] = streams;
    const line = (version: number, ageSeconds: number) =>
      insert('ingest_published', [
        {
          ...{ stream, life: lives[stream], minute, data_id: 0, app_id: 0, messages: 0, rows: 0, bytes: 0 },
          ...{ items: 0, dropped: {}, sequence_first: 0, sequence_last: 0, closed: 1, ended: 0, version },
          at: Math.floor(Date.now() / 1_000) - ageSeconds,
        },
      ]);
    await line(1, 100);
    const look = looksAt(stream);
    await look();
    expect(await found(stream)).toEqual(['not_counted 0 0']);
    await line(2, 0);
    await look();
    expect(await found(stream)).toEqual([]);
  });

  // Their senders were answered 2xx, so no other line has them.
  it.each([
    ['METRICS-h', 0],
    ['METRICS-i', 1],
  ])(
    'of a process that was restarted hours later keep the loss of a message without an answer: %s with %i messages that wait',
    async (stream, waiting) => {
      const then = minute - 3 * 3_600;
      const of = { stream, minute: then, app_id: 0 };
      const line = { ...of, life: lives[stream], at: then + 20 };
      await insert(
        'ingest_published',
        [0, dataId].map((owner) => ({
          ...{ ...line, data_id: owner, messages: 0, rows: 0, bytes: 0, items: 0, dropped: {} },
          ...{ sequence_first: 0, sequence_last: 0, closed: 1, ended: 1, version: 1 },
        })),
      );
      const told = { ...line, serial: 1, data_id: dataId, items: 5, base: '123', first: 0, told: 1 };
      await insert('ingest_doubtful', [told]);
      const loss = { kind: 'lost_by_the_engine', data_id: dataId, items: 5, messages: 1, is_found: 1 };
      await insert('ingest_differences', [{ ...of, ...loss }]);
      await publish(stream, range(waiting));
      const look = looksAt(stream);
      for (let turn = 0; turn < 3; turn++) await look();
      expect(await found(stream)).toEqual(['lost_by_the_engine 5 1']);
    },
  );

  it('keep a loss in the stream and its closing while the stream is gone, and call what was still in it lost there', async () => {
    const stream = 'METRICS-j';
    // Of the others there are records without a line.
    const alone = 1_500_006;
    const { streams: manager, consumers } = await bus.manager();
    const ofStream = async () =>
      (await readDifferences(clickhouse, {}))
        .filter((each) => each.stream === stream)
        .map(({ kind, messages, closedMessages, reason }) => [kind, messages, closedMessages, reason]);
    await publish(stream, range(5), alone);
    await book(stream, 5, alone);
    const settled = [1, 2];
    await settle(stream, settled, alone);
    const pulled = await bus.js.consumers.get(stream, consumer);
    for await (const message of await pulled.fetch({ max_messages: 2, expires: 2_000 }))
      await message.ackAck();
    await manager.deleteMessage(stream, 3);
    const look = looksAt(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    await closeDifferences(
      clickhouse,
      (await readDifferences(clickhouse, {})).filter((each) => each.stream === stream),
      ...(['deleted by hand', 'an operator'] as const),
    );
    expect(await ofStream()).toEqual([['lost_in_the_stream', 1, 1, 'deleted by hand']]);
    await manager.delete(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    const now = [['lost_in_the_stream', 3, 1, 'deleted by hand']];
    expect(await ofStream()).toEqual(now);
    const retention = RetentionPolicy.Workqueue;
    const made = { name: stream, subjects: [`${stream}.>`], allow_direct: true, retention };
    await manager.add({ ...made, first_seq: 1_000 });
    await consumers.add(stream, { durable_name: consumer, ack_policy: AckPolicy.Explicit });
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await ofStream()).toEqual(now);
  });

  it('call a push whose line is gone unrecorded where another one of its owner and minute was repeated later', async () => {
    const stream = 'METRICS-l';
    const owner = 1_500_007;
    const [repeated, lineless] = [1, 2];
    await publish(stream, [repeated, lineless], owner);
    await book(stream, 2, owner);
    await settle(stream, [repeated, lineless], owner);
    const remove = (table: string, rows: string) =>
      clickhouse.run(
        `ALTER TABLE otel.${table} DELETE WHERE data_id = ${owner} AND ${rows} SETTINGS mutations_sync = 2`,
      );
    await remove('ingest_settled', `serial = ${lineless}`);
    // The record of the repeat replaces that of the first try, under the minute of its own arrival.
    await remove('ingest_outcomes', `base = ${recordOf(stream, repeated)}`);
    const later = { data_id: owner, app_id: 0, redrive: 0, minute: minute + 360 };
    await insert('ingest_settled', [
      {
        ...{ ...later, stream, life: lives[stream], serial: 3, sequence: 3, owners: 1, at: minute + 361 },
        ...{ items: itemsPerMessage, record: recordOf(stream, repeated) },
      },
    ]);
    await insert('ingest_outcomes', [
      {
        ...{ ...later, pipeline: 'metrics', base: String(recordOf(stream, repeated)), first: 0, ordinal: -1 },
        ...{ received: itemsPerMessage, outcomes: { stored: itemsPerMessage }, book: 1, at: minute + 361 },
      },
    ]);
    await (await bus.manager()).streams.purge(stream);
    const look = looksAt(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await found(stream)).toEqual([`unrecorded ${itemsPerMessage} 1`]);
  });

  it('call messages lost whose owner had foreign rows in its table before they arrived', async () => {
    const stream = 'METRICS-g';
    const foreign = 1_500_004;
    const day = Math.floor(minute / 86_400);
    const rows = { pipeline: 'metrics', dataId: foreign, appId: 0, day, items: 12, why: '' } as const;
    vi.spyOn(Date, 'now').mockImplementation(() => 1_000 * (minute - 300));
    const look = looksAt(stream, {
      stores: {
        look: async () => ({
          ...{ differences: [{ ...rows, kind: 'unrecorded' }], isLeftOut: () => false },
          compared: [{ pipeline: 'metrics', owner: foreign, day }],
          ...{ waitedMs: 0, readMs: 0, isNextSoon: false },
        }),
        unrecorded: async () => ({
          rows: new Map([[`metrics ${foreign} 0`, new Map([[day, rows.items]])]]),
          waitedMs: 0,
        }),
      },
    });
    await look();
    expect(await found('METRICS')).toContain(`unrecorded ${rows.items} 0`);
    vi.mocked(Date.now).mockRestore();
    await publish(stream, range(4));
    await book(stream, 4, foreign);
    await (await bus.manager()).streams.purge(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await found(stream)).toEqual([`lost_in_the_stream ${4 * itemsPerMessage} 4`]);
    expect(await found('METRICS')).toContain(`unrecorded ${rows.items} 0`);
  });

  it('call messages lost whose owner has rows that the books of an earlier process called unrecorded', async () => {
    const stream = 'METRICS-k';
    const dataId = 1_500_005;
    const earlier = minute - 5 * 86_400;
    const day = Math.floor(earlier / 86_400);
    await clickhouse.insert('INSERT INTO otel.ingest_differences FORMAT JSONEachRow', [
      Buffer.from(
        JSON.stringify({
          ...{ data_id: dataId, app_id: 0, kind: 'unrecorded', stream, minute: earlier },
          ...{ items: 12, messages: 3, is_found: 1, at: Math.floor(Date.now() / 1_000) - 3_600 },
        }),
      ),
    ]);
    const look = looksAt(stream, {
      stores: {
        look: async () => ({
          ...{
            differences: [],
            isLeftOut: () => false,
            compared: [],
            waitedMs: 0,
            readMs: 0,
            isNextSoon: false,
          },
        }),
        unrecorded: async () => ({
          rows: new Map([[`metrics ${dataId} 0`, new Map([[day, 12]])]]),
          waitedMs: 0,
        }),
      },
    });
    await publish(stream, range(4));
    await book(stream, 4, dataId);
    await (await bus.manager()).streams.purge(stream);
    for (let turn = 0; turn < 3; turn++) await look();
    expect((await found(stream)).filter((each) => !each.startsWith('unrecorded 12'))).toEqual([
      `lost_in_the_stream ${4 * itemsPerMessage} 4`,
    ]);
  });
});

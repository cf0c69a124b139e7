import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Queue } from '../../src/account/compare.ts';
import { createLook, type Look } from '../../src/account/look.ts';
import { createStreamEnds } from '../../src/account/stream-ends.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import {
  itemsPerMessage,
  makeDeadLetters,
  makeWorkQueue,
  publishBooked,
  silentStores,
} from '../support/account/looks.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';
import { waitFor } from '../support/wait.ts';

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

const make = (stream: string): Promise<void> => makeWorkQueue(bus, stream, consumer);

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'ends');
  await make('LEDGER');
  await makeDeadLetters(bus);
});
afterAll(async () => {
  vi.restoreAllMocks();
  stop.abort();
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

/** What metadata reads of its NATS. */
let natsId = 'first';
let lastLife = 0;
const nats = { id: async () => natsId, lastLife: async () => lastLife };

/** A process that looks at one stream every 40 seconds. */
const looksAt = (name: string): Look => {
  const look = createLook({
    ...{ bus, clickhouse, streams: [{ name, consumer }], ledger: { name: 'LEDGER', consumer } },
    ...{ stores: silentStores, findOrphans: async () => [] },
    ...{ nats, log: { warn: () => {} }, stop: stop.signal },
  });
  return () => {
    aheadMs += 40_000;
    return look();
  };
};

const times = async (count: number, look: Look): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await look();
};

/** Publishes messages of a life with the serials from 1 on. */
const publish = async (stream: string, life: number, count: number, from = 1): Promise<void> => {
  for (let serial = from; serial < from + count; serial++)
    await publishBooked(bus, stream, { dataId, life, serial, minute, base: 1_000 * life + serial });
};

const insert = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);

/** A settled message: its sequence, and its serial in its life. */
type Place = readonly [sequence: number, serial: number];

/** Settles these messages of a life: their lines are in ClickHouse, and their acks in the stream. */
const settle = async (stream: string, life: number, places: readonly Place[]): Promise<void> => {
  const writtenAt = Math.floor(Date.now() / 1_000) - 10;
  const owner = { data_id: dataId, app_id: 0, redrive: 0, minute, at: writtenAt };
  const recordOf = (serial: number): number => 1_000 * life + serial;
  await insert(
    'ingest_settled',
    places.map(([sequence, serial]) => ({
      ...{ ...owner, stream, life, serial, sequence, owners: 1 },
      ...{ items: itemsPerMessage, record: recordOf(serial) },
    })),
  );
  await insert(
    'ingest_outcomes',
    places.map(([, serial]) => ({
      ...{ ...owner, pipeline: 'metrics', base: String(recordOf(serial)), first: 0, ordinal: -1, at: minute },
      ...{ received: itemsPerMessage, outcomes: { 'dropped/metrics_empty': itemsPerMessage }, book: 1 },
    })),
  );
  const wanted = new Set(places.map(([sequence]) => sequence));
  const pulled = await bus.js.consumers.get(stream, consumer);
  for await (const message of await pulled.fetch({ max_messages: 100, expires: 1_000 })) {
    if (wanted.has(message.seq)) await message.ackAck();
    else message.nak();
  }
};

/** The line of a life that counts this many messages, in these sequences. */
const book = (stream: string, life: number, messages: number, [first, last]: readonly [number, number]) =>
  insert(
    'ingest_published',
    [0, dataId].map((owner) => ({
      ...{ stream, life, minute, data_id: owner, app_id: 0, messages, rows: 0, bytes: 0, dropped: {} },
      ...{ items: owner === 0 ? 0 : itemsPerMessage * messages, sequence_first: first, sequence_last: last },
      ...{ closed: messages, ended: 1, version: 1 },
    })),
  );

const row = z.object({ kind: z.string(), items: z.coerce.number(), messages: z.coerce.number() });

const found = async (stream: string): Promise<string[]> => {
  const rows = await clickhouse.rows(
    row,
    `SELECT kind, items, messages FROM otel.ingest_differences FINAL
     WHERE is_found = 1 AND stream = {stream:String} AND kind != 'not_counted' ORDER BY kind`,
    { params: { stream } },
  );
  return rows.map(({ kind, items, messages }) => `${kind} ${items} ${messages}`);
};

const store = (): string => join(engines.folder, 'nats', 'store');

const whileStopped = async (change: () => void): Promise<void> => {
  await engines.nats.stop();
  change();
  await engines.nats.start();
  await waitFor('NATS answers again', 60_000, async () => (await bus.manager()).streams.info('LEDGER'));
};

const copyTo = (name: string): Promise<void> =>
  whileStopped(() => cpSync(store(), join(engines.folder, name), { recursive: true }));

const putBack = (name: string): Promise<void> =>
  whileStopped(() => {
    rmSync(store(), { recursive: true });
    cpSync(join(engines.folder, name), store(), { recursive: true });
  });

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

const places = (first: number, last: number, before = 0): Place[] =>
  range(first, last).map((sequence) => [sequence, sequence - before]);

describe('a NATS that comes back from an older copy of its folder, without lines of its receivers', () => {
  it('lacks the messages that had not settled: each counts once, and under its owner once its line comes', async () => {
    const stream = 'METRICS-a';
    const [earlier, later] = [7, 8];
    lastLife = earlier;
    await make(stream);
    await publish(stream, earlier, 10);
    await settle(stream, earlier, places(1, 10));
    await copyTo('copy');
    await publish(stream, earlier, 10, 11);
    await settle(stream, earlier, [...places(11, 13), [15, 15]]);
    await times(2, looksAt(stream));
    await putBack('copy');
    // A process that starts now must not take the shorter stream for what it was.
    await looksAt(stream)();
    const look = looksAt(stream);
    await times(3, look);
    const nameless = ['lost_in_the_stream 0 6'];
    expect(await found(stream)).toEqual(nameless);
    // Later messages get the sequences of the lost and of the settled ones again, and pass them.
    lastLife = later;
    await publish(stream, later, 5);
    await times(2, look);
    expect(await found(stream)).toEqual(nameless);
    await settle(stream, later, places(11, 15, 10));
    await publish(stream, later, 15, 6);
    await settle(stream, later, places(16, 30, 10));
    await times(2, look);
    expect(await found(stream)).toEqual(nameless);
    await times(2, looksAt(stream));
    expect(await found(stream)).toEqual(nameless);
    await book(stream, earlier, 20, [1, 20]);
    await times(3, look);
    expect(await found(stream)).toEqual([`lost_by_the_engine ${6 * itemsPerMessage} 6`]);
    await times(2, looksAt(stream));
    expect(await found(stream)).toEqual([`lost_by_the_engine ${6 * itemsPerMessage} 6`]);
  });

  it('has lost nothing where a newer copy brings the messages back', async () => {
    const stream = 'METRICS-b';
    lastLife = 9;
    await make(stream);
    await copyTo('older');
    await publish(stream, 9, 5);
    await copyTo('newer');
    const look = looksAt(stream);
    await times(2, look);
    await putBack('older');
    await times(4, look);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 5']);
    await putBack('newer');
    await times(3, look);
    expect(await found(stream)).toEqual([]);
    await settle(stream, 9, places(1, 5));
    await book(stream, 9, 5, [1, 5]);
    await times(3, look);
    expect(await found(stream)).toEqual([]);
    // The older one once more: all that it lacks has settled.
    await putBack('older');
    await times(4, look);
    expect(await found(stream)).toEqual([]);
  });

  it('has lost each message once where copies are put back one after another', async () => {
    const stream = 'METRICS-c';
    lastLife = 10;
    await make(stream);
    await publish(stream, 10, 2);
    await copyTo('copy');
    await publish(stream, 10, 4, 3);
    const look = looksAt(stream);
    await times(2, look);
    await putBack('copy');
    await times(4, look);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 4']);
    lastLife = 11;
    await publish(stream, 11, 3);
    await times(2, look);
    await putBack('copy');
    await times(4, look);
    const messages = (await found(stream)).map((each) => Number(each.split(' ').at(-1)));
    expect(messages.reduce((sum, each) => sum + each, 0)).toBe(7);
  });

  it('has one difference for messages that were purged before', async () => {
    const stream = 'METRICS-d';
    lastLife = 12;
    await make(stream);
    const look = looksAt(stream);
    await look();
    await copyTo('copy');
    await publish(stream, 12, 5);
    await look();
    await (await bus.manager()).streams.purge(stream);
    await times(3, look);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 5']);
    await putBack('copy');
    await times(4, look);
    await times(3, looksAt(stream));
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 5']);
  });
});

describe('a stream that is shorter than it was', () => {
  it('has lost nothing in another NATS, and all that waited where it was deleted and made again from 1 on', async () => {
    const stream = 'METRICS-e';
    lastLife = 13;
    await make(stream);
    await publish(stream, 13, 5);
    await times(2, looksAt(stream));
    await (await bus.manager()).streams.delete(stream);
    await make(stream);
    natsId = 'empty, or restored by a command';
    await times(4, looksAt(stream));
    expect(await found(stream)).toEqual([]);
    natsId = 'first';
    const look = looksAt(stream);
    await times(3, look);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 5']);
  });

  it('has lost each message once where the clock of ClickHouse is set back', async () => {
    const stream = 'METRICS-g';
    lastLife = 14;
    await make(stream);
    await publish(stream, 14, 5);
    await times(2, looksAt(stream));
    await (await bus.manager()).streams.delete(stream);
    await make(stream);
    const look = looksAt(stream);
    await times(3, look);
    const since = Math.floor(Date.now() / 1_000) - 300;
    await insert('ingest_stream_ends', [{ nats: natsId, stream, generation: 1, since }]);
    await times(2, look);
    expect(await found(stream)).toEqual(['lost_in_the_stream 0 5']);
  });

  it('is so at two looks: a server that is late at one has lost nothing', async () => {
    const stream = 'METRICS-f';
    const queue = (last: number): Queue => ({
      ...{ exists: true, begin: 1, first: 1, last, messages: last, end: last, floor: 0 },
    });
    const replaced: string[] = [];
    const differences = {
      ...{ all: [], isEmpty: true, changes: 0, takeOver: async () => [], readAgain: async () => [] },
      replace: async (_: unknown, now: readonly { readonly messages: number }[]) => {
        replaced.push(...now.map(({ messages }) => String(messages)));
      },
    };
    const processes = [0, 1].map(() =>
      createStreamEnds({ clickhouse, nats, elapsed, log: { warn: () => {} } }),
    );
    const looks = async (last: number): Promise<void> => {
      for (const ends of processes) {
        await ends.begin();
        await ends.note(stream, queue(last));
        await ends.find(stream, { queue: queue(last), held: [], redrives: [] }, differences);
      }
    };
    for (const last of [9, 4, 9, 4, 9]) await looks(last);
    expect(replaced).toEqual([]);
    for (const last of [4, 4, 4]) await looks(last);
    expect(new Set(replaced)).toEqual(new Set(['5']));
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readArrivedRows } from '../../src/account/arrived-rows.ts';
import { createLook, type Look } from '../../src/account/look.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { countedBase, identityBit } from '../../src/model/uid.ts';
import { minuteText } from '../../src/outcomes/times.ts';
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

const minute = 60 * Math.floor(Date.now() / 60_000) - 86_400;
const day = Math.floor(minute / 86_400);
const hashed = identityBit + 7_000_000_000n;

let engines: TestEngines;
let clickhouse: Clickhouse;
let bus: Bus;
const stop = new AbortController();
const consumer = 'c';

const elapsed = performance.now.bind(performance);
let aheadMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + aheadMs);

/** Each test has an owner of its own. */
let appId = 1;

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'arrivals');
  for (const name of ['TRACES', 'METRICS', 'METRICS-x', 'LEDGER']) await makeWorkQueue(bus, name, consumer);
  await makeDeadLetters(bus);
});
afterAll(async () => {
  vi.restoreAllMocks();
  stop.abort();
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

/** The rows of a message: their uids begin at `first`, and they arrived `seconds` after the begin of the minute. */
const store = (first: bigint, items: number, seconds: number, table = 'otel_traces') =>
  insertRows(
    clickhouse,
    table,
    Array.from({ length: items }, (_, index) => ({
      ...{ AppId: appId, uid: String(first + BigInt(index)), ArrivedAt: 1_000 * (minute + seconds) },
      [table === 'otel_traces' ? 'Timestamp' : 'TimeUnix']: minuteText(day * 86_400_000),
    })),
  );

/** Its record. */
const record = (first: bigint, items: number, seconds = 0, pipeline = 'traces') =>
  insertRows(clickhouse, 'ingest_outcomes', [
    {
      ...{ pipeline, data_id: 0, app_id: appId, base: String(first), first: 0, ordinal: -1, redrive: 0 },
      ...{ minute: minute + seconds, received: items, outcomes: { stored: items }, at: minute },
    },
  ]);

/** How many rows arrived in each of these minutes, and how many of them soon after its begin. */
const earlyIn = async (minutes: readonly number[], stream = 'TRACES'): Promise<number[][]> => {
  const pipeline = stream === 'TRACES' ? ('traces' as const) : ('otel_metrics' as const);
  const owner = { pipeline, dataId: 0, appId };
  const losses = minutes.map((at) => ({
    ...{ ...owner, kind: 'lost_in_the_stream' as const, stream, minute: minute + 60 * at },
    ...{ items: 5, messages: 1 },
  }));
  const arrived = await readArrivedRows(clickhouse, losses, () => [day, day + 1]);
  return losses.map((each) => {
    const { rows, early } = arrived(each, each.minute);
    return [rows, early];
  });
};

/** How many rows each of these minutes has, none of which may be of the minute before. */
const arrivedIn = async (minutes: readonly number[], stream = 'TRACES'): Promise<(number | undefined)[]> =>
  (await earlyIn(minutes, stream)).map(([rows, early]) => (early === 0 ? rows : undefined));

describe('rows that may be of the messages of a minute', () => {
  it('arrived in it, and no record names them', async () => {
    appId++;
    await store(hashed, 5, 10);
    await store(hashed + 100n, 4, 59);
    await store(hashed + 200n, 3, 61);
    await store(hashed + 300n, 2, -1);
    expect(await arrivedIn([-1, 0, 1, 2])).toEqual([2, 9, 3, 0]);
    await record(hashed, 5);
    await record(hashed + 200n, 2, 60);
    expect(await arrivedIn([-1, 0, 1, 2])).toEqual([2, 4, 1, 0]);
    appId++;
    expect(await arrivedIn([0])).toEqual([0]);
  });

  it('are of all tables of the signal, and its own records alone name them', async () => {
    appId++;
    await store(hashed, 5, 10, 'otel_metrics_gauge');
    await store(hashed + 100n, 4, 10, 'otel_metrics_sum');
    await record(hashed, 5);
    expect(await arrivedIn([0], 'OTEL_METRICS')).toEqual([9]);
    await record(hashed, 5, 0, 'otel_metrics');
    expect(await arrivedIn([0], 'OTEL_METRICS')).toEqual([4]);
  });

  it('may have arrived soon after it, where requests without an identity may share a message', async () => {
    appId++;
    const counted = BigInt(countedBase(1_400_001, 50).text);
    await store(counted, 5, 63);
    await store(counted + 10n, 4, 75);
    await store(hashed, 3, 62);
    expect(await earlyIn([0, 1])).toEqual([
      [0, 0],
      [12, 5],
    ]);
  });
});

describe('the looks at a stream of which a message is lost, and another one only lacks its line and its record', () => {
  /** Looks every 40 seconds. The store has the rows of one message without a record. */
  const looksAt = (name: string, owner: string, items = itemsPerMessage): Look => {
    const rows = new Map([[owner, new Map([[day, items]])]]);
    const look = createLook({
      ...{ bus, clickhouse, streams: [{ name, consumer }], ledger: { name: 'LEDGER', consumer } },
      ...{
        stores: { ...silentStores, unrecorded: async () => ({ rows, waitedMs: 0 }) },
        findOrphans: async () => [],
      },
      nats: { id: async () => undefined, lastLife: async () => undefined },
      ...{ log: { warn: () => {} }, stop: stop.signal },
    });
    return () => {
      aheadMs += 40_000;
      return look();
    };
  };

  /** Publishes the message with this serial, which is gone at once. */
  const publishAndLose = async (stream: string, life: number, serial: number): Promise<void> => {
    await publishBooked(bus, stream, { dataId: 1, life, serial, minute, base: serial });
    await (await bus.manager()).streams.purge(stream);
  };

  /** The publishers' book has the message with this serial in this minute. */
  const book = (stream: string, life: number, owner: object, serial: number, at: number) =>
    insertRows(
      clickhouse,
      'ingest_published',
      [{ data_id: 0, app_id: 0 }, owner].map((ids, index) => ({
        ...{ stream, life, minute: at, ...ids, messages: 1, rows: 0, bytes: 0, dropped: {}, ended: 0 },
        ...{ items: index * itemsPerMessage, sequence_first: serial, sequence_last: serial },
        ...{ closed: 2, version: 1 },
      })),
    );

  const differenceRow = z.object({ kind: z.string(), at: z.coerce.number() });
  const found = (stream: string) =>
    clickhouse.rows(
      differenceRow,
      `SELECT kind, toUnixTimestamp(minute) AS at FROM otel.ingest_differences FINAL
       WHERE is_found = 1 AND messages > 0 AND data_id + app_id > 0 AND stream = {stream:String} ORDER BY minute`,
      { params: { stream } },
    );

  it('name each in its own minute, although they see the lost one first', async () => {
    appId++;
    await store(hashed, itemsPerMessage, 10);
    for (const serial of [1, 2]) await publishAndLose('TRACES', 7, serial);
    const look = looksAt('TRACES', `traces 0 ${appId}`);
    const owner = { data_id: 0, app_id: appId };
    await book('TRACES', 7, owner, 2, minute + 60);
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await found('TRACES')).toEqual([{ kind: 'lost_in_the_stream', at: minute + 60 }]);
    await book('TRACES', 7, owner, 1, minute);
    for (let turn = 0; turn < 3; turn++) await look();
    expect(await found('TRACES')).toEqual([
      { kind: 'unrecorded', at: minute },
      { kind: 'lost_in_the_stream', at: minute + 60 },
    ]);
  });

  it('name each in its own minute, where the rows of points came after the loss was found, after a restart too', async () => {
    for (const [stream, dataId, lostAt, linelessAt] of [
      ['METRICS', 1_500_001, minute + 60, minute],
      ['METRICS-x', 1_500_002, minute, minute + 60],
    ] as const) {
      for (const serial of [1, 2]) await publishAndLose(stream, 8, serial);
      const owner = { data_id: dataId, app_id: 0 };
      await book(stream, 8, owner, 2, lostAt);
      const before = looksAt(stream, `metrics ${dataId} 0`, 0);
      for (let turn = 0; turn < 3; turn++) await before();
      expect(await found(stream)).toEqual([{ kind: 'lost_in_the_stream', at: lostAt }]);
      await book(stream, 8, owner, 1, linelessAt);
      const look = looksAt(stream, `metrics ${dataId} 0`);
      for (let turn = 0; turn < 3; turn++) await look();
      const named = await found(stream);
      expect(named.find(({ kind }) => kind === 'unrecorded')?.at, stream).toBe(linelessAt);
      expect(named.find(({ kind }) => kind === 'lost_in_the_stream')?.at, stream).toBe(lostAt);
    }
  });
});

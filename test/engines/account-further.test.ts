import { headers as newHeaders } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readOwnerAccounts } from '../../src/account/accounts.ts';
import { readDifferences } from '../../src/account/difference-table.ts';
import { createLook, type Look } from '../../src/account/look.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { redriveHeader } from '../../src/bus/message-headers.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { createFurtherStreams, type FurtherStreams } from '../../src/metadata/further-streams.ts';
import { createHourAccount } from '../../src/metadata/pulse/hour-account.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { encodeEnvelope } from '../../src/wire/metrics-envelope.ts';
import {
  itemsPerMessage,
  makeDeadLetters,
  makeWorkQueue,
  publishBooked,
  silentStores,
} from '../support/account/looks.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

// Their setting has no further instance; b has a stream, z has one that the user of metadata may not read.
const pipelines = loadPipelines('pipelines');
const [b, z] = ['METRICS-b', 'METRICS-z'];
const minute = 60 * Math.floor(Date.now() / 60_000);
const ledger = { name: 'LEDGER', consumer: 'ledger' };

let engines: TestEngines;
let bus: Bus;
let metadata: Bus;
let clickhouse: Clickhouse;
const stop = new AbortController();

const elapsed = performance.now.bind(performance);
let aheadMs = 0;
const nowMs = 1_000 * (minute + 5);
vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + aheadMs);

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'test');
  metadata = await connectBus(engines.asUser(engines.nats.url, 'metadata'), 'metadata');
  const names = [
    ['METRICS', 'questdb'],
    ['LEDGER', 'ledger'],
    [b, 'questdb-b'],
    [z, 'questdb-z'],
  ] as const;
  for (const [name = '', consumer] of names) await makeWorkQueue(bus, name, consumer);
  await makeDeadLetters(bus);
});
afterAll(async () => {
  vi.restoreAllMocks();
  stop.abort();
  await clickhouse?.close();
  await metadata?.close();
  await bus?.close();
  await engines?.stop();
});

/** As a metadata process that has just begun and whose setting lacks the instances. */
const lookAnew = (): { readonly furtherStreams: FurtherStreams; readonly look: Look } => {
  const furtherStreams = createFurtherStreams({
    ...{ bus: metadata, pipelines, placedOn: () => ['b', 'z'], elapsed: () => performance.now() },
    now: () => nowMs,
  });
  const look = createLook({
    ...{ bus: metadata, clickhouse, ledger, stop: stop.signal, log: { warn: () => {} } },
    streams: [{ name: 'METRICS', consumer: 'questdb' }],
    furtherStreams: async () =>
      (await furtherStreams.look()).map(({ definition, isUnread, isGone }) => ({
        ...{ name: definition.name, consumer: definition.consumer?.name ?? '', isUnread, isGone },
      })),
    ...{ stores: silentStores, findOrphans: async () => [] },
    nats: { id: async () => undefined, lastLife: async () => undefined },
  });
  return {
    furtherStreams,
    look: () => {
      aheadMs += 40_000;
      return look();
    },
  };
};

const differencesOf = async (dataId: number): Promise<string[]> =>
  (await readDifferences(clickhouse, { dataId })).map(
    ({ kind, stream, items }) => `${kind} ${stream} ${items}`,
  );

/** The publishers' book has messages 1 to `messages` of stream b, of a life of its own. */
const book = async (life: number, dataId: number, first: number, messages: number): Promise<void> => {
  for (let serial = 1; serial <= messages; serial++)
    await publishBooked(bus, b ?? '', { dataId, life, serial, minute, base: 10_000 * life + serial });
  await insertRows(
    clickhouse,
    'ingest_published',
    [0, dataId].map((owner) => ({
      ...{ stream: b, life, minute, data_id: owner, app_id: 0, messages, rows: 0, bytes: 0 },
      ...{ items: owner === 0 ? 0 : itemsPerMessage * messages, dropped: {}, sequence_first: first },
      ...{ sequence_last: first + messages - 1, closed: messages, ended: 0, version: 1 },
    })),
  );
};

it('what a stream of an instance lost that the setting lacks is found, by a process that has just begun too', async () => {
  const dataId = 1_500_001;
  await book(7, dataId, 1, 3);
  const { look, furtherStreams } = lookAnew();
  await look();
  expect(furtherStreams.there.map(({ name }) => name)).toEqual([b]);
  expect(await differencesOf(dataId)).toEqual([]);
  const { streams } = await bus.manager();
  for (const sequence of [1, 2]) await streams.deleteMessage(b ?? '', sequence);
  const lost = [`lost_in_the_stream ${b} ${2 * itemsPerMessage}`];
  for (const each of [look, look, lookAnew().look]) await each();
  expect(await differencesOf(dataId)).toEqual(lost);
});

it('a letter whose redrive waits in such a stream is not lost, and what was found of it is withdrawn', async () => {
  const dataId = 1_500_002;
  const letter = { base: '777', first: 0, ordinal: -1 };
  await insertRows(clickhouse, 'ingest_outcomes', [
    {
      ...{ pipeline: 'metrics', data_id: dataId, app_id: 0, ...letter, redrive: 0, minute, at: minute },
      ...{ received: 2, outcomes: { dead_lettered: 2 }, book: 1 },
    },
  ]);
  // Found by an earlier program, whose looks left the stream out.
  await insertRows(clickhouse, 'ingest_differences', [
    {
      ...{ kind: 'lost_in_the_stream', stream: 'METRICS', data_id: dataId, app_id: 0 },
      ...{ minute: minute + 15, items: 2, messages: 1, is_found: 1 },
    },
  ]);
  expect(await differencesOf(dataId)).toEqual(['lost_in_the_stream METRICS 2']);
  const now = Date.now();
  const payload = encodeEnvelope(
    {
      ...({ version: 1, kind: 'metrics', arrivedAt: now, parts: [], deferred: [], outcomes: [] } as const),
      redrive: { number: 1, items: 2, outcome: { ...letter, minute: new Date(now).toISOString() } },
    },
    [],
  );
  const headers = newHeaders();
  headers.set(redriveHeader, '1');
  await bus.js.publish(`${b}.0`, payload, { headers });
  const { look } = lookAnew();
  for (let turn = 0; turn < 3; turn++) await look();
  expect(await differencesOf(dataId)).toEqual([]);
});

it('an owner whose stream the process may not read is not known to add up, and the others are', async () => {
  const { look, furtherStreams } = lookAnew();
  await look();
  expect([b, z].map((name) => furtherStreams.unreadSince(name ?? ''))).toEqual([undefined, nowMs]);
  expect(furtherStreams.placedUnread()).toEqual([{ stream: z, since: nowMs }]);
  const [here, there] = [1_500_003, 1_500_004];
  await insertRows(
    clickhouse,
    'ingest_outcomes',
    [here, there].map((data_id) => ({
      ...{
        pipeline: 'metrics',
        data_id,
        app_id: 0,
        base: String(data_id),
        first: 0,
        ordinal: -1,
        redrive: 0,
      },
      ...{ minute, at: minute, received: 1, outcomes: { stored: 1 }, book: 1 },
    })),
  );
  const sinceMs = 1_000 * (minute - 3_600);
  const accounts = await readOwnerAccounts(clickhouse, { sinceMs }, undefined, true, (dataId) =>
    dataId === there ? { stream: z ?? '', since: minute } : undefined,
  );
  const verdicts = new Map(accounts.map(({ dataId, addsUp }) => [dataId, addsUp]));
  expect([verdicts.get(here), verdicts.get(there)]).toEqual([true, null]);
  expect(accounts.filter(({ dataId }) => dataId === there).flatMap(({ differences }) => differences)).toEqual(
    [
      expect.objectContaining({
        ...{ kind: 'not_known', stream: z, items: 0, from: minute, isOpen: true, reason: 'cannot be read' },
      }),
    ],
  );
});

/** One item of each of these, which is stored. */
const store = (dataIds: readonly number[], at: number): Promise<number> =>
  insertRows(
    clickhouse,
    'ingest_outcomes',
    dataIds.map((data_id) => ({
      ...{ pipeline: 'metrics', data_id, app_id: 0, base: `${data_id}${at}`, first: 0, ordinal: -1 },
      ...{ redrive: 0, minute: at, at, received: 1, outcomes: { stored: 1 }, book: 1 },
    })),
  );

it('many data ids whose stream is unread hide no loss of another one in the list of the last hour', async () => {
  const unread = Array.from({ length: 21 }, (_, index) => 1_600_000 + index);
  const wrong = 1_700_000;
  await store(unread, minute);
  await insertRows(clickhouse, 'ingest_differences', [
    {
      ...{ kind: 'lost_in_the_stream', stream: 'METRICS', data_id: wrong, app_id: 0 },
      ...{ minute, items: 2, messages: 1, is_found: 1 },
    },
  ]);
  const hour = createHourAccount({
    clickhouse,
    state: () => ({ notKnownSince: undefined, why: undefined }),
    isLedgerBehind: () => false,
    unreadStreams: {
      all: () => [],
      of: (id) => (unread.includes(id) ? { stream: z ?? '', since: minute } : undefined),
    },
    systemOwners: () => ({ dataIds: new Set(), appIds: new Set() }),
    now: () => nowMs,
    elapsed: () => 0,
  });
  await hour.read();
  await hour.ended();
  const { account } = await hour.read();
  expect(account).toMatchObject({ addsUp: false, unreadOwners: unread.length });
  expect(account?.differences).toContainEqual(
    expect.objectContaining({ kind: 'lost_in_the_stream', dataId: wrong, items: 2 }),
  );
});

it('by minute the stream that is unread stands in the minutes since then, and no minute adds up', async () => {
  const dataId = 1_500_005;
  await store([dataId], minute);
  await store([dataId], minute - 60);
  const filter = { dataId, sinceMs: 1_000 * (minute - 3_600) };
  const accounts = await readOwnerAccounts(clickhouse, filter, 'minute', true, () => ({
    ...{ stream: z ?? '', since: minute },
  }));
  expect(accounts.map(({ minute: at, addsUp, differences }) => [at, addsUp, differences.length])).toEqual([
    [minute, null, 1],
    [minute - 60, null, 0],
  ]);
});

it('a stream that does not answer is unread, and one that is gone is not, without a failed look', async () => {
  const manager = metadata.manager.bind(metadata);
  const spy = vi.spyOn(metadata, 'manager').mockImplementation(async () => {
    const real = await manager();
    const info: typeof real.streams.info = (name, options) =>
      name === b ? Promise.reject(new Error('timeout')) : real.streams.info(name, options);
    return { ...real, streams: Object.assign(Object.create(real.streams), { info }) };
  });
  const { look, furtherStreams } = lookAnew();
  await look();
  expect([b, z].map((name) => furtherStreams.unreadSince(name ?? ''))).toEqual([nowMs, nowMs]);
  spy.mockRestore();
  await (await bus.manager()).streams.delete(z ?? '');
  await look();
  expect([b, z].map((name) => furtherStreams.unreadSince(name ?? ''))).toEqual([undefined, undefined]);
  expect(furtherStreams.placedUnread()).toEqual([]);
});

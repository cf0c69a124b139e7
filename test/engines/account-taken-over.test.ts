import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Difference } from '../../src/account/difference.ts';
import { readDifferences } from '../../src/account/difference-table.ts';
import { openFoundDifferences } from '../../src/account/found.ts';
import { createLook, type Look } from '../../src/account/look.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { makeDeadLetters, makeWorkQueue, silentStores } from '../support/account/looks.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

const consumer = 'c';
const stream = 'TRACES';
const minute = 60 * Math.floor(Date.now() / 60_000) - 3_600;
const items = 6;

let engines: TestEngines;
let clickhouse: Clickhouse;
let bus: Bus;
const stop = new AbortController();

const elapsed = performance.now.bind(performance);
let aheadMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + aheadMs);

beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'taken-over');
  for (const name of [stream, 'LEDGER']) await makeWorkQueue(bus, name, consumer);
  await makeDeadLetters(bus);
  await bus.js.publish(`${stream}.0`, 'one');
  await (await bus.manager()).streams.purge(stream);
});
afterAll(async () => {
  vi.restoreAllMocks();
  stop.abort();
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

/** Looks every 40 seconds. */
const createLooks = (): Look => {
  const look = createLook({
    ...{ bus, clickhouse, streams: [{ name: stream, consumer }], ledger: { name: 'LEDGER', consumer } },
    ...{ stores: silentStores, findOrphans: async () => [] },
    nats: { id: async () => undefined, lastLife: async () => undefined },
    ...{ log: { warn: () => {} }, stop: stop.signal },
  });
  return () => {
    aheadMs += 40_000;
    return look();
  };
};

const turns = async (look: Look, count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await look();
};

/** A message of an application that was counted; its line is there, or it is lost. */
const book = async (appId: number, isSettled: boolean): Promise<void> => {
  const of = { stream, life: appId, minute };
  await insertRows(
    clickhouse,
    'ingest_published',
    [0, appId].map((app_id) => ({
      ...{ ...of, data_id: 0, app_id, messages: 1, rows: 0, bytes: 0, dropped: {}, ended: 1, version: 1 },
      ...{ items: app_id === 0 ? 0 : items, sequence_first: 1, sequence_last: 1, closed: 1 },
    })),
  );
  if (!isSettled) return;
  await insertRows(clickhouse, 'ingest_settled', [
    { ...of, serial: 1, sequence: 1, owners: 1, data_id: 0, app_id: appId, redrive: 0, items, record: 0 },
  ]);
};

/** The record of an application has a dead letter; DEADLETTER does not. */
const loseLetter = (appId: number) =>
  insertRows(clickhouse, 'ingest_outcomes', [
    {
      ...{
        pipeline: 'traces',
        data_id: 0,
        app_id: appId,
        base: String(1_000 * appId),
        first: 0,
        ordinal: -1,
      },
      ...{ redrive: 0, minute, received: items, outcomes: { dead_lettered: items }, at: minute },
      ...{ letters: [0], letter_items: [items] },
    },
  ]);

const lossOf = (appId: number, second = 0): Difference => ({
  ...{ kind: 'lost_in_the_stream', stream, pipeline: 'traces', dataId: 0, appId, minute: minute + second },
  ...{ items, messages: 1 },
});

const found = async (appId: number): Promise<unknown[]> =>
  (await readDifferences(clickhouse, { appId })).map((each) => [each.kind, each.items, each.minute - minute]);

/** Another process finds exactly these of an application, and ends. */
const findElsewhere = async (appId: number, ...differences: Difference[]): Promise<void> => {
  const other = await openFoundDifferences(clickhouse, () => 0);
  await other.replace((each) => each.appId === appId, differences);
};

/** More than two minutes. */
const someLooks = 4;

describe('the looks beside another process that ended', () => {
  it('show a loss again that it withdrew, of a minute whose lines stay as they are', async () => {
    await book(21, false);
    const look = createLooks();
    await turns(look, someLooks);
    const lost = [['lost_in_the_stream', items, 0]];
    expect(await found(21)).toEqual(lost);
    await findElsewhere(21);
    expect(await found(21)).toEqual([]);
    await turns(look, someLooks);
    expect(await found(21)).toEqual(lost);
    await findElsewhere(21, { ...lossOf(21), items: 2 });
    await turns(look, someLooks);
    expect(await found(21)).toEqual(lost);
  });

  it('withdraw a loss that it left, of a minute whose lines stay as they are', async () => {
    await book(22, true);
    const look = createLooks();
    await turns(look, someLooks);
    expect(await found(22)).toEqual([]);
    await findElsewhere(22, lossOf(22));
    await turns(look, someLooks);
    expect(await found(22)).toEqual([]);
  });

  it('show a lost dead letter again that it withdrew, and withdraw one that it left', async () => {
    await loseLetter(23);
    const look = createLooks();
    await turns(look, someLooks);
    const lost = [['lost_in_the_stream', items, 15]];
    expect(await found(23)).toEqual(lost);
    await findElsewhere(23);
    await findElsewhere(24, lossOf(24, 15));
    expect([await found(23), (await found(24)).length]).toEqual([[], 1]);
    await turns(look, someLooks);
    expect([await found(23), await found(24)]).toEqual([lost, []]);
  });

  it('take what it has changed for changed, and not what they have found themselves', async () => {
    const process = await openFoundDifferences(clickhouse, performance.now.bind(performance));
    await process.replace(({ appId }) => appId === 25, [lossOf(25)]);
    aheadMs += 60_000;
    expect(await process.takeOver()).toEqual([]);
    await findElsewhere(25);
    expect(await process.takeOver()).toEqual([]);
    aheadMs += 60_000;
    expect(await process.takeOver()).toMatchObject([lossOf(25)]);
  });
});

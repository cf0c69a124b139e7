import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOwnerAccounts } from '../../src/account/accounts.ts';
import { type Difference, isOpen } from '../../src/account/difference.ts';
import { closeDifferences, readDifferences } from '../../src/account/difference-table.ts';
import { type FoundDifferences, openFoundDifferences } from '../../src/account/found.ts';
import { addStoreFindings } from '../../src/account/store-findings.ts';
import { minuteText, momentText } from '../../src/outcomes/times.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createLedgerWriter } from '../../src/stores/clickhouse/ledger-writer.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;
let found: FoundDifferences;
let elapsedMs = 0;

const now = Math.floor(Date.now() / 1_000);
const daySeconds = 86_400;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  found = await openFoundDifferences(clickhouse, () => elapsedMs);
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

/** Rows that the store lacks of an application, today. */
const missing = (appId: number, items: number): Difference => ({
  ...{ kind: 'missing_in_the_store', stream: 'LOGS', pipeline: 'logs', dataId: 0, appId, items, messages: 0 },
  minute: now - (now % daySeconds),
});

/** A look has found exactly these of an owner. */
const look = (appId: number, ...differences: Difference[]): Promise<void> =>
  found.replace((each) => each.appId === appId, differences);

const close = async (appId: number): Promise<void> =>
  closeDifferences(clickhouse, await readDifferences(clickhouse, { appId }), 'restored soon', 'an operator');

const shown = async (appId: number): Promise<unknown[]> => {
  const differences = await readDifferences(clickhouse, { appId });
  return differences.map((each) => [each.items, isOpen(each), each.reason]);
};

describe('a difference that an operator has closed', () => {
  it('is open when it comes again after it was gone, however small', async () => {
    await look(1, missing(1, 3));
    await close(1);
    expect(await shown(1)).toEqual([[3, false, 'restored soon']]);
    await look(1);
    expect(await shown(1)).toEqual([]);
    await look(1, missing(1, 2));
    expect(await shown(1)).toEqual([[2, true, '']]);
  });

  it('stays closed while it becomes less, and is open when it grows from there', async () => {
    await look(2, missing(2, 5));
    await close(2);
    await look(2, missing(2, 1));
    expect(await shown(2)).toEqual([[1, false, 'restored soon']]);
    await look(2, missing(2, 4));
    expect(await shown(2)).toEqual([[4, true, 'restored soon']]);
  });

  it('stays closed when another one goes', async () => {
    await look(3, missing(3, 5));
    await close(3);
    await look(4, missing(4, 1));
    await look(4);
    expect(await shown(3)).toEqual([[5, false, 'restored soon']]);
  });
});

describe('a difference that was stored before the clock of ClickHouse was set back', () => {
  /** What is stored of the owner has a time of an hour ahead. */
  const setClockBack = async (appId: number): Promise<void> => {
    for (const table of ['ingest_differences', 'ingest_closings'])
      await clickhouse.run(
        `INSERT INTO otel.${table} SELECT * REPLACE (at + INTERVAL 1 HOUR AS at) FROM otel.${table} FINAL WHERE app_id = ${appId}`,
      );
  };

  it('has the figure that was found last', async () => {
    await look(31, missing(31, 2));
    await setClockBack(31);
    await look(31, missing(31, 5));
    expect(await shown(31)).toEqual([[5, true, '']]);
    await look(31, missing(31, 3));
    expect(await shown(31)).toEqual([[3, true, '']]);
  });

  it('goes, and comes again', async () => {
    await look(32, missing(32, 2));
    await setClockBack(32);
    await look(32);
    expect(await shown(32)).toEqual([]);
    await look(32, missing(32, 2));
    expect(await shown(32)).toEqual([[2, true, '']]);
  });

  it('is closed, and open once it has grown, or came again after it was gone', async () => {
    await look(33, missing(33, 5));
    await close(33);
    await setClockBack(33);
    await look(33, missing(33, 1));
    await look(33, missing(33, 4));
    expect(await shown(33)).toEqual([[4, true, 'restored soon']]);
    await close(33);
    expect(await shown(33)).toEqual([[4, false, 'restored soon']]);
    await look(33);
    await look(33, missing(33, 2));
    expect(await shown(33)).toEqual([[2, true, '']]);
  });

  it('is withdrawn by a process that takes it over', async () => {
    const ended = await openFoundDifferences(clickhouse, () => 0);
    await ended.replace((each) => each.appId === 34, [missing(34, 5)]);
    await setClockBack(34);
    elapsedMs += 60_000;
    await found.takeOver();
    await look(34);
    expect(await shown(34)).toEqual([]);
  });
});

describe('an old difference', () => {
  const old = now - 30 * 3_600;
  const lost = (appId: number): Difference => ({
    ...{ kind: 'lost_in_the_stream', stream: 'LOGS', pipeline: 'logs', dataId: 0, appId },
    ...{ minute: old - (old % 60), items: 6, messages: 2 },
  });
  /** The account of the last hour; both differences were found then. */
  const account = async (appId: number, by?: 'minute') => {
    const accounts = await readOwnerAccounts(clickhouse, { appId, sinceMs: (now + 60) * 1_000 }, by, true);
    return accounts.map(({ addsUp, received, differences }) => [addsUp, received, differences.length]);
  };

  it('makes the account of the last hour false as long as it is open, and belongs to none of its minutes', async () => {
    await look(5, lost(5));
    expect(await account(5)).toEqual([[false, 0, 1]]);
    expect(await account(5, 'minute')).toEqual([]);
    await close(5);
    expect(await account(5)).toEqual([]);
  });

  it('that makes no account false is shown in its own time alone', async () => {
    await look(6, { ...lost(6), kind: 'not_counted' });
    expect(await account(6)).toEqual([]);
    expect(await shown(6)).toHaveLength(1);
  });
});

describe('an open difference of later than now, as after a clock that went back', () => {
  const lost = (appId: number): Difference => ({
    ...{ kind: 'lost_by_the_engine', stream: 'LOGS', pipeline: 'logs', dataId: 0, appId },
    ...{ minute: now - (now % 60), items: 4, messages: 1 },
  });
  /** The account of an hour that ended two hours ago, which is now by the clock that went back. */
  const account = async (appId: number, isUntilNow: boolean) => {
    const hour = { sinceMs: (now - 10_800) * 1_000, untilMs: (now - 7_200) * 1_000 };
    const accounts = await readOwnerAccounts(clickhouse, { appId, ...hour, isUntilNow }, undefined, true);
    return accounts.map(({ addsUp, differences }) => [addsUp, differences.length]);
  };

  it('makes the account until now false, and belongs to no period that ends before it', async () => {
    await look(11, lost(11));
    expect(await account(11, true)).toEqual([[false, 1]]);
    expect(await account(11, false)).toEqual([]);
    await close(11);
    expect(await account(11, true)).toEqual([[true, 1]]);
    expect(await account(11, false)).toEqual([]);
  });
});

// A receiver books under the minute of its own clock: what it acknowledged was in no account that ended now.
it('items of a receiver whose clock is ahead are in the account until now, and in no period that ends before', async () => {
  const owner = { pipeline: 'logs', data_id: 0, app_id: 21 } as const;
  const later = (now + 7_200) * 1_000;
  const minute = minuteText(later);
  const place = { stream: 'LOGS', life: 5, serial: 1, sent: minute, sequence: 1, owners: 1, items: 3 };
  const record = {
    base: '77',
    first: 0,
    ordinal: -1,
    redrive: 0,
    minute,
    received: 3,
    outcomes: { stored: 3 },
  };
  const published = {
    stream: 'LOGS',
    life: 5,
    minute,
    data_id: 0,
    app_id: 21,
    messages: 1,
    items: 4,
    rows: 4,
  };
  const rest = {
    bytes: 1,
    dropped: {},
    sequence_first: 1,
    sequence_last: 1,
    closed: 1,
    ended: 0,
    version: 1,
  };
  const writer = createLedgerWriter(clickhouse, 10_000);
  const insert = (table: string, line: object): Promise<void> =>
    writer.insert(table, [Buffer.from(`${JSON.stringify(line)}\n`)]);
  await insert('ingest_lines', { ...owner, ...record, at: momentText(later), ...place });
  await insert('ingest_published', { ...published, ...rest });
  const account = async (isUntilNow: boolean, by?: 'hour') => {
    const hour = { sinceMs: (now - 3_600) * 1_000, untilMs: now * 1_000 };
    const accounts = await readOwnerAccounts(clickhouse, { appId: 21, ...hour, isUntilNow }, by, true);
    return accounts.map(({ received, stored, inFlight }) => [received, stored, inFlight]);
  };
  expect(await account(true)).toEqual([[4, 3, 1]]);
  expect(await account(false)).toEqual([]);
  expect(await account(true, 'hour')).toEqual([]);
});

describe('a difference that another process found before it ended', () => {
  it('is withdrawn by one that compares the same and finds nothing', async () => {
    const ended = await openFoundDifferences(clickhouse, () => 0);
    await ended.replace((each) => each.appId === 9, [missing(9, 5)]);
    await look(9);
    expect(await shown(9)).toEqual([[5, true, '']]);
    elapsedMs += 60_000;
    await found.takeOver();
    await look(9);
    expect(await shown(9)).toEqual([]);
  });

  it('is stored again within two minutes by one that still finds it, where the other one has withdrawn it', async () => {
    await look(12, missing(12, 5));
    const ended = await openFoundDifferences(clickhouse, () => 0);
    await ended.replace((each) => each.appId === 12, []);
    elapsedMs += 60_000;
    await found.takeOver();
    await look(12, missing(12, 5));
    expect(await shown(12)).toEqual([[5, true, '']]);
  });
});

describe('what a look at the stores found', () => {
  it('names no row again that the books of an earlier process call unrecorded, also a closed one', async () => {
    const minute = now - (now % 60) - 60;
    await look(8, { ...missing(8, 6), kind: 'unrecorded', minute, messages: 2 });
    await close(8);
    const later = await openFoundDifferences(clickhouse, () => 0);
    const findRows = async (items: number): Promise<unknown[]> => {
      const owner = { pipeline: 'logs', dataId: 0, appId: 8 } as const;
      const rows = {
        ...owner,
        day: Math.floor(now / daySeconds),
        kind: 'unrecorded',
        items,
        why: '',
      } as const;
      await addStoreFindings(later, { differences: [rows], compared: [] }, new Map());
      return shown(8);
    };
    expect(await findRows(6)).toEqual([[6, false, 'restored soon']]);
    expect(await findRows(8)).toEqual([
      [6, false, 'restored soon'],
      [2, true, ''],
    ]);
  });

  // A TTL that begins again in 1970 had removed them, and a later day has no place of its own.
  it('on event days that DateTime hardly holds, or not at all, shows and stays, and goes once nothing differs there', async () => {
    const rows = { pipeline: 'logs', dataId: 0, appId: 10, kind: 'missing_in_the_store', why: '' } as const;
    const dayOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / 86_400_000;
    const days = ['2105-06-01', '2120-01-01', '2121-01-01'].map(dayOf);
    const differences = days.map((day, index) => ({ ...rows, day, items: index + 1 }));
    await addStoreFindings(found, { differences, compared: [] }, new Map());
    await close(10);
    for (const table of ['ingest_differences', 'ingest_closings'])
      await clickhouse.run(`OPTIMIZE TABLE otel.${table} FINAL`);
    expect(await shown(10)).toEqual([
      [5, false, 'restored soon'],
      [1, false, 'restored soon'],
    ]);
    const since = dayOf('2106-02-07') * daySeconds + 60;
    expect(await readDifferences(clickhouse, { appId: 10, since })).toMatchObject([{ items: 5 }]);
    const later = await openFoundDifferences(clickhouse, () => 0);
    const compared = days.map((day) => ({ pipeline: 'logs', owner: 10, day }) as const);
    await addStoreFindings(later, { differences: [], compared }, new Map());
    expect(await shown(10)).toEqual([]);
  });

  it('is gone once its owner is left out', async () => {
    await look(7, missing(7, 3));
    const nothing = { differences: [], compared: [] };
    await addStoreFindings(
      found,
      nothing,
      new Map(),
      (pipeline, owner) => pipeline === 'logs' && owner === 7,
    );
    expect(await shown(7)).toEqual([]);
    expect(await shown(3)).toHaveLength(1);
  });
});

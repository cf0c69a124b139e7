import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { PointsTable } from '../../src/account/point-rows.ts';
import { compareStores } from '../../src/account/store-compare.ts';
import { createStoreLook } from '../../src/account/store-look.ts';
import { countedBase, hashedBase } from '../../src/model/uid.ts';
import { minuteText, momentText } from '../../src/outcomes/times.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../src/stores/questdb/tables.ts';
import { insertRecords } from '../support/outcomes/settled-rows.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const dayMs = 86_400_000;
const today = Math.floor(Date.now() / dayMs);
const noonMicros = (today * dayMs + dayMs / 2) * 1_000;

let engines: TestEngines;
let clickhouse: Clickhouse;
let sql: QuestdbSql;
let owners = 1_500_000;
let counter = 1;

beforeAll(async () => {
  engines = await startEngines({ questdb: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  sql = createQuestdbSql({ url: engines.questdb.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await sql?.close();
  await engines?.stop();
});

/** A message of some rows: its base, how long ago it was settled, and what of it is stored. */
type Message = {
  readonly base: string;
  readonly agoMs: number;
  readonly rows: number;
  readonly stored?: number;
};

const counted = (agoMs: number, rows: number, stored = rows): Message => {
  counter += 1_000;
  return { base: countedBase(1_400_000, counter).text, agoMs, rows, stored };
};

const hashed = (agoMs: number, rows: number, stored = rows): Message => ({
  base: hashedBase(Buffer.from(`${counter++}`.padStart(8, '\u00ff'), 'latin1').reverse()).text,
  ...{ agoMs, rows, stored },
});

type Owner = {
  readonly id: number;
  readonly pipeline: 'metrics' | 'traces';
  readonly points: PointsTable[];
  insert(uid: string, rows: number, at?: number): Promise<unknown>;
};

const createPointsOwner = async (): Promise<Owner> => {
  const dataId = ++owners;
  const table = `2_mon_time_series_${dataId}.__default__`;
  await createQuestdbTables(sql, resolve(import.meta.dirname, '../../schemas')).createTable('wide', table);
  const insert = (uid: string, rows: number, at = 0) =>
    sql.exec(`INSERT INTO "${table}" (timestamp, uid)
      SELECT (${noonMicros + at} + x)::timestamp, ${uid} + x - 1 FROM long_sequence(${rows})`);
  return { id: dataId, pipeline: 'metrics', points: [{ dataId, table, sql }], insert };
};

const createSpansOwner = (): Owner => {
  const id = ++owners;
  const insert = (uid: string, rows: number, at = 0) =>
    clickhouse.run(`INSERT INTO otel.otel_traces (AppId, Timestamp, uid)
      SELECT ${id}, fromUnixTimestamp64Micro(toInt64(${noonMicros + at} + number)), ${uid} + number FROM numbers(${rows})`);
  return { id, pipeline: 'traces', points: [], insert };
};

const settle = async (owner: Owner, ...messages: readonly Message[]): Promise<void> => {
  const now = Date.now();
  for (const { base, rows, stored = rows } of messages) if (stored > 0) await owner.insert(base, stored);
  await insertRecords(
    clickhouse,
    messages.map(({ base, agoMs, rows }) => ({
      ...{ pipeline: owner.pipeline, base, first: 0, ordinal: -1, redrive: 0, received: rows },
      ...(owner.pipeline === 'metrics' ? { data_id: owner.id, app_id: 0 } : { data_id: 0, app_id: owner.id }),
      ...{ outcomes: { stored: rows }, minute: minuteText(now - agoMs), at: momentText(now - agoMs) },
      ...{ letters: [], letter_items: [], book: 1 },
      ...{ days: [today], day_rows: [rows], day_sums: [String((rows * (rows - 1)) / 2)] },
    })),
  );
};

const earlierMs = 200_000;

/** Messages of the last minutes, so that each reading ends at another one. */
const lately = (message: (agoMs: number, rows: number) => Message): Message[] =>
  [150_000, 110_000, 80_000, 50_000, 20_000].map((agoMs) => message(agoMs, 10));

/** Compares an owner to which messages come while it is compared. */
const compareWhile = async ({ points, pipeline, id }: Owner, write: () => Promise<void>) => {
  const { differences, inFlight, steady } = await compareStores(
    {
      ...{ clickhouse, points, isLeftOut: () => false, pause: async () => {} },
      caughtUp: async () => {
        await write();
        return () => true;
      },
    },
    { pipeline, owner: id },
  );
  return {
    differences: differences.map(({ kind, items, isAtLeast }) => [kind, items, isAtLeast]),
    ...{ inFlight: inFlight.length, steady: steady.length },
  };
};

const senders = [
  { name: 'points of counted uids', create: createPointsOwner, message: counted },
  { name: 'points of hashed uids', create: createPointsOwner, message: hashed },
  { name: 'spans of counted uids', create: async () => createSpansOwner(), message: counted },
  { name: 'spans of hashed uids', create: async () => createSpansOwner(), message: hashed },
];

it.each(senders)(
  '$name: nothing differs where nothing is lost, while more come',
  async ({ create, message }) => {
    const owner = await create();
    await settle(owner, ...Array.from({ length: 40 }, () => message(earlierMs, 10)), ...lately(message));
    let waiting = message(0, 5);
    await owner.insert(waiting.base, 5);
    const write = async (): Promise<void> => {
      await settle(owner, { ...waiting, stored: 0 }, message(0, 100));
      waiting = message(0, 5);
      await owner.insert(waiting.base, 5);
    };
    expect(await compareWhile(owner, write)).toEqual({ differences: [], inFlight: 0, steady: 1 });
  },
);

it.each(senders)(
  '$name: one lost row shows with its number, while more come',
  async ({ create, message }) => {
    const owner = await create();
    await settle(owner, ...Array.from({ length: 40 }, () => message(earlierMs, 10)));
    await settle(owner, message(earlierMs, 10, 9), ...lately(message));
    const write = () => settle(owner, message(0, 100));
    expect(await compareWhile(owner, write)).toEqual({
      ...{ differences: [['missing_in_the_store', 1, true]], inFlight: 0, steady: 1 },
    });
  },
);

it.each(senders)(
  '$name: many lost rows show with their number, and not less what came meanwhile',
  async ({ create, message }) => {
    const owner = await create();
    await settle(owner, ...Array.from({ length: 20 }, () => message(earlierMs, 100, 50)), ...lately(message));
    const write = () => settle(owner, message(0, 100));
    expect(await compareWhile(owner, write)).toEqual({
      ...{ differences: [['missing_in_the_store', 1_000, true]], inFlight: 0, steady: 1 },
    });
  },
);

it('a row that is lost while another one of its message is doubled shows as one of each, while more come', async () => {
  const owner = await createPointsOwner();
  const [one, other] = [counted(earlierMs, 10, 9), counted(earlierMs, 10)];
  await settle(owner, one, other, ...lately(counted));
  await owner.insert(other.base, 1, 1_000);
  expect(await compareWhile(owner, () => settle(owner, counted(0, 50)))).toEqual({
    differences: [
      ['missing_in_the_store', 1, true],
      ['unrecorded', 1, true],
    ],
    ...{ inFlight: 0, steady: 1 },
  });
});

it('rows without a record show while others come, once all that was on its way is recorded', async () => {
  const owner = createSpansOwner();
  await settle(owner, hashed(earlierMs, 10), ...lately(hashed));
  await owner.insert(hashed(earlierMs, 4).base, 4);
  expect(await compareWhile(owner, () => settle(owner, hashed(0, 50)))).toEqual({
    ...{ differences: [['unrecorded', 4, true]], inFlight: 0, steady: 1 },
  });
});

it('rows that wait for their record are no difference, also where they come between older ones', async () => {
  const owner = await createPointsOwner();
  const late = counted(0, 7);
  await settle(owner, counted(earlierMs, 10), counted(0, 10));
  await owner.insert(late.base, 7);
  const found = await compareWhile(owner, async () => {
    await settle(owner, late, counted(0, 50));
  });
  expect(found.differences).toEqual([]);
});

// As where requests overtook each other: with the next limit they are on one side of it.
it('a message whose rows are on both sides of the newest recorded uid is no difference', async () => {
  const owner = await createPointsOwner();
  const [before, around, limit] = [counted(31_000, 10), counted(earlierMs, 10, 5), counted(0, 1)];
  await settle(owner, counted(earlierMs, 10), before, around, limit);
  await owner.insert(String(BigInt(limit.base) + 1n), 5, 100);
  let rounds = 0;
  const write = async (): Promise<void> => {
    rounds++;
    await settle(owner, counted(0, 10));
  };
  expect((await compareWhile(owner, write)).differences).toEqual([]);
  expect(rounds).toBeGreaterThan(1);
});

/** As the lines of the books, which these records are made without, name the days. */
const nameDays = async (): Promise<void> => {
  await clickhouse.run('TRUNCATE TABLE otel.ingest_days');
  await clickhouse.run(`INSERT INTO otel.ingest_days SELECT pipeline, data_id, app_id, days AS day,
    sum(day_rows) AS rows, sum(day_sums + base * day_rows) AS sum FROM otel.ingest_outcomes FINAL
    ARRAY JOIN days, day_rows, day_sums GROUP BY pipeline, data_id, app_id, day`);
};

it('the looks name one lost row of an owner that is written to all the while', async () => {
  for (const table of ['otel_traces', 'ingest_outcomes'])
    await clickhouse.run(`TRUNCATE TABLE otel.${table}`);
  const owner = await createPointsOwner();
  await settle(owner, ...Array.from({ length: 20 }, () => counted(earlierMs, 10)));
  await settle(owner, counted(earlierMs, 10, 9), ...lately(counted));
  let waiting = counted(0, 20);
  await owner.insert(waiting.base, 20);
  const write = async (): Promise<void> => {
    await settle(owner, { ...waiting, stored: 0 });
    waiting = counted(0, 20);
    await owner.insert(waiting.base, 20);
    await nameDays();
  };
  let later = 0;
  const elapsed = performance.now.bind(performance);
  performance.now = () => elapsed() + later;
  onTestFinished(() => {
    performance.now = elapsed;
  });
  const stores = createStoreLook(() => ({
    ...{ clickhouse, points: owner.points, isLeftOut: () => false, pause: async () => {} },
    caughtUp: async () => {
      await write();
      return () => true;
    },
  }));
  const looks: unknown[] = [];
  for (let look = 0; look < 8; look++) {
    await write();
    later += 30_000;
    const { differences } = await stores.look();
    looks.push(differences.map(({ dataId, kind, items }) => [dataId, kind, items]));
  }
  const named = [owner.id, 'missing_in_the_store', 1];
  expect(looks).toContainEqual([named]);
  expect(looks.flat().every((each) => JSON.stringify(each) === JSON.stringify(named))).toBe(true);
});

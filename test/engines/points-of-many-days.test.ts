import { afterAll, beforeAll, expect, it } from 'vitest';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../src/stores/questdb/tables.ts';
import { createQuestdbWriter, type QuestdbWriter } from '../../src/stores/questdb/writer.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { batchWriterOf, writeBatch } from '../../src/transfer/points/write-batch.ts';
import type { Part } from '../../src/wire/metrics-envelope.ts';
import { firstDelivery } from '../support/outcomes/deliveries.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const dayMs = 86_400_000;
const days = 6_000;
const newest = Date.UTC(2026, 0, 1);
const tableOf = (dataId: number): string => `2_mon_time_series_${dataId}.__default__`;
const [many, others, quiet] = [1_500_001, 1_500_002, 1_500_003];

let engines: TestEngines;
let sql: QuestdbSql;
let writer: QuestdbWriter;

beforeAll(async () => {
  engines = await startEngines({ questdb: true });
  sql = createQuestdbSql({ url: engines.questdb.url });
  writer = createQuestdbWriter({ url: engines.questdb.url, timeoutMs: 30_000 });
  const tables = createQuestdbTables(sql, new URL('../../schemas', import.meta.url).pathname);
  for (const dataId of [many, others, quiet]) await tables.createTable('wide', tableOf(dataId));
});
afterAll(async () => {
  await writer?.close();
  await sql?.close();
  await engines?.stop();
});

/** A message with a point of each of these times, in an order that is not that of time. */
const messageOf = (dataId: number, times: readonly number[]): HeldMessage => {
  const table = tableOf(dataId);
  const rows = times.map((time, uid) => `${table},target=a v=${uid},uid=${uid}i ${time}\n`);
  const bytes = Buffer.from(rows.map((_, index) => rows[(index * 7_919) % rows.length]).join(''));
  const part: Part = {
    ...{ dataId, table, layout: 'wide', rows: times.length, points: times.length, base: '0' },
    ...{ first: 0, last: times.length - 1, timeMin: Math.min(...times), timeMax: Math.max(...times) },
    bytes: bytes.length,
  };
  return {
    delivery: firstDelivery,
    envelope: {
      header: { version: 1, kind: 'metrics', arrivedAt: newest, parts: [part], deferred: [], outcomes: [] },
      ...{ partBytes: [bytes], deferredBytes: [] },
    },
    ...{ rows: times.length, bytes: bytes.length, touchedAt: 0, takenAt: 0 },
  };
};

const write = async (dataId: number, times: readonly number[]): Promise<void> => {
  const { refused, storedTables } = await writeBatch(
    batchWriterOf(writer, sql),
    [messageOf(dataId, times)],
    () => {},
  );
  expect([refused, [...storedTables]]).toEqual([[], [tableOf(dataId)]]);
};

const countOf = async (dataId: number): Promise<unknown> =>
  (await sql.exec(`SELECT count() FROM "${tableOf(dataId)}"`, 60_000)).dataset[0]?.[0];

const isApplied = async (dataId: number): Promise<boolean> => {
  const { dataset } = await sql.exec(
    `SELECT sequencerTxn = writerTxn FROM wal_tables() WHERE name = '${tableOf(dataId)}'`,
  );
  return dataset[0]?.[0] === true;
};

// QuestDB applies with two workers, and leaves a table for others only between two of its transactions.
it('points of a table are visible while those of thousands of days are applied to two others', async () => {
  const times = Array.from({ length: days }, (_, index) => newest - index * dayMs);
  await Promise.all([write(many, times), write(others, times)]);
  for (let point = 1; point <= 4; point++) {
    await write(quiet, [newest + point]);
    await until('the point of the other table', async () => (await countOf(quiet)) === point, 120_000);
  }
  expect([await isApplied(many), await isApplied(others)]).toEqual([false, false]);
  // A second try of the same write, as after an answer that did not arrive.
  await write(many, times);
  await until('all days', async () => (await isApplied(many)) && (await isApplied(others)), 240_000);
  expect([await countOf(many), await countOf(others)]).toEqual([days, days]);
}, 400_000);

import { expect, it } from 'vitest';
import {
  dataPointTables,
  type ItemTable,
  logsTable,
  spansTable,
} from '../../../../src/stores/clickhouse/item-tables.ts';
import { type OwedMerges, startOwedMerges } from '../../../../src/transfer/blocks/owed-merges.ts';
import { createMemoryBucket, type MemoryBucket } from '../../../support/stack/memory-bucket.ts';
import { until } from '../../../support/until.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Merge = { readonly day: number; end(): void; fail(): void };

/** A transfer process: its merges end on request. */
const startProcess = (
  bucket: MemoryBucket,
  { takeOverMs = 60_000, table = spansTable as ItemTable } = {},
): { merges: OwedMerges; begun: Merge[]; done: number[] } => {
  const begun: Merge[] = [];
  const done: number[] = [];
  const merges = startOwedMerges({
    table,
    bucket,
    merge: (day) =>
      new Promise((resolve, reject) => {
        begun.push({ day, end: resolve, fail: () => reject(new Error('away')) });
      }),
    onMerged: () => done.push(begun.length),
    log: silent,
    takeOverMs,
    lookMs: 10,
  });
  bucket.snapshot();
  return { merges, begun, done };
};

const owedKeys = async (bucket: MemoryBucket): Promise<unknown[]> => {
  const all = await Promise.all(['merge.7', 'merge.8'].map((key) => bucket.get(key)));
  return all.flatMap((stored, index) => (stored === undefined ? [] : [index + 7]));
};

it('a day is written down before its merge ends, and forgotten once it has', async () => {
  const bucket = createMemoryBucket();
  const { merges, begun, done } = startProcess(bucket);
  await merges.owe(7);
  expect([await owedKeys(bucket), begun.map(({ day }) => day), done]).toEqual([[7], [7], []]);
  begun[0]?.end();
  await until('it is forgotten', async () => (await owedKeys(bucket)).length === 0);
  expect(done).toHaveLength(1);
  merges.stop();
});

// No other process would do it: rows of an old day may never be merged by themselves, and a plain count stays wrong.
it('what a killed process owed is merged by the next one that starts', async () => {
  const bucket = createMemoryBucket();
  const killed = startProcess(bucket);
  await killed.merges.owe(7);
  killed.merges.stop();
  const next = startProcess(bucket);
  await until('the day is merged', () => next.begun[0]?.day === 7);
  next.begun[0]?.end();
  await until('it is forgotten', async () => (await owedKeys(bucket)).length === 0);
  next.merges.stop();
});

it('what a process owes for too long is merged by one that runs, and not before', async () => {
  const bucket = createMemoryBucket();
  const [one, patient, other] = [
    startProcess(bucket),
    startProcess(bucket),
    startProcess(bucket, { takeOverMs: 50 }),
  ];
  await one.merges.owe(7);
  bucket.tell();
  await until('another takes it over', () => other.begun.length === 1);
  expect(patient.begun).toEqual([]);
  other.begun[0]?.end();
  await until('it is forgotten', async () => (await owedKeys(bucket)).length === 0);
  for (const { merges } of [one, patient, other]) merges.stop();
});

it('a day that is owed again while it is merged is merged once more, and one that fails until it does not', async () => {
  const bucket = createMemoryBucket();
  const { merges, begun } = startProcess(bucket);
  await merges.owe(8);
  await merges.owe(8);
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await until('it is merged again', () => begun.length === 2);
  expect(await owedKeys(bucket)).toEqual([8]);
  begun[1]?.fail();
  await until('it is tried again', () => begun.length === 3);
  expect(await owedKeys(bucket)).toEqual([8]);
  begun[2]?.end();
  await until('it is forgotten', async () => (await owedKeys(bucket)).length === 0);
  merges.stop();
});

// A day of another table would be merged in vain, and the one with the doubled rows never.
it('a day of log records is owed and merged beside the same day of spans', async () => {
  const bucket = createMemoryBucket();
  const [spans, logs] = [startProcess(bucket), startProcess(bucket, { table: logsTable })];
  await logs.merges.owe(7);
  bucket.tell();
  expect(await bucket.get('merge.logs-7')).toBeDefined();
  await spans.merges.owe(8);
  bucket.tell();
  const next = [startProcess(bucket), startProcess(bucket, { table: logsTable })];
  await until('each table has its day', () => next.every(({ begun }) => begun.length === 1));
  expect([spans, logs, ...next].map(({ begun }) => begun.map(({ day }) => day))).toEqual([
    [8],
    [7],
    [8],
    [7],
  ]);
  logs.begun[0]?.end();
  await until('it is forgotten', async () => (await bucket.get('merge.logs-7')) === undefined);
  expect(await owedKeys(bucket)).toEqual([8]);
  for (const { merges } of [spans, logs, ...next]) merges.stop();
});

// A sum and a summary begin alike.
it('a day of one table of data points is no day of another', async () => {
  const bucket = createMemoryBucket();
  const [, sums, , , summaries] = dataPointTables;
  const owing = startProcess(bucket, { table: sums });
  await owing.merges.owe(7);
  expect(await bucket.get('merge.otel_metrics_sum-7')).toBeDefined();
  const next = [spansTable, logsTable, sums, summaries].map((table) => startProcess(bucket, { table }));
  await until('the day is merged', () => next[2]?.begun[0]?.day === 7);
  expect(next.map(({ begun }) => begun.length)).toEqual([0, 0, 1, 0]);
  for (const { merges } of [owing, ...next]) merges.stop();
});

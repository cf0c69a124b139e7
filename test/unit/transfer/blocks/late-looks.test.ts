import { ClickHouseError } from '@clickhouse/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { BatchBounds } from '../../../../src/stores/clickhouse/block-statements.ts';
import { toFault } from '../../../../src/stores/clickhouse/faults.ts';
import { dataPointTables, spansTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import { startLateLooks } from '../../../../src/transfer/blocks/late-looks.ts';
import { createMemoryBucket, type MemoryBucket } from '../../../support/stack/memory-bucket.ts';
import { until } from '../../../support/until.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bounds: BatchBounds = {
  uidRanges: [
    ['7', 9n],
    ['18446744073709551614', '18446744073709551615'],
  ],
  timeMin: 1_763_640_000_000_000_000n,
  timeMax: 1_763_640_000_000_000_001n,
  names: [
    ['a', "it's"],
    ['a', "it's"],
  ],
};
const key = 'merge.late-otel_traces-7-5-1';
const keys = [key, ...Array.from({ length: 8 }, (_, slot) => `merge.late-otel_traces-7-${slot}`)];

/** A transfer process, with the answers to its looks in turn: the number of repeats, or none while ClickHouse is away. */
const startProcess = (
  bucket: MemoryBucket,
  answers: (number | Fault | undefined)[],
  { delayMs = 0, takeOverMs = 900_000, lookMs = 5, isKvAway = false, table = spansTable } = {},
) => {
  const looked: BatchBounds[] = [];
  const merged: number[] = [];
  const never = async (): Promise<never> => {
    throw new Error('not asked for');
  };
  const looks = startLateLooks({
    tables: [
      {
        table,
        writer: {
          ...{ insertPlain: never, insertGuarded: never, killCovering: never },
          ...{ repairTraceLookup: never, optimizeDay: never },
          countRepeats: async (asked) => {
            looked.push(asked);
            const answer = answers.shift();
            if (answer === undefined) throw new Error('away');
            if (answer instanceof Fault) throw answer;
            return answer;
          },
        },
        onOverlap: async (day) => {
          if (isKvAway) throw new Error('away');
          merged.push(day);
        },
      },
    ],
    ...{ bucket, log: silent, delayMs, takeOverMs, lookMs },
  });
  bucket.snapshot();
  return { looks, looked, merged };
};
const isForgotten = async (bucket: MemoryBucket): Promise<boolean> =>
  (await Promise.all(keys.map(bucket.get))).every((stored) => stored === undefined);

it('a look is written down, tried until ClickHouse answers, and owes a merge of the day where rows are doubled', async () => {
  const bucket = createMemoryBucket();
  const { looks, looked, merged } = startProcess(bucket, [undefined, 2]);
  await looks.owe('otel_traces', 7, bounds);
  expect(await isForgotten(bucket)).toBe(false);
  await until('it is forgotten', () => isForgotten(bucket));
  expect([looked.length, merged]).toEqual([2, [7]]);
  looks.stop();
});

it('a look that finds nothing owes nothing', async () => {
  const bucket = createMemoryBucket();
  const { looks, merged } = startProcess(bucket, [0]);
  await looks.owe('otel_traces', 7, bounds);
  await until('it is forgotten', () => isForgotten(bucket));
  expect(merged).toEqual([]);
  looks.stop();
});

// What is on its way when a process is killed arrives all the same.
it('the next process that starts looks for what a killed one has written down, with the same bounds', async () => {
  const bucket = createMemoryBucket();
  const killed = startProcess(bucket, [], { delayMs: 60_000 });
  await killed.looks.owe('otel_traces', 7, bounds);
  killed.looks.stop();
  const [, sums = spansTable] = dataPointTables;
  const [other, patient] = [
    startProcess(bucket, [], { table: sums }),
    startProcess(bucket, [], { delayMs: 60_000 }),
  ];
  const next = startProcess(bucket, [1]);
  await until('it is forgotten', () => isForgotten(bucket));
  expect([next.merged, other.looked, patient.looked]).toEqual([[7], [], []]);
  expect(next.looked).toEqual([
    {
      ...bounds,
      uidRanges: [
        [7n, 9n],
        [18446744073709551614n, 18446744073709551615n],
      ],
      names: [['a', "it's"]],
    },
  ]);
  for (const { looks } of [other, patient, next]) looks.stop();
});

it('a look stays written down until the merge is, and one that cannot be read is a merge', async () => {
  const bucket = createMemoryBucket();
  await bucket.put(key, { of: 'another version' });
  const without = startProcess(bucket, [], { isKvAway: true });
  await without.looks.owe('otel_traces', 8, bounds);
  await until('it has tried', () => without.looked.length > 0);
  expect(await isForgotten(bucket)).toBe(false);
  without.looks.stop();
  const next = startProcess(bucket, [0]);
  await until('it is forgotten', () => isForgotten(bucket));
  expect(next.merged).toEqual([7]);
  next.looks.stop();
});

it('a look that ClickHouse answers with an error each time delays no other, and becomes a merge of the day', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const missing = toFault(new ClickHouseError({ message: 'no', code: '60', type: 'UNKNOWN_TABLE' }));
  const failing = Array.from({ length: 12 }, () => missing);
  const bucket = createMemoryBucket();
  const { looks, looked, merged } = startProcess(bucket, [missing, missing, missing, 2, ...failing]);
  for (const day of [4, 5, 7, 8]) await looks.owe('otel_traces', day, bounds);
  await vi.advanceTimersByTimeAsync(5);
  expect(merged).toEqual([8]);
  await vi.advanceTimersByTimeAsync(25);
  expect([merged, looked.length, await isForgotten(bucket)]).toEqual([[8, 4, 5, 7], 16, true]);
  looks.stop();
});

// A merge of a day costs a ClickHouse that is busy more than the look that it had no time for.
it('a look that a busy ClickHouse cannot answer is tried for an hour before the day is merged without it', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const busy = toFault(
    new ClickHouseError({ message: 'no', code: '202', type: 'TOO_MANY_SIMULTANEOUS_QUERIES' }),
  );
  const bucket = createMemoryBucket();
  const { looks, looked, merged } = startProcess(
    bucket,
    Array.from({ length: 200 }, () => busy),
    { lookMs: 30_000 },
  );
  await looks.owe('otel_traces', 7, bounds);
  await looks.owe('otel_traces', 8, bounds);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([merged, looked.length]).toEqual([[], 120]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([merged.toSorted(), await isForgotten(bucket)]).toEqual([[7, 8], true]);
  looks.stop();
});

// Each addition to the key of a slot restarted the hour, so doubled rows stayed for as long as the trouble.
it('a look that ClickHouse cannot answer for an hour becomes a merge, also while more is owed under its key all the while', async () => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const away = new Fault('transient', 'clickhouse_unavailable', 'no answer');
  const bucket = createMemoryBucket();
  const [one, two] = [1, 2].map(() =>
    startProcess(
      bucket,
      Array.from({ length: 1_000 }, () => away),
      { delayMs: 180_000, lookMs: 30_000 },
    ),
  );
  if (one === undefined || two === undefined) throw new Error('no process');
  for (let minute = 0; minute < 180; minute++) {
    const { looks } = minute % 16 === 0 ? one : two;
    if (minute % 8 === 0) await looks.owe('otel_traces', 7, bounds);
    bucket.tell();
    await vi.advanceTimersByTimeAsync(60_000);
    bucket.tell();
  }
  const merges = one.merged.length + two.merged.length;
  expect([merges > 0, merges <= 3]).toEqual([true, true]);
  for (const { looks } of [one, two]) looks.stop();
});

// A key that was deleted leaves a marker in NATS for ever, which each watch reads.
it('looks that two processes owe for hours have few keys, and none of their rows is forgotten', async () => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const bucket = createMemoryBucket();
  const used = new Set<string>();
  bucket.watch(
    ({ key: changed }) => used.add(changed),
    () => {},
    'merge.*',
  );
  const answers = () => Array.from({ length: 1_000 }, () => 0);
  const [one, two] = [1, 2].map(() => startProcess(bucket, answers(), { delayMs: 180_000, lookMs: 30_000 }));
  if (one === undefined || two === undefined) throw new Error('no process');
  const uids = Array.from({ length: 240 }, (_, index) => BigInt(10 * index));
  for (const [index, uid] of uids.entries()) {
    const { looks } = index % 2 === 0 ? one : two;
    await looks.owe('otel_traces', 7, { ...bounds, uidRanges: [[uid, uid]] });
    bucket.tell();
    await vi.advanceTimersByTimeAsync(30_000);
    bucket.tell();
  }
  await vi.advanceTimersByTimeAsync(300_000);
  const looked = [...one.looked, ...two.looked].flatMap(({ uidRanges }) => uidRanges.map(([first]) => first));
  expect(uids.filter((uid) => !looked.includes(uid))).toEqual([]);
  expect(looked.length).toBeLessThan(2 * uids.length);
  expect([used.size, await isForgotten(bucket)]).toEqual([8, true]);
  for (const { looks } of [one, two]) looks.stop();
});

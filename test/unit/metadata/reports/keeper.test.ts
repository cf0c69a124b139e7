import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Purge } from '../../../../src/directory/records.ts';
import type { RecordSet } from '../../../../src/metadata/records/store.ts';
import { newResultTable } from '../../../../src/metadata/records/values.ts';
import { startKeeper } from '../../../../src/metadata/reports/keeper.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const tableOf = (id: number): string => `2_mon_time_series_${id}.__default__`;
const ids = [1, 2, 3];

const openRecords = async () => {
  const { records } = createMemoryRecords();
  const names = { table_name_zh: 'cpu', mon_biz_id: 2, label: 'others', data_label: '', operator: 'ann' };
  for (const id of ids) await records.tables.create(id, newResultTable({ ...names, table_id: tableOf(id) }));
  return records;
};

type Given = Omit<Parameters<typeof startKeeper>[0], 'tables'>;

/** The tables that one look of the keeper tried to change, the first of which QuestDB refuses; and how the look ended. */
const lookOnce = async (records: Given['records'], kind: 'permanent' | 'transient' = 'permanent') => {
  const tried: string[] = [];
  const attempt = async (table: string): Promise<void> => {
    tried.push(table);
    if (tried.length === 1) throw new Fault(kind, 'questdb_rejected', 'corruption');
  };
  const warned: string[] = [];
  const log = createLog('test', 'silent');
  const keeper = startKeeper({
    records,
    tables: {
      ...noTables,
      ttls: async () => new Map(ids.map((id) => [tableOf(id), undefined])),
      ...{ setTtl: attempt, drop: attempt },
    },
    repair: { round: async () => {} },
    ...{ isAway: () => false, purgeWaitMs: 0, now: Date.now },
    log: { ...log, warn: (_, text) => void warned.push(text) },
  });
  await vi.advanceTimersByTimeAsync(0);
  await keeper.stop();
  return { tried, warned };
};

const failed = 'the keeper failed and will retry: corruption';

describe('a table that QuestDB refuses to change', () => {
  it('holds up the retention of no other table, and is reported', async () => {
    const records = await openRecords();
    for (const id of ids) await records.sourcePolicies.create(id, { retention_days: 7 });
    const { tried, warned } = await lookOnce(records);
    expect(tried).toEqual(ids.map(tableOf));
    expect(warned).toContain(failed);
  });

  it('holds up the removal of no other table that came back after its purge', async () => {
    const records = await openRecords();
    for (const id of ids)
      await records.purges.create(id, {
        ...{ mon_data_id: id, table_id: tableOf(id), state: 'purged' },
        ...{ requested_at: Date.now(), requested_by: 'ann' },
      });
    const { tried, warned } = await lookOnce(records);
    expect(tried).toEqual(ids.map(tableOf));
    expect(warned).toContain(failed);
  });
});

describe('an instance that does not answer a change of a table', () => {
  it('is not asked for its other tables in this look, and those of another instance are', async () => {
    const records = await openRecords();
    for (const id of ids) await records.sourcePolicies.create(id, { retention_days: 7 });
    await records.placements.create(3, { mon_data_id: 3, table_id: tableOf(3), questdb: 'b' });
    const { tried, warned } = await lookOnce(records, 'transient');
    expect(tried).toEqual([1, 3].map(tableOf));
    expect(warned).toContain(failed);
  });
});

// Once a second otherwise: two failures that alternate filled the log of metadata.
it('each failure that lasts is logged at once and then once a minute, beside others', async () => {
  const records = await openRecords();
  let elapsedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  await records.sourcePolicies.create(1, { retention_days: 7 });
  const warned: string[] = [];
  const log = createLog('test', 'silent');
  const fails = (why: string) => () =>
    Promise.reject(new Fault('transient', 'questdb_instance_unknown', why));
  const keeper = startKeeper({
    records,
    tables: { ...noTables, ttls: fails('no days') },
    repair: { round: fails('no states') },
    ...{ isAway: () => false, purgeWaitMs: 0, now: Date.now },
    log: { ...log, warn: (_, text) => void warned.push(text) },
  });
  const both = ['no states', 'no days'].map((why) => `the keeper failed and will retry: ${why}`);
  await vi.advanceTimersByTimeAsync(0);
  expect(warned).toEqual(both);
  const roundsUntil = async (endMs: number): Promise<void> => {
    for (; elapsedMs < endMs; elapsedMs += 1_000) await keeper.round().catch(() => undefined);
  };
  await roundsUntil(60_000);
  expect(warned).toEqual(both);
  await roundsUntil(240_000);
  await keeper.stop();
  expect(warned.toSorted()).toEqual([...both, ...both, ...both, ...both].toSorted());
});

describe('what the records said before this process lost NATS', () => {
  const purged = (id: number): Purge => ({
    ...{ mon_data_id: id, table_id: tableOf(id), state: 'purged' },
    ...{ requested_at: Date.now(), requested_by: 'ann' },
  });

  /** What the copies of a keeper have, and (behind it) what KV says: its value, or that it does not answer. */
  const behind = <T>(set: RecordSet<T>, copy: readonly { id: number; value: T }[]): RecordSet<T> => ({
    ...set,
    list: () => [...copy],
    known: (id) => copy.flatMap(({ id: each, value }) => (each === id ? [{ value, revision: 0 }] : []))[0],
  });
  const silent = <T>(set: RecordSet<T>): RecordSet<T> => ({
    ...set,
    get: () => Promise.reject(new Fault('transient', 'nats_unavailable', 'no answer')),
  });

  it('shortens the retention of no table, whose rows would be gone', async () => {
    const records = await openRecords();
    await records.sourcePolicies.create(1, { retention_days: null });
    const sourcePolicies = behind(records.sourcePolicies, [
      { id: 1, value: { retention_days: 7 } },
      { id: 2, value: { retention_days: 7 } },
    ]);
    expect((await lookOnce({ ...records, sourcePolicies })).tried).toEqual([]);
    expect((await lookOnce({ ...records, sourcePolicies: silent(sourcePolicies) })).tried).toEqual([]);
  });

  it('drops no table, whose purge may be of before the records were restored', async () => {
    const records = await openRecords();
    const purges = behind<Purge>(records.purges, [
      { id: 1, value: purged(1) },
      { id: 2, value: { ...purged(2), state: 'purging' } },
    ]);
    expect((await lookOnce({ ...records, purges })).tried).toEqual([]);
    expect((await lookOnce({ ...records, purges: silent(purges) })).tried).toEqual([]);
  });
});

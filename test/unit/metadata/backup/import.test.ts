import { expect, it } from 'vitest';
import { counterNames, systemKeys } from '../../../../src/directory/keys.ts';
import { backupSchema } from '../../../../src/metadata/backup/document.ts';
import { importRecords } from '../../../../src/metadata/backup/import.ts';
import { defaultInstance } from '../../../../src/model/instances.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const documentWith = (counters: Readonly<Record<string, number>>) =>
  backupSchema.parse({
    ...{ format: 'tidemark-records', version: 1, exported_at: 0 },
    counters: { data_id: 1_500_000, custom_report_id: 0, time_series_group_id: 0, app_id: 0, ...counters },
    ...{ custom_reports: {}, data_sources: {}, time_series_groups: {}, result_tables: {} },
    ...{ source_policies: {}, previous_tokens: {}, purges: {}, subscriptions: {}, columns: {} },
    ...{ applications: {}, application_policies: {}, previous_application_tokens: {} },
  });

const placing = { names: [defaultInstance], isAway: () => false };

/** A QuestDB that makes a table when the test says so, or not. */
const openTables = () => {
  const running = new Map<string, { made: () => void; failed: (error: Error) => void }>();
  const begun: string[] = [];
  const createTable = (_layout: string, tableId: string): Promise<void> => {
    begun.push(tableId);
    return new Promise<void>((made, failed) => running.set(tableId, { made, failed })).finally(() =>
      running.delete(tableId),
    );
  };
  return { tables: { ...noTables, createTable }, running, begun };
};

const resultTable = {
  ...{ table_name_zh: 'demo', is_custom_table: true, schema_type: 'free', default_storage: 'questdb' },
  ...{ create_time: 0, creator: '', last_modify_time: 0, last_modify_user: '' },
  ...{ mon_biz_id: 2, is_deleted: false, is_enable: true, label: 'os', data_label: '' },
};

const withTables = (count: number) => {
  const ids = Array.from({ length: count }, (_, index) => 1_500_001 + index);
  const result_tables = Object.fromEntries(
    ids.map((id) => [id, { ...resultTable, table_id: `2_bkmonitor_time_series_${id}.__default__` }]),
  );
  return { ...documentWith({}), result_tables };
};

it('an import makes its tables eight at a time', async () => {
  const { records } = createMemoryRecords();
  const { tables, running, begun } = openTables();
  const importing = importRecords({ records, tables, placing }, withTables(20));
  for (const sizes of [8, 8, 4]) {
    await expect.poll(() => running.size).toBe(sizes);
    for (const { made } of running.values()) made();
  }
  await expect(importing).resolves.toMatchObject({ created: 20 });
  expect(new Set(begun).size).toBe(20);
});

it('a table that cannot be made ends an import: no further one is begun, and none goes on behind its answer', async () => {
  const { records } = createMemoryRecords();
  const { tables, running, begun } = openTables();
  let hasEnded = false;
  const importing = importRecords({ records, tables, placing }, withTables(20)).finally(() => {
    hasEnded = true;
  });
  await expect.poll(() => running.size).toBe(8);
  const [first, ...others] = running.values();
  first?.failed(new Error('no room'));
  await expect.poll(() => running.size).toBe(7);
  for (const { made } of others) {
    expect(hasEnded).toBe(false);
    made();
  }
  await expect(importing).rejects.toThrow('no room');
  expect(begun).toHaveLength(8);
  expect(records.tables.list()).toEqual([]);
});

// Counters only rise: nothing would lead back.
it.each(counterNames)('an import refuses a %s that leaves no ids, and raises no counter', async (name) => {
  const { records } = createMemoryRecords();
  const importing = importRecords({ records, tables: noTables, placing }, documentWith({ [name]: 1e15 }));
  await expect(importing).rejects.toMatchObject({ kind: 'permanent', code: 'invalid_value' });
  for (const each of counterNames) expect(await records.system.get(systemKeys.counter(each))).toBeUndefined();
});

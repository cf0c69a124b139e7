import { expect, it } from 'vitest';
import { newGroup, newResultTable } from '../../../../src/metadata/records/values.ts';
import { createTableRepair } from '../../../../src/metadata/tables/repair.ts';
import { defaultInstance } from '../../../../src/model/instances.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const table = '2_mon_time_series_1.__default__';
const setsKeys = `ALTER TABLE "${table}" DEDUP ENABLE UPSERT KEYS(timestamp, uid)`;
const resumes = `ALTER TABLE "${table}" RESUME WAL`;

/** The repair of one table with other upsert keys; what QuestDB shows of it can be changed. */
const repairOf = async () => {
  const { records } = createMemoryRecords();
  const common = { mon_biz_id: 2, table_id: table, label: 'others', operator: 'test' };
  await records.groups.put(
    1,
    newGroup({
      ...common,
      ...{ time_series_group_id: 1, time_series_group_name: 'group 1', mon_data_id: 1 },
      ...{ max_rate: -1, is_split_measurement: false },
    }),
  );
  await records.tables.put(1, newResultTable({ ...common, table_name_zh: 'group 1', data_label: '' }));
  const shown = { keys: ['timestamp'], isSuspended: false };
  const changes: string[] = [];
  const exec = async (sql: string) => {
    const answer = (dataset: unknown[][]) => ({ columns: [], dataset });
    if (sql.includes('table_columns')) return answer(shown.keys.map((column) => [table, column]));
    if (sql.includes('wal_tables()')) return answer([[table, 1, shown.isSuspended, true, null, null, 0]]);
    changes.push(sql);
    return answer([]);
  };
  const repair = createTableRepair({
    records,
    tables: noTables,
    sqls: new Map([[defaultInstance, { exec, close: async () => {} }]]),
    isAway: () => false,
    remakeViews: () => {},
    log: createLog('test', 'silent'),
  });
  return { repair, shown, changes };
};

// Its log is not applied while it is suspended: each change of its keys would only make that longer, with an error in the log.
it('a table that is suspended after its upsert keys were set again is resumed, and its keys are set no more', async () => {
  const { repair, shown, changes } = await repairOf();
  await repair.round();
  expect(changes).toEqual([setsKeys]);
  shown.isSuspended = true;
  await repair.round();
  await repair.round();
  expect(changes).toEqual([setsKeys, resumes]);
  shown.isSuspended = false;
  await repair.round();
  expect(changes).toEqual([setsKeys, resumes, setsKeys]);
});

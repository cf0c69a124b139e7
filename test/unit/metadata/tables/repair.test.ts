import { expect, it } from 'vitest';
import type { Records } from '../../../../src/metadata/records/store.ts';
import { newGroup, newResultTable } from '../../../../src/metadata/records/values.ts';
import { createTableRepair } from '../../../../src/metadata/tables/repair.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { defaultInstance } from '../../../../src/model/instances.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';

const table = '2_mon_time_series_1.__default__';
const setsKeys = `ALTER TABLE "${table}" DEDUP ENABLE UPSERT KEYS(timestamp, uid)`;
const resumes = `ALTER TABLE "${table}" RESUME WAL`;

const recordsOfTable = async () => {
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
  return records;
};

/** A table that QuestDB lacks; `makes` tells the tables that two rounds make, and their days, for a process with other answers of its sets. */
const missingTable = async () => {
  const records = await recordsOfTable();
  const makes = async (
    policies: Partial<Records['sourcePolicies']>,
    purges: Partial<Records['purges']> = {},
  ): Promise<unknown[]> => {
    const made: unknown[] = [];
    const repair = createTableRepair({
      records: {
        ...records,
        sourcePolicies: { ...records.sourcePolicies, ...policies },
        purges: { ...records.purges, ...purges },
      },
      tables: { ...noTables, createTable: async (_, name, days) => void made.push([name, days]) },
      sqls: new Map([
        [defaultInstance, { exec: async () => ({ columns: [], dataset: [] }), close: async () => {} }],
      ]),
      isAway: () => false,
      remakeViews: () => {},
      log: createLog('test', 'silent'),
    });
    for (let round = 0; round < 2; round++) await repair.round().catch(() => undefined);
    return made;
  };
  return { records, makes };
};

/** The repair of one table with other upsert keys; what QuestDB shows of it can be changed. */
const repairOf = async () => {
  const records = await recordsOfTable();
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

it('a table that is missing is made with the retention that KV has, not with that of before this process lost NATS', async () => {
  const { records, makes } = await missingTable();
  await records.sourcePolicies.create(1, { retention_days: null });
  expect(await makes({ known: () => ({ value: { retention_days: 7 }, revision: 0 }) })).toEqual([
    [table, undefined],
  ]);
});

it('a table that another process has purged meanwhile, or may have, is not made again', async () => {
  const { records, makes } = await missingTable();
  const unanswered = () => Promise.reject(new Fault('transient', 'nats_unavailable', 'no answer'));
  expect(await makes({ get: unanswered })).toEqual([]);
  await records.purges.create(1, {
    ...{ mon_data_id: 1, table_id: table, state: 'purging' },
    ...{ requested_at: 0, requested_by: 'ann' },
  });
  expect(await makes({}, { known: () => undefined })).toEqual([]);
});

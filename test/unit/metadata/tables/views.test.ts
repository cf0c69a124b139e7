import { expect, it, onTestFinished } from 'vitest';
import type { Change, KvBucket } from '../../../../src/bus/kv.ts';
import { columnsKey } from '../../../../src/directory/keys.ts';
import type { TimeSeriesGroup } from '../../../../src/directory/records.ts';
import { newGroup, newResultTable } from '../../../../src/metadata/records/values.ts';
import { createTableRepair } from '../../../../src/metadata/tables/repair.ts';
import { keepMetricViews } from '../../../../src/metadata/tables/views.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { defaultInstance } from '../../../../src/model/instances.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';
import { noTables } from '../../../support/metadata/no-tables.ts';
import { createMemoryKv } from '../../../support/metadata/refresh-memory-kv.ts';
import { until } from '../../../support/until.ts';

const splitGroup = (dataId: number): TimeSeriesGroup =>
  newGroup({
    time_series_group_id: dataId,
    time_series_group_name: `group ${dataId}`,
    mon_data_id: dataId,
    mon_biz_id: 2,
    table_id: `2_mon_time_series_${dataId}.__default__`,
    max_rate: -1,
    label: 'others',
    is_split_measurement: true,
    operator: 'test',
  });

/** The view of its metric is never made. */
const hangingId = 7;

const registryOf = (id: number) => ({
  ...{ mon_data_id: id, dimensions: [] },
  metrics: [{ name: 'cpu', column: 'cpu', first_seen: 1, last_seen: 1 }],
});

/** The keeper over a columns bucket whose changes the test delivers. */
const openKeeper = () => {
  const kv = createMemoryKv();
  const { records } = createMemoryRecords();
  /** Their instance takes the view of one of them, and answers no more. */
  const place = (id: number) =>
    records.placements.put(id, { mon_data_id: id, table_id: splitGroup(id).table_id, questdb: 'b' });
  const hanging = Promise.withResolvers<void>();
  const away = new Set<string>();
  const tried: string[] = [];
  const groups = new Map<number, TimeSeriesGroup>();
  const looked: number[] = [];
  const views: string[] = [];
  let deliver: (change: Change) => void = () => {};
  const columns: KvBucket = {
    ...kv,
    watch: (onChange) => {
      deliver = onChange;
      return { stop: () => {} };
    },
  };
  const get = async (id: number) => {
    looked.push(id);
    const value = groups.get(id);
    return value && { value, revision: 1 };
  };
  const none = () => {
    throw new Error('the keeper writes no group');
  };
  const sets = { kind: 'group', known: () => undefined, list: () => [] };
  const keeper = keepMetricViews({
    columns,
    records: {
      groups: { ...sets, get, create: none, update: none, change: none, put: none },
      placements: records.placements,
    },
    tables: {
      createMetricView: async (table, column) => {
        tried.push(table);
        if (table === splitGroup(hangingId).table_id) await hanging.promise;
        views.push(`${table} ${column}`);
      },
    },
    isAway: (instance) => away.has(instance),
    log: createLog('test', 'silent'),
  });
  onTestFinished(() => {
    hanging.resolve();
    return keeper.stop();
  });
  let revision = 0;
  const change = (id: number, value: unknown): void =>
    deliver({ key: columnsKey(id), value, revision: ++revision });
  return {
    keeper,
    kv,
    place,
    away,
    tried,
    groups,
    looked,
    views,
    register: (id: number): void => change(id, registryOf(id)),
    remove: (id: number): void => change(id, undefined),
  };
};

it('a registry that comes before its group has its views once the group is there', async () => {
  const { groups, looked, views, register } = openKeeper();
  register(1);
  await until('the keeper looked for the group', () => looked.length > 0);
  groups.set(1, splitGroup(1));
  await until('the view is made', () => views.length > 0, 10_000);
  expect(views).toEqual([`${splitGroup(1).table_id} cpu`]);
});

it('a registry that is removed before its group comes is not looked at again', async () => {
  const { groups, looked, views, register, remove } = openKeeper();
  register(1);
  await until('the keeper looked for the group', () => looked.length > 0);
  remove(1);
  groups.set(2, splitGroup(2));
  register(2);
  await until('the view of the other is made', () => views.length > 0, 10_000);
  expect(looked).toEqual([1, 2]);
});

it('the views of one instance do not wait for another that hangs, and one that is away is not asked', async () => {
  const { groups, views, tried, away, place, register } = openKeeper();
  for (const id of [1, hangingId, 8]) groups.set(id, splitGroup(id));
  await place(hangingId);
  await place(8);
  away.add('b');
  register(8);
  register(1);
  await until('the view on the first instance is made', () => views.length > 0, 10_000);
  expect(tried).toEqual([splitGroup(1).table_id]);
  away.clear();
  register(hangingId);
  await until('the other instance is asked', () => tried.includes(splitGroup(hangingId).table_id), 10_000);
  groups.set(2, splitGroup(2));
  register(2);
  await until('the next view there is made', () => views.includes(`${splitGroup(2).table_id} cpu`), 10_000);
});

/** Repairs over a QuestDB that has no table, and then those that were created. */
const openRepair = async (
  remakeViews: (dataId: number) => void,
  answer: () => Promise<void> = async () => {},
) => {
  const { records } = createMemoryRecords();
  const group = splitGroup(1);
  await records.groups.create(1, group);
  const names = { table_name_zh: 'cpu', mon_biz_id: 2, label: 'others', data_label: '', operator: 'test' };
  await records.tables.create(1, newResultTable({ ...names, table_id: group.table_id }));
  const made = new Set<string>();
  const exec = async (sql: string) => ({
    columns: [],
    dataset: [...made].flatMap((name): unknown[][] =>
      sql.includes('table_columns')
        ? [
            [name, 'timestamp'],
            [name, 'uid'],
          ]
        : [[name, 1, false, true, null, null, 0]],
    ),
  });
  return () =>
    createTableRepair({
      records,
      tables: {
        ...noTables,
        createTable: async (_, name) => {
          made.add(name);
          await answer();
        },
      },
      sqls: new Map([[defaultInstance, { exec, close: async () => {} }]]),
      ...{ isAway: () => false, remakeViews, log: createLog('test', 'silent') },
    });
};

it('a split table that is created again has its views again, from each process that missed it', async () => {
  const { keeper, kv, groups, views, register } = openKeeper();
  groups.set(1, splitGroup(1));
  await kv.put(columnsKey(1), registryOf(1));
  register(1);
  await until('the view is made', () => views.length > 0, 10_000);
  const repairOf = await openRepair(keeper.remake);
  const [first, second] = [repairOf(), repairOf()];
  await first.round();
  await second.round();
  expect(views).toHaveLength(1);
  await first.round();
  await until('the view is made again', () => views.length > 1, 10_000);
  await second.round();
  await until('the other process makes it, too', () => views.length > 2, 10_000);
  await first.round();
  await second.round();
  expect(new Set(views)).toEqual(new Set([`${splitGroup(1).table_id} cpu`]));
});

it('a split table whose creation took effect without an answer has its views again, once', async () => {
  const remade: number[] = [];
  const repairOf = await openRepair(
    (dataId) => void remade.push(dataId),
    async () => {
      throw new Fault('transient', 'questdb_unavailable', 'no answer');
    },
  );
  const repair = repairOf();
  await repair.round();
  await expect(repair.round()).rejects.toThrow('no answer');
  for (let rounds = 0; rounds < 4; rounds++) await repair.round();
  expect(remade).toEqual([1]);
});

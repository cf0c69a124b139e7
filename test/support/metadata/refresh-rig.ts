import type { DataSource, ResultTable, TimeSeriesGroup } from '../../../src/directory/records.ts';
import { newDataSource, newGroup, newResultTable } from '../../../src/metadata/records/values.ts';
import type { HeldLease } from '../../../src/metadata/refresh/lease.ts';
import type { NodeManagement } from '../../../src/metadata/refresh/node-management.ts';
import type { ReadSet, RefreshRecords } from '../../../src/metadata/refresh/reports.ts';
import type { RunDeps } from '../../../src/metadata/refresh/run.ts';
import { createRuns } from '../../../src/metadata/refresh/runs.ts';
import { openSubscriptions } from '../../../src/metadata/refresh/subscriptions.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMemoryKv, type MemoryKv } from './refresh-memory-kv.ts';

const setOf = <T>(values: ReadonlyMap<number, T>): ReadSet<T> => ({
  list: () => [...values].map(([id, value]) => ({ id, value })),
  get: async (id) => {
    const value = values.get(id);
    return value === undefined ? undefined : { value };
  },
});

const nothing = setOf(new Map<number, never>());

/** Records of reports that were made step by step, in memory. */
export const createRigRecords = () => {
  const dataSources = new Map<number, DataSource>();
  const groups = new Map<number, TimeSeriesGroup>();
  const tables = new Map<number, ResultTable>();
  const unreadable = new Set<string>();
  const records: RefreshRecords = {
    reports: nothing,
    dataSources: setOf(dataSources),
    groups: setOf(groups),
    tables: setOf(tables),
    sourcePolicies: nothing,
    previousTokens: nothing,
    unreadable,
    ready: Promise.resolve(),
  };
  return {
    records,
    /** The keys of records that cannot be read. */
    unreadable,
    add: (dataId: number): void => {
      const owner = { mon_biz_id: 2, operator: 'test' };
      const table_id = `2_mon_time_series_${dataId}.__default__`;
      dataSources.set(
        dataId,
        newDataSource({
          ...{ ...owner, mon_data_id: dataId, data_name: `2_custom_time_series_${dataId}`, space_uid: '' },
          ...{ data_description: '', etl_config: 'mon_standard_v2_time_series', is_custom_source: true },
          ...{ custom_label: null, source_system: 'tidemark' },
        }),
      );
      groups.set(
        dataId,
        newGroup({
          ...{ ...owner, mon_data_id: dataId, time_series_group_id: dataId, table_id, label: 'others' },
          ...{ time_series_group_name: `report ${dataId}`, max_rate: -1, is_split_measurement: false },
        }),
      );
      tables.set(
        dataId,
        newResultTable({ ...owner, table_id, table_name_zh: 'report', label: 'others', data_label: '' }),
      );
    },
    setEnabled: (dataId: number, is_enable: boolean): void => {
      const source = dataSources.get(dataId);
      if (source === undefined) throw new Error(`there is no report ${dataId}`);
      dataSources.set(dataId, { ...source, is_enable });
    },
  };
};

/** A node management API in memory: what it was asked, how long a call takes, what it waits for, and whether it refuses. */
export const createRigNodeManagement = () => {
  let last = 0;
  const rig = {
    calls: [] as { readonly action: string; readonly id: number }[],
    callMs: 0,
    gate: Promise.resolve(),
    refuses: false,
  };
  const call = async (action: string, id: number): Promise<void> => {
    rig.calls.push({ action, id });
    if (rig.callMs > 0) await new Promise((resolve) => setTimeout(resolve, rig.callMs));
    await rig.gate;
    if (rig.refuses) throw new Error('refused');
  };
  const nodeManagement: NodeManagement = {
    name: 'http',
    isRemote: true,
    atOnce: 8,
    describe: () => ({}),
    create: async (dataId) => {
      await call('create', dataId);
      return ++last;
    },
    look: async () => new Map(),
    update: (id) => call('update', id),
    install: (id) => call('install', id),
    enable: (id) => call('enable', id),
    uninstall: (id) => call('uninstall', id),
    delete: (id) => call('delete', id),
    endingWith: () => nodeManagement,
  };
  return Object.assign(rig, { nodeManagement });
};

/** A lease that is never lost. */
export const rigLease: HeldLease = {
  signal: new AbortController().signal,
  check: async () => {},
  release: async () => {},
};

/** What the runs of one process need, over buckets in memory that several processes may share. */
export const rigRunDeps = (
  given: Pick<RunDeps, 'records' | 'nodeManagement'> & Partial<RunDeps>,
  system: MemoryKv = createMemoryKv(),
): RunDeps => {
  const subscriptions = openSubscriptions(createMemoryKv(), (fault) => {
    throw fault;
  });
  return {
    // The watch of a bucket in memory brings nothing, and nothing is missing.
    subscriptions: { ...subscriptions, ready: Promise.resolve(), isReady: true },
    runs: createRuns(system),
    defaults: { maxRate: 1000, aheadSecondsMax: 3600 },
    documentPrefix: 'bk',
    runMsMax: 600_000,
    reached: { change: 0, check: 0 },
    otherForms: new Map(),
    now: Date.now,
    stopping: new AbortController().signal,
    log: createLog('refresh-rig', 'silent'),
    ...given,
  };
};

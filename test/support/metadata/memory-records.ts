import type { ApplicationPolicy, SourcePolicy } from '../../../src/directory/policies.ts';
import type {
  Application,
  CustomReport,
  DataSource,
  IdentityCredential,
  Placement,
  PreviousToken,
  Purge,
  ResultTable,
  TimeSeriesGroup,
} from '../../../src/directory/records.ts';
import { createUnreadable } from '../../../src/directory/unreadable.ts';
import type { RecordSet, Records, ReservedName, Versioned } from '../../../src/metadata/records/store.ts';
import { Fault } from '../../../src/model/fault.ts';
import { createMemoryBucket } from '../stack/memory-bucket.ts';

/** Records of one kind in memory. */
export type MemorySet<T> = RecordSet<T> & {
  /** The next write is done, and its answer lost: it alone, or with the connection, so that no read is answered any more. */
  losesNext: 'answer' | 'connection' | undefined;
};

const unanswered = (): Fault => new Fault('transient', 'nats_unavailable', 'no answer');
const conflict = (): Fault => new Fault('permanent', 'kv_conflict', 'wrong last sequence');

const createMemorySet = <T>(kind: string): MemorySet<T> => {
  const held = new Map<number, Versioned<T>>();
  let last = 0;
  let isLost = false;
  const store = (id: number, value: T): Versioned<T> => {
    const entry = { value, revision: ++last };
    held.set(id, entry);
    if (set.losesNext === undefined) return entry;
    isLost = set.losesNext === 'connection';
    set.losesNext = undefined;
    throw unanswered();
  };
  const set: MemorySet<T> = {
    kind,
    losesNext: undefined,
    get: async (id) => {
      if (isLost) throw unanswered();
      return held.get(id);
    },
    known: (id) => held.get(id),
    create: async (id, value) => {
      if (held.has(id)) throw conflict();
      return store(id, value);
    },
    update: async (id, value, revision) => {
      if (held.get(id)?.revision !== revision) throw conflict();
      return store(id, value);
    },
    change: async (id, edit) => {
      const current = held.get(id);
      if (current === undefined) throw new Fault('permanent', 'not_found', `${kind} ${id}`);
      const next = edit(current.value);
      return next === current.value ? current : store(id, next);
    },
    put: async (id, value) => store(id, value),
    list: () => [...held].map(([id, { value }]) => ({ id, value })).toSorted((a, b) => a.id - b.id),
  };
  return set;
};

const createNames = (): Pick<Records, 'reserve' | 'holderOf' | 'point' | 'lookUp'> => {
  const ids = new Map<string, number>();
  const isFree = async (name: ReservedName, judge: Parameters<Records['reserve']>[2]): Promise<boolean> => {
    const holder = ids.get(name.key);
    const verdict = holder === undefined ? 'gone' : await judge(holder);
    if (verdict === 'other') throw new Fault('permanent', 'name_taken', `${name.text} exists already`);
    return verdict === 'gone';
  };
  return {
    reserve: async (name, newId, judge) => {
      if (await isFree(name, judge)) ids.set(name.key, await newId());
      return ids.get(name.key) ?? 0;
    },
    holderOf: async ({ key }) => ids.get(key),
    point: async (key, id) => {
      ids.set(key, id);
    },
    lookUp: async (key) => ids.get(key),
  };
};

/** The records of a deployment in memory, whose first data id is 1500001. `issued`: the last id of each counter. */
export const createMemoryRecords = () => {
  const issued = { data_id: 1_500_000, custom_report_id: 0, time_series_group_id: 0, app_id: 0 };
  const reports = createMemorySet<CustomReport>('custom_report');
  const records = {
    reports,
    dataSources: createMemorySet<DataSource>('data_source'),
    groups: createMemorySet<TimeSeriesGroup>('time_series_group'),
    tables: createMemorySet<ResultTable>('result_table'),
    placements: createMemorySet<Placement>('placement'),
    sourcePolicies: createMemorySet<SourcePolicy>('source_policy'),
    previousTokens: createMemorySet<PreviousToken>('previous_token'),
    sourceIdentities: createMemorySet<IdentityCredential>('source_identity'),
    purges: createMemorySet<Purge>('purge'),
    applications: createMemorySet<Application>('application'),
    applicationPolicies: createMemorySet<ApplicationPolicy>('application_policy'),
    previousApplicationTokens: createMemorySet<PreviousToken>('previous_application_token'),
    applicationIdentities: createMemorySet<IdentityCredential>('application_identity'),
    reportOf: (dataId) => reports.list().find(({ value }) => value.mon_data_id === dataId)?.value,
    nextId: async (name) => ++issued[name],
    ...createNames(),
    bucket: createMemoryBucket(),
    system: createMemoryBucket(),
    columns: createMemoryBucket(),
    unreadable: createUnreadable(() => {}),
    ready: Promise.resolve(),
    stop: () => {},
  } satisfies Records;
  return { records, issued };
};

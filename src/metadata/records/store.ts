import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Bus } from '../../bus/connection.ts';
import { type Change, type KvBucket, openKvBucket, untilWritten } from '../../bus/kv.ts';
import { buckets, type CounterName, dataIdRange, recordKeys, systemKeys } from '../../directory/keys.ts';
import { applicationPolicySchema, sourcePolicySchema } from '../../directory/policies.ts';
import {
  applicationSchema,
  type CustomReport,
  customReportSchema,
  dataSourceSchema,
  identityCredentialSchema,
  placementSchema,
  previousTokenSchema,
  purgeSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../../directory/records.ts';
import { createUnreadable, type Unreadable } from '../../directory/unreadable.ts';
import { Fault } from '../../model/fault.ts';
import { notFound } from '../problem.ts';

/** A record and the revision to compare-and-set on. */
export type Versioned<T> = { readonly value: T; readonly revision: number };

/**
 * The records of one kind. `get` reads KV; `list` reads this process's copy, which holds everything that this process has written
 * or read.
 */
export type RecordSet<T> = {
  /** The name of a kind in messages and in the audit, as `data_source`. */
  readonly kind: string;
  get(id: number): Promise<Versioned<T> | undefined>;
  /** The same from this process's copy. */
  known(id: number): Versioned<T> | undefined;
  /** Permanent Fault `kv_conflict` when the record exists. */
  create(id: number, value: T): Promise<Versioned<T>>;
  /** Permanent Fault `kv_conflict` when the record has another revision. */
  update(id: number, value: T, revision: number): Promise<Versioned<T>>;
  /**
   * Replaces the record by the result of `edit`, and repeats that on a conflict; writes nothing when `edit` returns the same
   * object. Permanent Faults `not_found`, and `precondition_failed` when a revision is given and the record has another one.
   */
  change(id: number, edit: (value: T) => T, revision?: number): Promise<Versioned<T>>;
  /** Creates or replaces the record, without a condition. */
  put(id: number, value: T): Promise<Versioned<T>>;
  /** All of them by ascending id. */
  list(): { id: number; value: T }[];
};

type MakeSet = <T>(
  keyOf: (id: number) => string,
  schema: z.ZodType<T>,
  onKeep?: (value: T) => void,
) => RecordSet<T>;

const recordSets = (set: MakeSet, onReport: (report: CustomReport) => void) => ({
  reports: set(recordKeys.report, customReportSchema, onReport),
  // These by their mon_data_id.
  dataSources: set(recordKeys.dataSource, dataSourceSchema),
  groups: set(recordKeys.group, timeSeriesGroupSchema),
  tables: set(recordKeys.table, resultTableSchema),
  placements: set(recordKeys.placement, placementSchema),
  sourcePolicies: set(recordKeys.sourcePolicy, sourcePolicySchema),
  previousTokens: set(recordKeys.previousToken, previousTokenSchema),
  sourceIdentities: set(recordKeys.sourceIdentity, identityCredentialSchema),
  purges: set(recordKeys.purge, purgeSchema),
  // These by their app_id.
  applications: set(recordKeys.application, applicationSchema),
  applicationPolicies: set(recordKeys.applicationPolicy, applicationPolicySchema),
  previousApplicationTokens: set(recordKeys.previousApplicationToken, previousTokenSchema),
  applicationIdentities: set(recordKeys.applicationIdentity, identityCredentialSchema),
});

/** All records in KV, with the names and ids that must be unique. Every call may throw transient Faults. */
export type Records = Readonly<ReturnType<typeof recordSets>> & {
  /** The report whose creation made a data id, or makes it now; from this process's copy. */
  reportOf(dataId: number): CustomReport | undefined;
  /** The next id. Permanent Fault `data_ids_exhausted` when the range of data ids is used up. */
  nextId(name: CounterName): Promise<number>;
  /**
   * Holds a unique name for an id and returns that id: the current holder if `judge` returns `own`, a new one if the name is free
   * or `judge` returns `gone`. Permanent Fault `name_taken` if it returns `other`.
   */
  reserve(
    name: ReservedName,
    newId: () => Promise<number>,
    judge: (holder: number) => Promise<'own' | 'gone' | 'other'>,
  ): Promise<number>;
  /** The id that holds a name. */
  holderOf(name: ReservedName): Promise<number | undefined>;
  /** Writes a lookup entry: an index key to an id. */
  point(key: string, id: number): Promise<void>;
  lookUp(key: string): Promise<number | undefined>;
  /** The bucket of all of the above, without names and counters. */
  readonly bucket: KvBucket;
  readonly system: KvBucket;
  readonly columns: KvBucket;
  /** The records of any kind that cannot be read: lists lack them, or have what they were before. */
  readonly unreadable: Unreadable;
  /** Resolves when the copy that `list` reads was filled for the first time. */
  readonly ready: Promise<void>;
  stop(): void;
};

/** A name that only one undeleted record has, and its noun in messages. */
export type ReservedName = { readonly key: string; readonly text: string; readonly inSystemBucket?: true };

const hashed = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The names that are unique. Those of the records bucket are keys that receivers know too. */
export const reservedNames = {
  report: (bizId: number, name: string): ReservedName => ({
    key: recordKeys.reportName(bizId, name),
    text: `custom report ${JSON.stringify(name)} of business ${bizId}`,
  }),
  application: (bizId: number, name: string): ReservedName => ({
    key: recordKeys.applicationName(bizId, name),
    text: `application ${JSON.stringify(name)} of business ${bizId}`,
  }),
  dataName: (name: string): ReservedName => ({
    key: `data_name.${hashed(name)}`,
    text: `data source ${JSON.stringify(name)}`,
    inSystemBucket: true,
  }),
  group: (bizId: number, name: string): ReservedName => ({
    key: `group_name.${hashed(`${bizId}:${name}`)}`,
    text: `time series group ${JSON.stringify(name)} of business ${bizId}`,
    inSystemBucket: true,
  }),
} as const;

/** Conflicts follow each other only while others succeed: more in a row than this mean another error. */
const conflictsMax = 100;

const parsed = <T>(key: string, schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Fault('internal', 'record_invalid', `${key} is not a valid record: ${result.error.message}`);
};

const untilSettled = <T>(attempt: () => Promise<T>): Promise<T> =>
  untilWritten('the record', conflictsMax, attempt);

/** A record as messages name it. */
export const recordText = ({ kind }: Pick<RecordSet<unknown>, 'kind'>, id: number): string =>
  `${kind.replaceAll('_', ' ')} ${id}`;

/** The record and its revision. Permanent Fault `not_found`. */
export const existing = async <T>(
  set: Pick<RecordSet<T>, 'kind' | 'get'>,
  id: number,
): Promise<Versioned<T>> => {
  const stored = await set.get(id);
  if (stored === undefined) throw notFound(recordText(set, id));
  return stored;
};

type Copy = { apply(change: Change): void; forgetUnseen(keys: ReadonlySet<string>): void; age(): void };

/** A write that demands another revision than the record has; `what` names it where the path names another one. */
export const preconditionFailed = (revision: number, what = 'the record'): Fault =>
  new Fault(
    'permanent',
    'precondition_failed',
    `another call changed ${what}: its ETag is now "${revision}"`,
  );

/** One kind of record under `keyOf(id)`, and its part of the copy. */
const createRecordSet = <T>(
  bucket: KvBucket,
  keyOf: (id: number) => string,
  schema: z.ZodType<T>,
  onKeep: (value: T) => void = () => {},
): RecordSet<T> & Copy => {
  const copy = new Map<number, Versioned<T>>();
  const prefix = keyOf(0).slice(0, -1);
  const keep = (id: number, value: T, revision: number): Versioned<T> => {
    const entry = { value, revision };
    if (revision > (copy.get(id)?.revision ?? -1)) {
      copy.set(id, entry);
      onKeep(value);
    }
    return entry;
  };
  const get = async (id: number): Promise<Versioned<T> | undefined> => {
    const stored = await bucket.get(keyOf(id));
    return stored && keep(id, parsed(keyOf(id), schema, stored.value), stored.revision);
  };
  /** In the form of the schema: its fields, in its order. */
  const checked = (id: number, value: T): T => parsed(keyOf(id), schema, value);
  const kind = prefix.slice(0, -1);
  const update = async (id: number, value: T, revision: number): Promise<Versioned<T>> => {
    const record = checked(id, value);
    return keep(id, record, await bucket.update(keyOf(id), record, revision));
  };
  return {
    kind,
    get,
    known: (id) => copy.get(id),
    put: async (id, value) => {
      const record = checked(id, value);
      return keep(id, record, await bucket.put(keyOf(id), record));
    },
    create: async (id, value) => {
      const record = checked(id, value);
      return keep(id, record, await bucket.create(keyOf(id), record));
    },
    update,
    change: (id, edit, revision) =>
      untilSettled(async () => {
        const current = await existing({ kind, get }, id);
        if (revision !== undefined && revision !== current.revision)
          throw preconditionFailed(current.revision, recordText({ kind }, id));
        const next = edit(current.value);
        return next === current.value ? current : update(id, next, current.revision);
      }),
    list: () => [...copy].map(([id, { value }]) => ({ id, value })).sort((left, right) => left.id - right.id),
    apply: ({ key, value, revision }) => {
      if (!key.startsWith(prefix)) return;
      const id = Number(key.slice(prefix.length));
      if (value === undefined) copy.delete(id);
      else keep(id, parsed(key, schema, value), revision);
    },
    // A server that lost its data counts revisions from 1 again: entries copied before a disconnect must not win.
    age: () => {
      for (const [id, { value }] of copy) copy.set(id, { value, revision: 0 });
    },
    forgetUnseen: (keys) => {
      for (const [id, { revision }] of copy) if (revision === 0 && !keys.has(keyOf(id))) copy.delete(id);
    },
  };
};

const createIds = (
  system: KvBucket,
  firstDataId: () => Promise<number>,
): ((name: CounterName) => Promise<number>) => {
  const counter = z.int().nonnegative();
  return (name) =>
    untilSettled(async () => {
      const key = systemKeys.counter(name);
      const last = await system.get(key);
      const first = name === 'data_id' ? firstDataId : async () => 1;
      const next = parsed(
        key,
        counter,
        last === undefined ? await first() : parsed(key, counter, last.value) + 1,
      );
      if (name === 'data_id' && next > dataIdRange.last) {
        throw new Fault(
          'permanent',
          'data_ids_exhausted',
          `all data ids from ${dataIdRange.first} to ${dataIdRange.last} are in use`,
        );
      }
      if (last === undefined) await system.create(key, next);
      else await system.update(key, next, last.revision);
      return next;
    });
};

const createReservations = (
  records: KvBucket,
  system: KvBucket,
): Pick<Records, 'reserve' | 'holderOf' | 'point' | 'lookUp'> => {
  const bucketOf = (name: ReservedName): KvBucket => (name.inSystemBucket ? system : records);
  const idSchema = z.int();
  const reserve: Records['reserve'] = async (name, newId, judge) => {
    let fresh: number | undefined;
    const freshId = async (): Promise<number> => {
      fresh ??= await newId();
      return fresh;
    };
    return untilSettled(async () => {
      const held = await bucketOf(name).get(name.key);
      if (held === undefined) {
        const id = await freshId();
        await bucketOf(name).create(name.key, id);
        return id;
      }
      const holder = parsed(name.key, idSchema, held.value);
      const verdict = await judge(holder);
      if (verdict === 'own') return holder;
      if (verdict === 'other') {
        throw new Fault('permanent', 'name_taken', `${name.text} exists already (id ${holder})`);
      }
      const id = await freshId();
      await bucketOf(name).update(name.key, id, held.revision);
      return id;
    });
  };
  const read = async (bucket: KvBucket, key: string): Promise<number | undefined> => {
    const stored = await bucket.get(key);
    return stored && parsed(key, idSchema, stored.value);
  };
  return {
    reserve,
    holderOf: (name) => read(bucketOf(name), name.key),
    point: async (key, id) => {
      await records.put(key, id);
    },
    lookUp: (key) => read(records, key),
  };
};

/**
 * Opens the buckets and follows the records. Calls `firstDataId` once per deployment, when no data id was assigned yet. `onInvalid`
 * receives each stored record that cannot be read once.
 */
export const openRecords = async (
  bus: Bus,
  firstDataId: () => Promise<number>,
  onInvalid: (key: string, fault: unknown) => void,
): Promise<Records> => {
  const [records, columns, system] = await Promise.all([
    openKvBucket(bus, buckets.records),
    openKvBucket(bus, buckets.columns),
    openKvBucket(bus, buckets.system),
  ]);
  const reportOfDataId = new Map<number, number>();
  const copies: Copy[] = [];
  const set: MakeSet = (keyOf, schema, onKeep) => {
    const made = createRecordSet(records, keyOf, schema, onKeep);
    copies.push(made);
    return made;
  };
  const sets = recordSets(set, (report) => reportOfDataId.set(report.mon_data_id, report.custom_report_id));
  bus.onDisconnect(() => {
    for (const copy of copies) copy.age();
  });
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const unreadable = createUnreadable(onInvalid);
  const watch = records.watch(
    (change) => {
      try {
        for (const copy of copies) copy.apply(change);
        unreadable.delete(change.key);
      } catch (fault) {
        unreadable.add(change.key, fault);
      }
    },
    (keys) => {
      unreadable.keepOnly(keys);
      for (const copy of copies) copy.forgetUnseen(keys);
      resolve();
    },
  );
  return {
    ...sets,
    reportOf: (dataId) => sets.reports.known(reportOfDataId.get(dataId) ?? -1)?.value,
    nextId: createIds(system, firstDataId),
    ...createReservations(records, system),
    bucket: records,
    system,
    columns,
    unreadable,
    ready,
    stop: () => watch.stop(),
  };
};

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { KvBucket } from '../bus/kv.ts';
import { isConflict } from '../bus/kv.ts';
import { columnsKey, dataIdRange, recordKeys, systemKeys } from '../directory/keys.ts';
import { applicationPolicySchema, retentionDaysOf, sourcePolicySchema } from '../directory/policies.ts';
import {
  applicationSchema,
  columnRegistrySchema,
  customReportSchema,
  dataSourceSchema,
  identityCredentialSchema,
  placementSchema,
  previousTokenSchema,
  purgeSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from '../directory/records.ts';
import { type SystemOwners, systemOwners } from '../directory/system-owners.ts';
import { Fault } from '../model/fault.ts';
import { nowSeconds } from '../model/time.ts';
import type { QuestdbTables } from '../stores/questdb/tables.ts';
import { type RecordSet, type Records, type ReservedName, reservedNames } from './records/store.ts';
import { dataIdOfTableId } from './records/values.ts';
import { heldSubscriptionSchema } from './refresh/subscriptions.ts';
import { isGone } from './reports/deletion.ts';
import type { Placing } from './tables/placement.ts';
import { type HasItems, isOnlyOwn, removeUnused } from './unused-records.ts';

const byId = <T extends z.ZodType>(schema: T) =>
  z
    .record(z.string().regex(/^[1-9]\d{0,14}$/), schema)
    .meta({ propertyNames: { pattern: '^[1-9]\\d{0,14}$' } });

const counters = z.strictObject({
  data_id: z.int().nonnegative(),
  custom_report_id: z.int().nonnegative(),
  time_series_group_id: z.int().nonnegative(),
  app_id: z.int().nonnegative(),
});

/**
 * All records of a deployment as one document, each kind by its id: `custom_reports` by custom_report_id, applications and their
 * records by app_id, all others by mon_data_id. It holds the tokens. Admin tokens, the audit log and run records are not in it.
 */
export const backupSchema = z.strictObject({
  format: z.literal('tidemark-records'),
  version: z.literal(1),
  /** Unix seconds. */
  exported_at: z.int(),
  /** The last assigned ids. */
  counters,
  custom_reports: byId(customReportSchema),
  data_sources: byId(dataSourceSchema),
  time_series_groups: byId(timeSeriesGroupSchema),
  result_tables: byId(resultTableSchema),
  /** Missing in documents from before several QuestDB instances: every table is on the first one then. */
  placements: byId(placementSchema).default({}),
  source_policies: byId(sourcePolicySchema),
  previous_tokens: byId(previousTokenSchema),
  /** Missing in documents from before identities outlived tokens. */
  source_identities: byId(identityCredentialSchema).default({}),
  purges: byId(purgeSchema),
  applications: byId(applicationSchema),
  application_policies: byId(applicationPolicySchema),
  previous_application_tokens: byId(previousTokenSchema),
  application_identities: byId(identityCredentialSchema).default({}),
  /** The subscriptions in node management, so that a deployment that was moved continues with them. */
  subscriptions: byId(heldSubscriptionSchema),
  /** The column registries: the column of each name in its table. */
  columns: byId(columnRegistrySchema),
});

export type Backup = z.output<typeof backupSchema>;

type Counter = keyof Backup['counters'];
const counterNames: readonly Counter[] = ['data_id', 'custom_report_id', 'time_series_group_id', 'app_id'];

const allOf = <T>(set: RecordSet<T>): Record<string, T> =>
  Object.fromEntries(set.list().map(({ id, value }) => [String(id), value]));

const registriesOf = async (records: Records): Promise<Backup['columns']> => {
  const registries: Backup['columns'] = {};
  for (const { id } of records.dataSources.list()) {
    const stored = await records.columns.get(columnsKey(id));
    if (stored !== undefined) registries[String(id)] = columnRegistrySchema.parse(stored.value);
  }
  return registries;
};

const subscriptionsOf = async (records: Records): Promise<Backup['subscriptions']> => {
  const subscriptions: Backup['subscriptions'] = {};
  for (const { value } of records.reports.list()) {
    const stored = await records.bucket.get(recordKeys.subscription(value.mon_data_id));
    if (stored === undefined) continue;
    subscriptions[String(value.mon_data_id)] = heldSubscriptionSchema.parse(stored.value);
  }
  return subscriptions;
};

const counterOf = async (records: Records, name: Counter): Promise<number> =>
  z.int().parse((await records.system.get(systemKeys.counter(name)))?.value ?? 0);

/** Removes the records of `tidemark doctor`: another deployment makes its own. */
const withoutSystem = (backup: Backup, { dataIds, appIds }: SystemOwners): Backup => {
  const without = <T>(values: Record<string, T>, ids: ReadonlySet<number>): Record<string, T> =>
    Object.fromEntries(Object.entries(values).filter(([id]) => !ids.has(Number(id))));
  return {
    ...backup,
    custom_reports: Object.fromEntries(
      Object.entries(backup.custom_reports).filter(([, { mon_data_id: id }]) => !dataIds.has(id)),
    ),
    data_sources: without(backup.data_sources, dataIds),
    time_series_groups: without(backup.time_series_groups, dataIds),
    result_tables: without(backup.result_tables, dataIds),
    placements: without(backup.placements, dataIds),
    source_policies: without(backup.source_policies, dataIds),
    previous_tokens: without(backup.previous_tokens, dataIds),
    source_identities: without(backup.source_identities, dataIds),
    purges: without(backup.purges, dataIds),
    applications: without(backup.applications, appIds),
    application_policies: without(backup.application_policies, appIds),
    previous_application_tokens: without(backup.previous_application_tokens, appIds),
    application_identities: without(backup.application_identities, appIds),
    subscriptions: without(backup.subscriptions, dataIds),
    columns: without(backup.columns, dataIds),
  };
};

/** All records, from this process's copies; those of `tidemark doctor` only where they are wanted. Transient Faults. */
export const exportRecords = async (records: Records, isSystemWanted = true): Promise<Backup> => {
  const backup = await readRecords(records);
  return isSystemWanted ? backup : withoutSystem(backup, systemOwners(records));
};

const readRecords = async (records: Records): Promise<Backup> => {
  const last: Backup['counters'] = {
    data_id: await counterOf(records, 'data_id'),
    custom_report_id: await counterOf(records, 'custom_report_id'),
    time_series_group_id: await counterOf(records, 'time_series_group_id'),
    app_id: await counterOf(records, 'app_id'),
  };
  return {
    format: 'tidemark-records',
    version: 1,
    exported_at: nowSeconds(),
    counters: last,
    custom_reports: allOf(records.reports),
    data_sources: allOf(records.dataSources),
    time_series_groups: allOf(records.groups),
    result_tables: allOf(records.tables),
    placements: allOf(records.placements),
    source_policies: allOf(records.sourcePolicies),
    previous_tokens: allOf(records.previousTokens),
    source_identities: allOf(records.sourceIdentities),
    purges: allOf(records.purges),
    applications: allOf(records.applications),
    application_policies: allOf(records.applicationPolicies),
    previous_application_tokens: allOf(records.previousApplicationTokens),
    application_identities: allOf(records.applicationIdentities),
    subscriptions: await subscriptionsOf(records),
    columns: await registriesOf(records),
  };
};

/** One record that the import creates. */
type Wanted = {
  readonly what: string;
  /** The current value, undefined for a missing one. */
  readonly current: () => Promise<unknown>;
  readonly value: unknown;
  readonly create: () => Promise<unknown>;
};

const wantedOf = <T>(set: RecordSet<T>, values: Readonly<Record<string, T>>): Wanted[] =>
  Object.entries(values).map(([id, value]) => ({
    what: `${set.kind}.${id}`,
    current: async () => (await set.get(Number(id)))?.value,
    value,
    create: () => set.create(Number(id), value),
  }));

/** The same for values that no record set has. */
const wantedIn = (
  bucket: KvBucket,
  keyOf: (id: number) => string,
  values: Readonly<Record<string, unknown>>,
): Wanted[] =>
  Object.entries(values).map(([id, value]) => {
    const key = keyOf(Number(id));
    return {
      what: key,
      current: async () => (await bucket.get(key))?.value,
      value,
      create: () => bucket.create(key, value),
    };
  });

/**
 * In the order that is safe for a receiver: the records that let a source in come last, and those that restrict it first. The
 * report comes first, so that no other record gets its name meanwhile.
 */
const allWanted = (records: Records, backup: Backup): Wanted[] => [
  ...wantedOf(records.purges, backup.purges),
  ...wantedOf(records.reports, backup.custom_reports),
  ...wantedOf(records.sourcePolicies, backup.source_policies),
  ...wantedOf(records.sourceIdentities, backup.source_identities),
  ...wantedOf(records.previousTokens, backup.previous_tokens),
  ...wantedOf(records.placements, backup.placements),
  ...wantedIn(records.columns, columnsKey, backup.columns),
  ...wantedIn(records.bucket, recordKeys.subscription, backup.subscriptions),
  ...wantedOf(records.groups, backup.time_series_groups),
  ...wantedOf(records.tables, backup.result_tables),
  ...wantedOf(records.dataSources, backup.data_sources),
  ...wantedOf(records.applicationPolicies, backup.application_policies),
  ...wantedOf(records.applicationIdentities, backup.application_identities),
  ...wantedOf(records.previousApplicationTokens, backup.previous_application_tokens),
  ...wantedOf(records.applications, backup.applications),
];

const mismatch = (what: string): Fault =>
  new Fault('permanent', 'invalid_value', `the document is not an export of Tidemark: ${what}`);

/** Refuses contents that no export has: ids that differ from their keys, ids above the counters, tables of other data ids. */
const checkIds = (backup: Backup): void => {
  const check = <T>(
    kind: string,
    values: Readonly<Record<string, T>>,
    idOf: (value: T) => number | undefined,
  ): void => {
    for (const [id, value] of Object.entries(values)) {
      if (idOf(value) !== Number(id)) throw mismatch(`${kind}.${id} has another id`);
    }
  };
  check('custom_reports', backup.custom_reports, (report) => report.custom_report_id);
  check('data_sources', backup.data_sources, (source) => source.mon_data_id);
  check('time_series_groups', backup.time_series_groups, (group) => group.mon_data_id);
  check('result_tables', backup.result_tables, (table) => dataIdOfTableId(table.table_id));
  check('placements', backup.placements, (placement) => dataIdOfTableId(placement.table_id));
  check('placements', backup.placements, (placement) => placement.mon_data_id);
  check('applications', backup.applications, (application) => application.app_id);
  check('purges', backup.purges, (purge) => purge.mon_data_id);
  check('columns', backup.columns, (registry) => registry.mon_data_id);
  if (leastCounters(backup).data_id > dataIdRange.last) throw mismatch('a data id is out of range');
};

const checkInstances = ({ placements }: Backup, { names }: Placing): void => {
  const unknown = Object.values(placements).find(({ questdb }) => !names.includes(questdb));
  if (unknown === undefined) return;
  throw new Fault(
    'permanent',
    'invalid_value',
    `placements.${unknown.mon_data_id} refers to QuestDB instance ${unknown.questdb}: add it to TIDEMARK_QUESTDB_URLS, or correct the document (known instances: ${names.join(', ')})`,
  );
};

const raiseCounter = async (records: Records, name: Counter, least: number): Promise<void> => {
  const key = systemKeys.counter(name);
  for (;;) {
    const stored = await records.system.get(key);
    if (z.int().parse(stored?.value ?? 0) >= least) return;
    try {
      if (stored === undefined) await records.system.create(key, least);
      else await records.system.update(key, least, stored.revision);
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
};

/** The highest id in use, for a document whose counters are behind it. */
const leastCounters = (backup: Backup): Backup['counters'] => {
  const { counters, data_sources, custom_reports, time_series_groups, applications } = backup;
  const highest = (least: number, ...kinds: readonly number[][]): number =>
    kinds.flat().reduce((most, id) => Math.max(most, id), least);
  const keysOf = (values: object): number[] => Object.keys(values).map(Number);
  // The ids of a report in creation are in no other record yet.
  const reports = Object.values(custom_reports);
  return {
    data_id: highest(
      counters.data_id,
      keysOf(data_sources),
      reports.map((report) => report.mon_data_id),
    ),
    custom_report_id: highest(counters.custom_report_id, keysOf(custom_reports)),
    time_series_group_id: highest(
      counters.time_series_group_id,
      Object.values(time_series_groups).map((group) => group.time_series_group_id),
      reports.map((report) => report.time_series_group_id),
    ),
    app_id: highest(counters.app_id, keysOf(applications)),
  };
};

/** Tables of data ids that were assigned after the export: they keep their rows, so none of these ids may be assigned again. */
const highestTable = async (tables: QuestdbTables): Promise<number> =>
  (await tables.names())
    .map((name) => dataIdOfTableId(name) ?? 0)
    .reduce((most, id) => (id <= dataIdRange.last ? Math.max(most, id) : most), 0);

type HeldName = { readonly name: ReservedName; readonly id: number };

/** The names that the records of the document hold; they follow from the records and are not part of it. */
const heldNames = (backup: Backup): HeldName[] => {
  const reports = Object.values(backup.custom_reports);
  const goneIds = new Set(reports.filter(isGone).map((report) => report.mon_data_id));
  return [
    ...reports
      .filter((report) => !isGone(report))
      .map((report) => ({
        name: reservedNames.report(report.mon_biz_id, report.name),
        id: report.custom_report_id,
      })),
    ...Object.values(backup.data_sources)
      .filter(({ mon_data_id: id }) => !goneIds.has(id) && backup.purges[String(id)] === undefined)
      .map((source) => ({ name: reservedNames.dataName(source.data_name), id: source.mon_data_id })),
    ...Object.values(backup.time_series_groups)
      .filter((group) => !group.is_delete)
      .map((group) => ({
        name: reservedNames.group(group.mon_biz_id, group.time_series_group_name),
        id: group.mon_data_id,
      })),
    ...Object.values(backup.applications)
      .filter((application) => !application.is_delete)
      .map(({ mon_biz_id, app_name, app_id }) => ({
        name: reservedNames.application(mon_biz_id, app_name),
        id: app_id,
      })),
  ];
};

/** Names and lookups of the records. */
const indexRecords = async (records: Records, backup: Backup): Promise<void> => {
  for (const { name, id } of heldNames(backup)) {
    await records.reserve(
      name,
      async () => id,
      async (holder) => (holder === id ? 'own' : 'other'),
    );
  }
  for (const group of Object.values(backup.time_series_groups)) {
    await records.point(recordKeys.groupId(group.time_series_group_id), group.mon_data_id);
  }
  for (const { app_id, token } of Object.values(backup.applications)) {
    const previous = backup.previous_application_tokens[String(app_id)];
    for (const each of [token, ...(previous ? [previous.token] : [])]) {
      await records.point(recordKeys.applicationToken(each), app_id);
    }
  }
};

/** Creates the tables of all data ids that are not purged, with the retention of their policies. */
const makeTables = async (tables: QuestdbTables, backup: Backup): Promise<void> => {
  for (const [id, table] of Object.entries(backup.result_tables)) {
    if (backup.purges[id] !== undefined) continue;
    const layout = backup.time_series_groups[id]?.is_split_measurement ? 'narrow' : 'wide';
    const ttlDays = retentionDaysOf(backup.source_policies[id]);
    await tables.createTable(layout, table.table_id, ttlDays);
  }
};

/** An interrupted import can be finished although the keeper has carried out its purges meanwhile. */
const comparable = (value: unknown): unknown => {
  const state = typeof value === 'object' && value !== null ? Reflect.get(value, 'state') : undefined;
  if (state !== 'purging' && state !== 'purged') return value;
  return { ...Object(value), state: 'purged', last_modify_user: '', last_modify_time: 0 };
};

/** Which records are to be created, and which texts name others that are there. */
const compare = async (
  records: Records,
  backup: Backup,
  wanted: readonly Wanted[],
): Promise<{ missing: Wanted[]; conflicts: string[] }> => {
  const missing: Wanted[] = [];
  const conflicts: string[] = [];
  for (const record of wanted) {
    const current = await record.current();
    if (current === undefined) missing.push(record);
    else if (!isDeepStrictEqual(comparable(current), comparable(record.value))) conflicts.push(record.what);
  }
  for (const { name, id } of heldNames(backup)) {
    const holder = await records.holderOf(name);
    if (holder !== undefined && holder !== id) conflicts.push(name.text);
  }
  return { missing, conflicts };
};

const conflict = (conflicts: readonly string[], isOfDemo: boolean): Fault => {
  const more = conflicts.length > 5 ? ` and ${conflicts.length - 5} more` : '';
  const named = `${conflicts.slice(0, 5).join(', ')}${more}`;
  const why = isOfDemo
    ? '; they are those of the demo and of tidemark doctor, but have received items: import into a new folder, with tidemark up --no-demo'
    : '';
  return new Fault('permanent', 'import_conflict', `other records exist already: ${named}${why}`);
};

/** The result of an import. */
export type Imported = { created: number; unchanged: number };

export type ImportDeps = {
  readonly records: Records;
  readonly tables: QuestdbTables;
  readonly placing: Placing;
  /** Without it no record gives way. */
  readonly hasItems?: HasItems;
};

/**
 * Imports the records of a document into this deployment: existing records with the same values stay, and when one has other
 * values, nothing is written (permanent Fault `import_conflict`); but those that `tidemark up` and `tidemark doctor` made give way where
 * nothing else is there and nothing was sent to them. Tables are created before the records, so that no point reaches a
 * missing table, and placements before the tables. After an interruption, the same call finishes it. Permanent Fault
 * `invalid_value` for a document that contradicts itself.
 */
export const importRecords = async (
  { records, tables, placing, hasItems }: ImportDeps,
  backup: Backup,
): Promise<Imported> => {
  checkIds(backup);
  checkInstances(backup, placing);
  const wanted = allWanted(records, backup);
  let state = await compare(records, backup, wanted);
  if (state.conflicts.length > 0 && hasItems !== undefined && (await removeUnused(records, tables, hasItems)))
    state = await compare(records, backup, wanted);
  const { missing, conflicts } = state;
  if (conflicts.length > 0) throw conflict(conflicts, isOnlyOwn(records));
  const least = leastCounters(backup);
  least.data_id = Math.max(least.data_id, await highestTable(tables));
  for (const name of counterNames) await raiseCounter(records, name, least[name]);
  await indexRecords(records, backup);
  const isPlacement = ({ what }: Wanted): boolean => what.startsWith(`${records.placements.kind}.`);
  for (const record of missing.filter(isPlacement)) await record.create();
  await makeTables(tables, backup);
  for (const record of missing) if (!isPlacement(record)) await record.create();
  return { created: missing.length, unchanged: wanted.length - missing.length };
};

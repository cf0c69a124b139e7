import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { KvBucket } from '../../bus/kv.ts';
import { raiseNumber } from '../../directory/epoch.ts';
import { columnsKey, counterNames, dataIdRange, recordKeys, systemKeys } from '../../directory/keys.ts';
import { retentionDaysOf } from '../../directory/policies.ts';
import { columnRegistrySchema } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import type { ColumnRegistry, RegisteredName } from '../../model/records.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import { type RecordSet, type Records, type ReservedName, reservedNames } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';
import { heldSubscriptionSchema, type Subscription } from '../refresh/subscriptions.ts';
import { isGone } from '../reports/deletion.ts';
import type { Placing } from '../tables/placement.ts';
import { type HasItems, isOnlyOwn, removeUnused } from '../unused-records.ts';
import type { Backup } from './document.ts';

/** One record that the import creates. */
type Wanted = {
  readonly what: string;
  /** The current value, undefined for a missing one. */
  readonly current: () => Promise<unknown>;
  /** Whether a current value is that of the document, but for what the deployment has changed of its own accord since. */
  readonly isThere: (current: unknown) => boolean;
  readonly create: () => Promise<unknown>;
};

/** Without what the deployment itself writes: the keeper carries purges out, and a policy remembers what its retentions have removed. */
const comparable = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  const { removed_before_day: _, ...rest }: Record<string, unknown> = Object(value);
  if (rest['state'] !== 'purging' && rest['state'] !== 'purged') return rest;
  return { ...rest, state: 'purged', last_modify_user: '', last_modify_time: 0 };
};

const wantedOf = <T>(set: RecordSet<T>, values: Readonly<Record<string, T>>): Wanted[] =>
  Object.entries(values).map(([id, value]) => ({
    what: `${set.kind}.${id}`,
    current: async () => (await set.get(Number(id)))?.value,
    isThere: (current) => isDeepStrictEqual(comparable(current), comparable(value)),
    create: () => set.create(Number(id), value),
  }));

/** The same for values that no record set has. */
const wantedIn = <T>(
  bucket: KvBucket,
  keyOf: (id: number) => string,
  schema: z.ZodType<T>,
  values: Readonly<Record<string, T>>,
  isThere: (current: T, value: T) => boolean,
): Wanted[] =>
  Object.entries(values).map(([id, value]) => {
    const key = keyOf(Number(id));
    return {
      what: key,
      current: async () => (await bucket.get(key))?.value,
      isThere: (current) => {
        const parsed = schema.safeParse(current);
        return parsed.success && isThere(parsed.data, value);
      },
      create: () => bucket.create(key, value),
    };
  });

const hasNames = (current: readonly RegisteredName[], wanted: readonly RegisteredName[]): boolean => {
  const columns = new Map(current.map(({ name, column }) => [name, column]));
  return wanted.every(({ name, column }) => columns.get(name) === column);
};

/** Receivers add names and write when they saw one; metadata marks full dimensions. */
const hasColumns = (current: ColumnRegistry, wanted: ColumnRegistry): boolean =>
  hasNames(current.metrics, wanted.metrics) && hasNames(current.dimensions, wanted.dimensions);

/** The refresh job brings it in step with the settings of this deployment. */
const isOfReport = (current: Subscription, wanted: Subscription): boolean =>
  current.custom_report_id === wanted.custom_report_id && current.mon_biz_id === wanted.mon_biz_id;

/**
 * In the order that is safe for a receiver: the records that let a source in come last, and those that restrict it first. The
 * report comes first, so that no other record gets its name meanwhile, and the group before the registry, whose views need it.
 * A subscription comes after a record of its data id and before its data source: so the refresh job knows that records are
 * still to come, and creates no second one.
 */
const allWanted = (records: Records, backup: Backup): Wanted[] => [
  ...wantedOf(records.purges, backup.purges),
  ...wantedOf(records.reports, backup.custom_reports),
  ...wantedOf(records.sourcePolicies, backup.source_policies),
  ...wantedOf(records.sourceIdentities, backup.source_identities),
  ...wantedOf(records.previousTokens, backup.previous_tokens),
  ...wantedOf(records.placements, backup.placements),
  ...wantedOf(records.groups, backup.time_series_groups),
  ...wantedOf(records.tables, backup.result_tables),
  ...wantedIn(records.columns, columnsKey, columnRegistrySchema, backup.columns, hasColumns),
  ...wantedIn(
    records.bucket,
    recordKeys.subscription,
    heldSubscriptionSchema,
    backup.subscriptions,
    isOfReport,
  ),
  ...wantedOf(records.dataSources, backup.data_sources),
  ...wantedOf(records.applicationPolicies, backup.application_policies),
  ...wantedOf(records.applicationIdentities, backup.application_identities),
  ...wantedOf(records.previousApplicationTokens, backup.previous_application_tokens),
  ...wantedOf(records.applications, backup.applications),
];

const mismatch = (what: string): Fault =>
  new Fault('permanent', 'invalid_value', `the document is not an export of Tidemark: ${what}`);

/** No deployment comes near it, and the paths of the API take a thousand times as much. */
const idMax = 999_999_999_999;

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
  const least = leastCounters(backup);
  if (least.data_id > dataIdRange.last) throw mismatch('a data id is out of range');
  // Counters only rise: one near the end of what an id may be leaves no id for any record to come.
  for (const name of counterNames)
    if (least[name] > idMax) throw mismatch(`counters.${name}, or an id of it, is above ${idMax}`);
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

/** A token or a number by which a record is found; `text` names it without a secret. */
type Lookup = { readonly key: string; readonly id: number; readonly text: string; readonly kind: string };

/** The lookups of the records, which are not part of the document either. */
const lookupsOf = (backup: Backup): Lookup[] => [
  ...Object.values(backup.time_series_groups).map((group) => ({
    key: recordKeys.groupId(group.time_series_group_id),
    id: group.mon_data_id,
    text: `time_series_group_id ${group.time_series_group_id}`,
    kind: 'time_series_group',
  })),
  ...Object.values(backup.applications).flatMap(({ app_id: id, token }) => {
    const previous = backup.previous_application_tokens[String(id)];
    const held = [{ text: 'token', token }];
    if (previous !== undefined) held.push({ text: 'previous token', token: previous.token });
    return held.map((each) => ({
      key: recordKeys.applicationToken(each.token),
      ...{ id, text: each.text, kind: 'application' },
    }));
  }),
];

/** Refuses a document in which two records hold one name, token or number: one of them would get what is the other's. */
const checkHeldOnce = (backup: Backup): void => {
  const held = [
    ...heldNames(backup).map(({ name, id }) => ({ key: name.key, id, text: name.text })),
    ...lookupsOf(backup).map(({ key, id, text, kind }) => ({ key, id, text: `${text} of ${kind}.${id}` })),
  ];
  const ids = new Map<string, number>();
  for (const { key, id, text } of held) {
    const other = ids.get(key);
    if (other !== undefined && other !== id) throw mismatch(`${text} is that of ${other} and of ${id}`);
    ids.set(key, id);
  }
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
  for (const { key, id } of lookupsOf(backup)) await records.point(key, id);
};

/** QuestDB makes some 14 a second one after another. */
const tablesAtOnce = 8;

/** Creates the tables of all data ids that are not purged, with the retention of their policies. */
const makeTables = async (tables: QuestdbTables, backup: Backup): Promise<void> => {
  const wanted = Object.entries(backup.result_tables).filter(([id]) => backup.purges[id] === undefined);
  for (let first = 0; first < wanted.length; first += tablesAtOnce) {
    const some = wanted.slice(first, first + tablesAtOnce).map(([id, table]) => {
      const layout = backup.time_series_groups[id]?.is_split_measurement ? 'narrow' : 'wide';
      return tables.createTable(layout, table.table_id, retentionDaysOf(backup.source_policies[id]));
    });
    // None goes on behind an answer that the import has failed.
    const failed = (await Promise.allSettled(some)).find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
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
    else if (!record.isThere(current)) conflicts.push(record.what);
  }
  for (const { name, id } of heldNames(backup)) {
    const holder = await records.holderOf(name);
    if (holder !== undefined && holder !== id) conflicts.push(name.text);
  }
  for (const { key, id, text, kind } of lookupsOf(backup)) {
    const holder = await records.lookUp(key);
    if (holder !== undefined && holder !== id) conflicts.push(`${kind}.${holder}, whose ${text} ${id} has`);
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

export type Imported = { created: number; unchanged: number };

export type ImportDeps = {
  readonly records: Records;
  readonly tables: QuestdbTables;
  readonly placing: Placing;
  /** Without it no record gives way. */
  readonly hasItems?: HasItems;
};

/**
 * Imports the records of a document into this deployment: existing records with the same values stay, also with what
 * receivers, the keeper and the refresh job have written to them since, and when one has other values, or another record its name,
 * token or group id, nothing is written (permanent Fault `import_conflict`); but those that `tidemark up` and `tidemark doctor` made
 * give way where nothing else is there and nothing was sent to them. Tables are created before the records, so that no point
 * reaches a missing table, and placements before the tables. After an interruption, the same call finishes it. Permanent Fault
 * `invalid_value` for a document that contradicts itself.
 */
export const importRecords = async (
  { records, tables, placing, hasItems }: ImportDeps,
  backup: Backup,
): Promise<Imported> => {
  checkIds(backup);
  checkHeldOnce(backup);
  checkInstances(backup, placing);
  const wanted = allWanted(records, backup);
  let state = await compare(records, backup, wanted);
  if (state.conflicts.length > 0 && hasItems !== undefined && (await removeUnused(records, tables, hasItems)))
    state = await compare(records, backup, wanted);
  const { missing, conflicts } = state;
  if (conflicts.length > 0) throw conflict(conflicts, isOnlyOwn(records));
  const least = leastCounters(backup);
  least.data_id = Math.max(least.data_id, await highestTable(tables));
  for (const name of counterNames) {
    const key = systemKeys.counter(name);
    // A counter that is no number would begin again, and give ids that are taken.
    z.int().parse((await records.system.get(key))?.value ?? 0);
    await raiseNumber(records.system, key, (last) => Math.max(last, least[name]));
  }
  await indexRecords(records, backup);
  const isPlacement = ({ what }: Wanted): boolean => what.startsWith(`${records.placements.kind}.`);
  for (const record of missing.filter(isPlacement)) await record.create();
  await makeTables(tables, backup);
  for (const record of missing) if (!isPlacement(record)) await record.create();
  return { created: missing.length, unchanged: wanted.length - missing.length };
};

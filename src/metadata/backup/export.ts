import { z } from 'zod';
import { type CounterName, columnsKey, recordKeys, systemKeys } from '../../directory/keys.ts';
import { columnRegistrySchema } from '../../directory/records.ts';
import { type SystemOwners, systemOwners } from '../../directory/system-owners.ts';
import { nowSeconds } from '../../model/time.ts';
import type { RecordSet, Records } from '../records/store.ts';
import { heldSubscriptionSchema } from '../refresh/subscriptions.ts';
import type { Backup } from './document.ts';

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
  // Not the reports: those that were made step by step have no record of one.
  for (const { id } of records.dataSources.list()) {
    const stored = await records.bucket.get(recordKeys.subscription(id));
    if (stored !== undefined) subscriptions[String(id)] = heldSubscriptionSchema.parse(stored.value);
  }
  return subscriptions;
};

const counterOf = async (records: Records, name: CounterName): Promise<number> =>
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

import { z } from 'zod';
import type { KvBucket } from '../../bus/kv.ts';
import { type CounterName, columnsKey, recordKeys, systemKeys } from '../../directory/keys.ts';
import { columnRegistrySchema } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import type { RecordSet, Records } from '../records/store.ts';
import { heldSubscriptionSchema } from '../refresh/subscriptions.ts';
import type { Backup } from './document.ts';

/** The records of a kind by id, without those that `isLeftOut` names. */
const allOf = <T>(set: RecordSet<T>, isLeftOut: (id: number, value: T) => boolean): Record<string, T> =>
  Object.fromEntries(
    set.list().flatMap(({ id, value }) => (isLeftOut(id, value) ? [] : [[String(id), value]])),
  );

/** A document without a record would restore an installation without its owner. */
const incomplete = (why: string): Fault =>
  new Fault('internal', 'record_invalid', `nothing is exported: ${why}; repair or delete it`);

/** What a bucket has of these ids, for values that no record set has. */
const allIn = async <T>(
  bucket: KvBucket,
  keyOf: (id: number) => string,
  schema: z.ZodType<T>,
  ids: readonly string[],
): Promise<Record<string, T>> => {
  const values: Record<string, T> = {};
  for (const id of ids) {
    const stored = await bucket.get(keyOf(Number(id)));
    if (stored === undefined) continue;
    const read = schema.safeParse(stored.value);
    if (!read.success) throw incomplete(`the record ${keyOf(Number(id))} cannot be read`);
    values[id] = read.data;
  }
  return values;
};

/**
 * All records, from this process's copies; those of `tidemark doctor` only where they are wanted: another deployment makes its own.
 * Transient Faults, and internal `record_invalid` with the names of records that cannot be read.
 */
export const exportRecords = async (records: Records, isSystemWanted = true): Promise<Backup> => {
  await records.ready;
  const { problem } = records.unreadable;
  if (problem !== undefined) throw incomplete(problem);
  const counterOf = async (name: CounterName): Promise<number> =>
    z.int().parse((await records.system.get(systemKeys.counter(name)))?.value ?? 0);
  const counters = {
    data_id: await counterOf('data_id'),
    custom_report_id: await counterOf('custom_report_id'),
    time_series_group_id: await counterOf('time_series_group_id'),
    app_id: await counterOf('app_id'),
  };
  const own = systemOwners(records);
  const isLeftOut = (id: number): boolean => !isSystemWanted && own.dataIds.has(id);
  const isAppLeftOut = (id: number): boolean => !isSystemWanted && own.appIds.has(id);
  const sources = allOf(records.dataSources, isLeftOut);
  // Not the reports: those that were made step by step have no record of one.
  const dataIds = Object.keys(sources);
  return {
    format: 'tidemark-records',
    version: 1,
    exported_at: nowSeconds(),
    counters,
    custom_reports: allOf(records.reports, (_, { mon_data_id }) => isLeftOut(mon_data_id)),
    data_sources: sources,
    time_series_groups: allOf(records.groups, isLeftOut),
    result_tables: allOf(records.tables, isLeftOut),
    placements: allOf(records.placements, isLeftOut),
    source_policies: allOf(records.sourcePolicies, isLeftOut),
    previous_tokens: allOf(records.previousTokens, isLeftOut),
    source_identities: allOf(records.sourceIdentities, isLeftOut),
    purges: allOf(records.purges, isLeftOut),
    applications: allOf(records.applications, isAppLeftOut),
    application_policies: allOf(records.applicationPolicies, isAppLeftOut),
    previous_application_tokens: allOf(records.previousApplicationTokens, isAppLeftOut),
    application_identities: allOf(records.applicationIdentities, isAppLeftOut),
    subscriptions: await allIn(records.bucket, recordKeys.subscription, heldSubscriptionSchema, dataIds),
    columns: await allIn(records.columns, columnsKey, columnRegistrySchema, dataIds),
  };
};

import { z } from 'zod';
import type { KvBucket } from '../bus/kv.ts';
import { createColumnNames } from './column-names.ts';
import { columnsKey, recordKeys } from './keys.ts';
import type { SourceRules } from './rules.ts';
import { createSources, type Source } from './sources.ts';

/** Whether a receiver accepts the items of a data id or an application, and if not, the reason. */
export type OwnerState = 'enabled' | 'disabled' | 'deleted' | 'purged';

export type SourceNow = { readonly source: Source; readonly state: OwnerState };

export type ApplicationNow = { readonly appId: number; readonly bizId: number; readonly state: OwnerState };

/**
 * Reads of the present state of KV, for processes without a copy of the directory. Every call may throw transient
 * Faults.
 */
export type Owners = {
  /** Undefined where a record of the data id is missing. */
  source(dataId: number): Promise<SourceNow | undefined>;
  application(appId: number): Promise<ApplicationNow | undefined>;
  /** Registers names within the limits of the source's rules; the next read has them. */
  register(source: Source, metrics: readonly string[], dimensions: readonly string[]): Promise<void>;
};

const deletedSchema = z.object({ is_delete: z.boolean() });

const applicationSchema = z.object({
  app_id: z.number(),
  mon_biz_id: z.number(),
  is_enable: z.boolean(),
  is_delete: z.boolean(),
});

const isDeleted = (record: unknown): boolean => deletedSchema.safeParse(record).data?.is_delete === true;

/** `rules`: the rules of a data id without a policy. */
export const createOwners = (
  { records, columns }: { readonly records: KvBucket; readonly columns: KvBucket },
  rules: SourceRules,
  now: () => number,
): Owners => ({
  source: async (dataId) => {
    const sources = createSources(rules);
    const read = async (bucket: KvBucket, key: string): Promise<unknown> => {
      const value = (await bucket.get(key))?.value;
      if (value !== undefined) sources.apply(key, value);
      return value;
    };
    const [purge, group] = await Promise.all([
      read(records, recordKeys.purge(dataId)),
      read(records, recordKeys.group(dataId)),
      read(records, recordKeys.dataSource(dataId)),
      read(records, recordKeys.table(dataId)),
      read(records, recordKeys.placement(dataId)),
      read(records, recordKeys.sourcePolicy(dataId)),
      read(columns, columnsKey(dataId)),
    ]);
    const source = sources.get(dataId);
    if (source === undefined) return undefined;
    const refused = isDeleted(group) ? 'deleted' : 'disabled';
    if (purge !== undefined) return { source, state: 'purged' };
    return { source, state: source.isEnabled ? 'enabled' : refused };
  },
  application: async (appId) => {
    const stored = await records.get(recordKeys.application(appId));
    if (stored === undefined) return undefined;
    const { app_id, mon_biz_id: bizId, is_enable, is_delete } = applicationSchema.parse(stored.value);
    const refused = is_delete ? 'deleted' : 'disabled';
    return { appId: app_id, bizId, state: is_enable && !is_delete ? 'enabled' : refused };
  },
  register: async (source, metrics, dimensions) => {
    const register = createColumnNames(columns, { applyRegistry: () => undefined }, now);
    await register(source, source.rules, metrics, dimensions);
  },
});

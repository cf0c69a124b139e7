import type { KvBucket } from '../../../src/bus/kv.ts';
import { recordKeys } from '../../../src/directory/keys.ts';
import type { ApplicationPolicy, SourcePolicy } from '../../../src/directory/policies.ts';
import type { Purge } from '../../../src/directory/records.ts';
import type { RuleDefaults } from '../../../src/directory/rules.ts';
import { defaultItemLimits } from '../../../src/wire/otlp/types.ts';

/** Rules that no policy of a test sets by chance. */
export const defaultRules: RuleDefaults = {
  source: {
    time: { aheadMsMax: 3_600_000, ageMsMax: undefined },
    pointsMax: 50_000,
    metricsMax: 512,
    dimensionsMax: 64,
  },
  application: {
    traces: {
      time: { aheadMsMax: 3_600_000, ageMsMax: undefined, ttlSeconds: undefined },
      limits: defaultItemLimits,
      seriesMax: undefined,
    },
    logs: {
      time: { aheadMsMax: 1_800_000, ageMsMax: undefined, ttlSeconds: undefined },
      limits: { ...defaultItemLimits, itemsMax: 40_000, valueBytesMax: 262_144 },
      seriesMax: undefined,
    },
    otel_metrics: {
      time: { aheadMsMax: 2_400_000, ageMsMax: undefined, ttlSeconds: undefined },
      limits: { ...defaultItemLimits, itemsMax: 30_000 },
      seriesMax: 20_000,
    },
  },
};

/** Writes what receivers read, key by key, the way metadata does. */
export const createRecordWriter = (records: KvBucket) => ({
  /** The records of an enabled data id. */
  source: async (dataId: number, token: string): Promise<void> => {
    await records.put(recordKeys.table(dataId), {
      table_id: `2_mon_time_series_${dataId}.__default__`,
      is_enable: true,
      is_deleted: false,
    });
    await records.put(recordKeys.group(dataId), {
      is_enable: true,
      is_delete: false,
      max_rate: 0,
      is_split_measurement: false,
    });
    await records.put(recordKeys.dataSource(dataId), { token, is_enable: true, type_label: 'time_series' });
  },
  application: async (appId: number, token: string): Promise<void> => {
    await records.put(recordKeys.applicationToken(token), appId);
    await records.put(recordKeys.application(appId), {
      app_id: appId,
      mon_biz_id: 2,
      token,
      is_enable: true,
      is_delete: false,
      max_rate: 0,
    });
  },
  sourcePolicy: (dataId: number, policy: SourcePolicy) =>
    records.put(recordKeys.sourcePolicy(dataId), policy),
  applicationPolicy: (appId: number, policy: ApplicationPolicy) =>
    records.put(recordKeys.applicationPolicy(appId), policy),
  /** Changes fields of an existing record. */
  edit: async (key: string, change: Record<string, unknown>): Promise<void> => {
    const stored = await records.get(key);
    if (typeof stored?.value !== 'object') throw new Error(`there is no ${key}`);
    await records.update(key, { ...stored.value, ...change }, stored.revision);
  },
  /** Both steps of a rotation, in their order; the old token is taken until `expiresAt`, Unix seconds. */
  rotateSource: async (dataId: number, from: string, to: string, expiresAt: number): Promise<void> => {
    await records.put(recordKeys.previousToken(dataId), { token: from, expires_at: expiresAt });
    const stored = await records.get(recordKeys.dataSource(dataId));
    await records.put(recordKeys.dataSource(dataId), { ...Object(stored?.value), token: to });
  },
  rotateApplication: async (appId: number, from: string, to: string, expiresAt: number): Promise<void> => {
    await records.put(recordKeys.previousApplicationToken(appId), { token: from, expires_at: expiresAt });
    await records.put(recordKeys.applicationToken(to), appId);
    const stored = await records.get(recordKeys.application(appId));
    await records.put(recordKeys.application(appId), { ...Object(stored?.value), token: to });
  },
  purge: (dataId: number, tableId: string) => {
    const purge: Purge = {
      mon_data_id: dataId,
      table_id: tableId,
      state: 'purging',
      requested_at: Date.now(),
      requested_by: 'test',
    };
    return records.put(recordKeys.purge(dataId), purge);
  },
});

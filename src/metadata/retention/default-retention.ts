import { isConflict, type KvBucket } from '../../bus/kv.ts';
import { retentionRecordSchema, systemKeys } from '../../directory/keys.ts';

/** The default of an installation that begins now. */
const newInstallationDays = 90;

const counters = (['data_id', 'custom_report_id', 'time_series_group_id', 'app_id'] as const).map(
  systemKeys.counter,
);

const isNew = async (system: KvBucket): Promise<boolean> => {
  for (const key of counters) if ((await system.get(key)) !== undefined) return false;
  return true;
};

/**
 * The days that rows of what is created from now on are kept; undefined: for ever. That is the setting, and without one the default
 * that the installation began with: 90 days, or for ever where it had records before it knew of a default. Throws the Faults of KV.
 */
export const readDefaultRetention = async (
  system: KvBucket,
  setting: number | 'off' | undefined,
): Promise<number | undefined> => {
  let stored = await system.get(systemKeys.retention);
  if (stored === undefined) {
    const days = (await isNew(system)) ? newInstallationDays : null;
    await system.create(systemKeys.retention, { days }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
    stored = await system.get(systemKeys.retention);
  }
  if (setting !== undefined) return setting === 'off' ? undefined : setting;
  return retentionRecordSchema.parse(stored?.value ?? { days: null }).days ?? undefined;
};

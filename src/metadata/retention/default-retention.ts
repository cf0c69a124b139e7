import { type KvBucket, unlessConflict } from '../../bus/kv.ts';
import { counterNames, retentionRecordSchema, systemKeys } from '../../directory/keys.ts';

/** The default of an installation that begins now. */
const newInstallationDays = 90;

const isNew = async (system: KvBucket): Promise<boolean> => {
  for (const name of counterNames)
    if ((await system.get(systemKeys.counter(name))) !== undefined) return false;
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
    await unlessConflict(system.create(systemKeys.retention, { days }));
    stored = await system.get(systemKeys.retention);
  }
  if (setting !== undefined) return setting === 'off' ? undefined : setting;
  return retentionRecordSchema.parse(stored?.value ?? { days: null }).days ?? undefined;
};

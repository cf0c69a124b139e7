import type { KvBucket, Stored } from '../bus/kv.ts';
import type { ColumnRegistry } from '../model/records.ts';
import { columnsKey } from './keys.ts';
import { columnRegistrySchema } from './records.ts';

/** The registry of a table as it is stored; without names where it has none yet. */
export const registryIn = (stored: Stored | undefined, dataId: number): ColumnRegistry =>
  stored === undefined
    ? { mon_data_id: dataId, metrics: [], dimensions: [] }
    : columnRegistrySchema.parse(stored.value);

/** The same from KV. Transient Faults. */
export const readRegistry = async (columns: Pick<KvBucket, 'get'>, dataId: number): Promise<ColumnRegistry> =>
  registryIn(await columns.get(columnsKey(dataId)), dataId);

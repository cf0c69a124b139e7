import type { KvBucket } from '../bus/kv.ts';
import { isConflict } from '../bus/kv.ts';
import { Fault } from '../model/fault.ts';
import type { ColumnRegistry } from '../model/records.ts';
import { type ColumnCaps, registerNames } from '../wire/column-naming.ts';
import type { Directory } from './directory.ts';
import { columnsKey } from './keys.ts';
import { columnRegistrySchema } from './records.ts';
import type { Source } from './sources.ts';

/** Registers names for a source and returns the source with them; names beyond these limits stay unregistered. */
export type RegisterColumnNames = (
  source: Source,
  caps: ColumnCaps,
  metrics: readonly string[],
  dimensions: readonly string[],
) => Promise<Source>;

const triesMax = 50;

/**
 * Compare-and-set on the registry's key: a process that loses reads again, so every process agrees on the first name.
 * Throws a transient Fault when KV does not answer.
 */
export const createColumnNames =
  (columns: KvBucket, directory: Pick<Directory, 'applyRegistry'>, now: () => number): RegisterColumnNames =>
  async (source, caps, metrics, dimensions) => {
    const key = columnsKey(source.dataId);
    for (let tries = 0; tries < triesMax; tries++) {
      const stored = await columns.get(key);
      const registry: ColumnRegistry =
        stored === undefined
          ? { mon_data_id: source.dataId, metrics: [], dimensions: [] }
          : columnRegistrySchema.parse(stored.value);
      const nowSeconds = Math.floor(now() / 1000);
      const next = registerNames(
        registry,
        source.layout,
        source.tableId,
        caps,
        metrics,
        dimensions,
        nowSeconds,
      );
      try {
        if (next !== registry) {
          if (stored === undefined) await columns.create(key, next);
          else await columns.update(key, next, stored.revision);
        }
        return directory.applyRegistry(next) ?? source;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    throw new Fault('transient', 'kv_contended', 'too many concurrent changes of the column registry');
  };

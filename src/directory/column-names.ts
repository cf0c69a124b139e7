import { type KvBucket, untilWritten } from '../bus/kv.ts';
import { type ColumnCaps, registerNames } from '../wire/column-naming.ts';
import { registryIn } from './column-registry.ts';
import type { Directory } from './directory.ts';
import { columnsKey } from './keys.ts';
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
  (source, caps, metrics, dimensions) => {
    const key = columnsKey(source.dataId);
    return untilWritten('the column registry', triesMax, async () => {
      const stored = await columns.get(key);
      const registry = registryIn(stored, source.dataId);
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
      if (next !== registry) {
        if (stored === undefined) await columns.create(key, next);
        else await columns.update(key, next, stored.revision);
      }
      return directory.applyRegistry(next) ?? source;
    });
  };

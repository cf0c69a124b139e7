import type { Change, KvBucket } from '../bus/kv.ts';
import type { Layout } from '../model/records.ts';
import { type FoundColumns, recoverNames } from '../wire/column-recovery.ts';
import { readRegistry } from './column-registry.ts';
import { columnsKey, recordKeys } from './keys.ts';
import { readPlacementSchema } from './placements.ts';
import { resultTableSchema, timeSeriesGroupSchema } from './records.ts';

/** A table whose columns are read. */
export type RestoredTable = { readonly tableId: string; readonly layout: Layout; readonly questdb: string };

/** Undefined if the table does not exist, or its QuestDB instance is unknown. */
export type ReadColumns = (table: RestoredTable) => Promise<FoundColumns | undefined>;

const tableSchema = resultTableSchema.pick({ table_id: true });
const groupSchema = timeSeriesGroupSchema.pick({ is_split_measurement: true });

/** Everything in a bucket. */
const readAll = (bucket: KvBucket): Promise<ReadonlyMap<string, unknown>> =>
  new Promise((resolve) => {
    const values = new Map<string, unknown>();
    const take = ({ key, value }: Change): void => {
      values.set(key, value);
    };
    const watch = bucket.watch(take, () => {
      resolve(values);
      queueMicrotask(() => watch.stop());
    });
  });

/**
 * Adds the columns of newer tables to restored column registries: names that were first seen after the backup keep the
 * columns that they made. Call it before any role starts. Returns the number of added names. Transient Faults.
 */
export const recoverColumnNames = async (
  buckets: { readonly records: KvBucket; readonly columns: KvBucket },
  readColumns: ReadColumns,
  nowMs: number,
): Promise<number> => {
  const records = await readAll(buckets.records);
  let recovered = 0;
  for (const [key, value] of records) {
    const [, id] = /^table\.(\d{1,15})$/.exec(key) ?? [];
    const table = tableSchema.safeParse(value).data;
    const group = groupSchema.safeParse(records.get(recordKeys.group(Number(id)))).data;
    if (id === undefined || table === undefined || group === undefined) continue;
    const dataId = Number(id);
    const layout = group.is_split_measurement ? 'narrow' : 'wide';
    const { questdb } = readPlacementSchema.parse(
      records.get(recordKeys.placement(dataId)) ?? { questdb: 'default' },
    );
    const found = await readColumns({ tableId: table.table_id, layout, questdb });
    if (found === undefined) continue;
    const registry = await readRegistry(buckets.columns, dataId);
    const next = recoverNames(registry, layout, table.table_id, found, Math.floor(nowMs / 1000));
    if (next === registry) continue;
    await buckets.columns.put(columnsKey(dataId), next);
    recovered += next.metrics.length + next.dimensions.length;
    recovered -= registry.metrics.length + registry.dimensions.length;
  }
  return recovered;
};

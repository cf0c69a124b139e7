import { isConflict, type KvBucket } from '../../bus/kv.ts';
import { columnsKey } from '../../directory/keys.ts';
import { columnRegistrySchema } from '../../directory/records.ts';
import { errorText } from '../../model/fault.ts';
import type { RegisteredName } from '../../model/records.ts';
import { nowSeconds } from '../../model/time.ts';
import { type Rounds, startRounds } from '../../runtime/rounds.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { readDistinctValues } from '../../stores/questdb/table-figures.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Records } from '../records/store.ts';
import { knownInstanceOf, type PlacedInstance } from './placement.ts';

const everyMs = 20_000;

type Deps = {
  readonly columns: KvBucket;
  readonly records: Pick<Records, 'groups' | 'placements'>;
  readonly instances: readonly Pick<PlacedInstance, 'name' | 'sql'>[];
  /** Whether an instance does not answer now: its tables wait for the next look. */
  readonly isAway: (instance: string) => boolean;
  /** Distinct values of a dimension in a table; 0: any number. */
  readonly valuesMax: number;
  readonly log: Pick<Log, 'warn' | 'info' | 'debug'>;
};

/** The dimension with its mark as its number of values demands. */
const marked = (entry: RegisteredName, values: number, valuesMax: number): RegisteredName => {
  const isFull = valuesMax > 0 && values >= valuesMax;
  if (isFull === (entry.full_since !== undefined)) return entry;
  const { full_since: _, ...open } = entry;
  return isFull ? { ...entry, full_since: nowSeconds() } : open;
};

/** Marks the dimensions of one table in its registry, which receivers follow. */
const lookAtTable = async (
  { columns, valuesMax, log }: Deps,
  sql: QuestdbSql,
  dataId: number,
  tableId: string,
): Promise<void> => {
  const key = columnsKey(dataId);
  const stored = await columns.get(key);
  if (stored === undefined) return;
  const registry = columnRegistrySchema.parse(stored.value);
  if (registry.dimensions.length === 0) return;
  const values = await readDistinctValues(sql, tableId);
  const dimensions = registry.dimensions.map((entry) =>
    marked(entry, values.get(entry.column.toLowerCase()) ?? 0, valuesMax),
  );
  const changed = dimensions.filter((entry, index) => entry !== registry.dimensions[index]);
  if (changed.length === 0) return;
  await columns.update(key, { ...registry, dimensions }, stored.revision);
  for (const { name, full_since: since } of changed) {
    const about = { mon_data_id: dataId, dimension: name, values_max: valuesMax };
    if (since === undefined) log.info(about, 'a dimension takes values into its column again');
    else log.warn(about, 'a dimension has too many values: further points keep its value in more_dimensions');
  }
};

const lookAtInstance = async (
  deps: Deps,
  { name, sql }: Deps['instances'][number],
  isStopped: () => boolean,
): Promise<void> => {
  const { records, isAway, log } = deps;
  for (const { value: group } of records.groups.list()) {
    const dataId = group.mon_data_id;
    if (group.is_delete || knownInstanceOf(records, dataId) !== name) continue;
    // One that is away would be waited for with each of its tables.
    if (isStopped() || isAway(name)) return;
    await lookAtTable(deps, sql, dataId, group.table_id).catch((error: unknown) => {
      // A receiver registered a name meanwhile: the next look marks it.
      if (!isConflict(error))
        log.debug({ mon_data_id: dataId, error: errorText(error) }, 'the values of dimensions were not read');
    });
  }
};

/** Looks at every table once. One that cannot be read hides none of the others, and an instance that hangs delays no other. */
export const lookAtDimensions = async (deps: Deps, isStopped: () => boolean): Promise<void> => {
  await Promise.all(deps.instances.map((instance) => lookAtInstance(deps, instance, isStopped)));
};

/**
 * Bounds the distinct values of a dimension, which QuestDB keeps for as long as the table: a dimension with `valuesMax` of them is
 * marked in the registry, and receivers then write its values into more_dimensions. Nothing is lost. A bound that is raised
 * removes the mark.
 */
export const boundDimensions = (deps: Deps): Rounds =>
  startRounds(async (signal) => {
    await lookAtDimensions(deps, () => signal.aborted);
    return everyMs;
  });

import { setTimeout as delay } from 'node:timers/promises';
import type { KvBucket } from '../../bus/kv.ts';
import { readRegistry } from '../../directory/column-registry.ts';
import { columnsKey } from '../../directory/keys.ts';
import { columnRegistrySchema } from '../../directory/records.ts';
import { errorText, Fault } from '../../model/fault.ts';
import type { ColumnRegistry } from '../../model/records.ts';
import { backOffMs } from '../../runtime/back-off.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Records } from '../records/store.ts';
import { knownInstanceOf } from './placement.ts';

const backOff = { firstMs: 500, mostMs: 5_000 };
const viewsAtOnce = 8;

/** Creates the views of split tables. */
export type ViewKeeper = {
  /** Resolves when all registries there are were read for the first time. */
  readonly ready: Promise<void>;
  /** Makes all views of a table again: it came back without them. */
  remake(dataId: number): void;
  /** Ends the watch and waits for the view that is being made. */
  stop(): Promise<void>;
};

type Deps = {
  readonly columns: KvBucket;
  readonly records: Pick<Records, 'groups' | 'placements'>;
  readonly tables: Pick<QuestdbTables, 'createMetricView'>;
  /** Whether a QuestDB instance does not answer now: its views wait until it does. */
  readonly isAway: (instance: string) => boolean;
  readonly log: Log;
};

const makeViews = async (
  deps: Deps,
  made: Map<number, Set<string>>,
  signal: AbortSignal,
  dataId: number,
  given: ColumnRegistry | undefined,
): Promise<void> => {
  const registry = given ?? (await readRegistry(deps.columns, dataId));
  const done = made.get(dataId) ?? new Set<string>();
  made.set(dataId, done);
  const missing = registry.metrics.filter(({ name }) => !done.has(name));
  if (missing.length === 0) return;
  const group = (await deps.records.groups.get(dataId))?.value;
  // In an import that was interrupted, or on a replica that is behind, the group comes later.
  if (group === undefined)
    throw new Fault('transient', 'group_missing', 'its time series group is not there yet');
  if (!group.is_split_measurement || group.is_delete) return;
  let failure: unknown;
  for (let first = 0; first < missing.length && !signal.aborted; first += viewsAtOnce) {
    const some = missing.slice(first, first + viewsAtOnce).map(async ({ name, column }) => {
      await deps.tables.createMetricView(group.table_id, column, name);
      done.add(name);
    });
    for (const result of await Promise.allSettled(some))
      if (result.status === 'rejected') failure = result.reason;
  }
  if (failure !== undefined) throw failure;
};

/**
 * Creates a view for each metric that a registry of a split table names, as soon as it is registered, and retries with
 * a growing delay until QuestDB has it. Any number of processes may do so in parallel. Points are stored in the table
 * even before their view exists.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one queue and its workers.
export const keepMetricViews = (deps: Deps): ViewKeeper => {
  const stopping = new AbortController();
  /** Undefined: its registry is to be read first. */
  const pending = new Map<number, ColumnRegistry | undefined>();
  const made = new Map<number, Set<string>>();
  /** One for each instance: one that hangs holds up no other. */
  const workers = new Map<string, Promise<void>>();
  /** Each ends the pause of a worker. */
  const wakes = new Map<string, () => void>();
  const instanceOf = (dataId: number): string => knownInstanceOf(deps.records, dataId);

  /** Until the delay is over, a new name is registered, or it is stopped. */
  const pause = async (delayMs: number, news: Promise<void>): Promise<void> => {
    await Promise.race([delay(delayMs, undefined, { signal: stopping.signal }), news]).catch(() => undefined);
  };

  /** Handles these data ids one after another; one that fails does not delay the others. */
  const tryAll = async (instance: string, dataIds: readonly number[], told: string): Promise<string> => {
    let failure = '';
    let last = told;
    for (const dataId of dataIds) {
      // It would be waited for with each of its tables.
      if (deps.isAway(instance)) return 'away';
      // The record of its place came meanwhile.
      if (instanceOf(dataId) !== instance) continue;
      const registry = pending.get(dataId);
      try {
        await makeViews(deps, made, stopping.signal, dataId, registry);
        if (pending.get(dataId) === registry) pending.delete(dataId);
      } catch (error) {
        const message = errorText(error);
        if (message !== last) deps.log.warn({ mon_data_id: dataId }, `no view yet: ${message}`);
        failure = message;
        last = message;
      }
    }
    return failure;
  };

  const run = async (instance: string): Promise<void> => {
    let failures = 0;
    let told = '';
    while (!stopping.signal.aborted) {
      const own = [...pending.keys()].filter((dataId) => instanceOf(dataId) === instance);
      if (own.length === 0) return;
      const news = Promise.withResolvers<void>();
      wakes.set(instance, news.resolve);
      const failure = await tryAll(instance, own, told);
      told = failure || told;
      failures = failure === '' ? 0 : failures + 1;
      beginAll();
      if (failure !== '') await pause(backOffMs(backOff, failures), news.promise);
    }
  };

  const begin = (instance: string): void => {
    if (workers.has(instance) || stopping.signal.aborted) return;
    const running = run(instance).finally(() => {
      workers.delete(instance);
      beginAll();
    });
    workers.set(instance, running);
  };

  const beginAll = (): void => {
    for (const dataId of pending.keys()) begin(instanceOf(dataId));
  };

  const queue = (dataId: number, registry: ColumnRegistry | undefined): void => {
    pending.set(dataId, registry);
    wakes.get(instanceOf(dataId))?.();
    begin(instanceOf(dataId));
  };

  const { promise: ready, resolve: readAll } = Promise.withResolvers<void>();
  const prefix = columnsKey(0).slice(0, -1);
  const watch = deps.columns.watch(
    ({ key, value }) => {
      if (!key.startsWith(prefix)) return;
      if (value === undefined) {
        pending.delete(Number(key.slice(prefix.length)));
        return;
      }
      const registry = columnRegistrySchema.safeParse(value);
      if (!registry.success) {
        deps.log.error({ key }, `a column registry cannot be read: ${registry.error.message}`);
        return;
      }
      queue(registry.data.mon_data_id, registry.data);
    },
    () => readAll(),
  );
  return {
    ready,
    remake: (dataId) => {
      made.delete(dataId);
      queue(dataId, undefined);
    },
    stop: async () => {
      stopping.abort();
      watch.stop();
      await Promise.all(workers.values());
    },
  };
};

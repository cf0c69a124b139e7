import type { TimeSeriesGroup } from '../../directory/records.ts';
import { backOffMs } from '../../runtime/back-off.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import {
  enableDeduplication,
  readTableStates,
  resumeTable,
  type TableState,
} from '../../stores/questdb/table-states.ts';
import type { QuestdbTables } from '../../stores/questdb/tables.ts';
import { createUpsertKeys } from '../../stores/questdb/upsert-keys.ts';
import type { Log } from '../../telemetry/log.ts';
import { purgeNow, sourceDaysNow } from '../records/read-now.ts';
import type { Records } from '../records/store.ts';
import { knownInstanceOf, unknownInstance } from './placement.ts';

export type TableRepairDeps = {
  readonly records: Records;
  readonly tables: QuestdbTables;
  /** Of each QuestDB instance, by its name. */
  readonly sqls: ReadonlyMap<string, QuestdbSql>;
  /** Whether an instance does not answer now: the repair skips it. */
  readonly isAway: (instance: string) => boolean;
  /** Makes the views of a split table again, which are missing where it was. */
  readonly remakeViews: (dataId: number) => void;
  readonly log: Log;
};

/**
 * Repairs tables that are missing, suspended or without their keys, so that their points in the stream are stored
 * without an operator.
 */
export type TableRepair = {
  /** One check of all tables; throws the first failure after it has tried the rest. */
  round(): Promise<void>;
};

const resumeBackOff = { firstMs: 5_000, mostMs: 300_000 };

/**
 * - A table that two checks have missed is created again, empty, from its template with the retention of its policy, and its views.
 * - A table without its upsert keys, or with others, gets them back.
 * - A suspended table is resumed: at once, and while it is suspended again for the same fault at growing intervals up to
 *   five minutes.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one round and its remedies.
export const createTableRepair = (deps: TableRepairDeps): TableRepair => {
  const { records, tables, sqls, isAway, log } = deps;
  const resumes = new Map<string, { at: number; tries: number }>();
  const upsertKeys = new Map([...sqls].map(([instance, sql]) => [instance, createUpsertKeys(sql)]));
  /** Tables that the last round missed: a creation under way has its records before its table. */
  const missed = new Set<string>();

  const resume = async (sql: QuestdbSql, { name, why }: TableState): Promise<void> => {
    const last = resumes.get(name);
    if (last !== undefined && performance.now() < last.at + backOffMs(resumeBackOff, last.tries)) return;
    resumes.set(name, { at: performance.now(), tries: (last?.tries ?? 0) + 1 });
    await resumeTable(sql, name);
    log.warn({ table: name, why }, 'QuestDB suspended this table; it was resumed');
  };

  const mend = async (
    sql: QuestdbSql,
    group: TimeSeriesGroup,
    state: TableState | undefined,
    otherKeys: ReadonlySet<string>,
  ): Promise<void> => {
    const { table_id: name } = group;
    if (state === undefined) {
      const isFirst = !missed.has(name);
      missed.add(name);
      if (isFirst || (await purgeNow(records, group.mon_data_id)) !== undefined) return;
      const days = await sourceDaysNow(records, group.mon_data_id);
      await tables.createTable(group.is_split_measurement ? 'narrow' : 'wide', name, days);
      // Only now: a creation that ends in an error may have taken effect, and the next round makes the views.
      missed.delete(name);
      log.error({ table: name }, 'this table was missing in QuestDB; it was created again, empty');
      if (group.is_split_measurement) deps.remakeViews(group.mon_data_id);
      return;
    }
    // Another process created it, and may have ended before it made the views.
    if (missed.delete(name) && group.is_split_measurement) deps.remakeViews(group.mon_data_id);
    if (!state.deduplicates) {
      await enableDeduplication(sql, name);
      log.error({ table: name }, 'the upsert keys of this table were disabled; they are enabled again');
    } else if (otherKeys.has(name) && !state.isSuspended) {
      // A suspended one was not read: it may have its keys back already.
      await enableDeduplication(sql, name);
      log.error(
        { table: name },
        'the upsert keys of this table were not (timestamp, uid); they are set again. Rows that overwrote each other meanwhile are lost',
      );
    }
    if (state.isSuspended) await resume(sql, state);
    else resumes.delete(name);
  };

  /**
   * Points of a deleted group may still be in the stream: its table is wanted until it is purged. A group without the record
   * of its table has none yet: a call makes both.
   */
  const wantedGroups = (): TimeSeriesGroup[] => {
    const creating = new Set(
      records.reports.list().flatMap(({ value }) => (value.state === 'creating' ? [value.mon_data_id] : [])),
    );
    return records.groups.list().flatMap(({ value }) => {
      const id = value.mon_data_id;
      const isMade = records.tables.known(id) !== undefined && !creating.has(id);
      return isMade && records.purges.known(id) === undefined ? [value] : [];
    });
  };

  const mendAll = async (
    instance: string,
    wanted: readonly TimeSeriesGroup[],
    failures: unknown[],
  ): Promise<void> => {
    const sql = sqls.get(instance);
    if (sql === undefined) throw unknownInstance(instance, `table ${wanted[0]?.table_id ?? ''}`);
    const states = new Map((await readTableStates(sql)).map((state) => [state.name, state]));
    const readable = wanted.flatMap(({ table_id }) =>
      states.get(table_id)?.isSuspended === false ? [table_id] : [],
    );
    const otherKeys = await upsertKeys
      .get(instance)
      ?.look(readable)
      .catch((error: unknown) => {
        failures.push(error);
        return undefined;
      });
    for (const group of wanted) {
      await mend(sql, group, states.get(group.table_id), otherKeys ?? new Set()).catch((error: unknown) => {
        failures.push(error);
      });
    }
  };

  return {
    round: async () => {
      const failures: unknown[] = [];
      const byInstance = Map.groupBy(wantedGroups(), (group) => knownInstanceOf(records, group.mon_data_id));
      // In parallel: a table that hangs delays no other.
      await Promise.all(
        [...byInstance].map(async ([instance, wanted]) => {
          if (isAway(instance)) return;
          await mendAll(instance, wanted, failures).catch((error: unknown) => {
            failures.push(error);
          });
        }),
      );
      if (failures.length > 0) throw failures[0];
    },
  };
};

import { isConflict } from '../../bus/kv.ts';
import type { Placement, TimeSeriesGroup } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import { createQuestdbSql, type QuestdbSql } from '../../stores/questdb/sql.ts';
import { createQuestdbTables, type QuestdbTables } from '../../stores/questdb/tables.ts';
import { fieldFault } from '../problem.ts';
import type { Records } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';

/** A QuestDB instance as metadata works with it. */
export type PlacedInstance = {
  readonly name: string;
  readonly sql: QuestdbSql;
  readonly tables: QuestdbTables;
};

/** The instances that new tables may be placed on. */
export type Placing = {
  /** In the order of the settings. */
  readonly names: readonly string[];
  /** Whether it did not answer lately: a new table is placed on another one then. */
  isAway(name: string): boolean;
};

/** One of each for every address, in their order. */
export const openInstances = (
  addresses: readonly { readonly name: string; readonly url: string }[],
  schemasFolder: string,
): PlacedInstance[] =>
  addresses.map(({ name, url }) => {
    const sql = createQuestdbSql({ url });
    return { name, sql, tables: createQuestdbTables(sql, schemasFolder) };
  });

/** The instance of the tables of a data id, from this process's copy: the first one where no record names another. */
export const knownInstanceOf = ({ placements }: Pick<Records, 'placements'>, dataId: number): string =>
  placements.known(dataId)?.value.questdb ?? defaultInstance;

/** What the record says, from KV where the copy has nothing. A placement is written before anything that it places. */
const recordedInstanceOf = async (
  { placements }: Pick<Records, 'placements'>,
  tableId: string,
): Promise<string | undefined> => {
  const dataId = dataIdOfTableId(tableId);
  if (dataId === undefined) return undefined;
  return (placements.known(dataId) ?? (await placements.get(dataId)))?.value.questdb;
};

/** What is wrong with an instance that the settings do not name, and what helps. */
export const unknownInstanceText = (name: string): string =>
  `on QuestDB instance ${name}, which TIDEMARK_QUESTDB_URLS lacks: add it to TIDEMARK_QUESTDB_URLS of metadata`;

/** A table on an instance that the settings do not name: nothing can be done to it until they do. */
export const unknownInstance = (name: string, what: string): Fault =>
  new Fault('transient', 'questdb_instance_unknown', `${what} is ${unknownInstanceText(name)}`);

/**
 * Data ids whose records place them on an instance that the settings lack, as a text; undefined when there are none. Those whose purge is
 * done have nothing there.
 */
export const unknownPlacements = (
  { placements, purges }: Pick<Records, 'placements' | 'purges'>,
  names: readonly string[],
): string | undefined => {
  const strays = placements
    .list()
    .filter(({ id, value }) => !names.includes(value.questdb) && purges.known(id)?.value.state !== 'purged');
  const [first] = strays;
  if (first === undefined) return undefined;
  const unknown = [...new Set(strays.map(({ value }) => value.questdb))].join(', ');
  return `${strays.length} tables are on QuestDB instances that TIDEMARK_QUESTDB_URLS lacks (${unknown}), the first is ${first.value.table_id}; their rows wait in the stream`;
};

/** Throws a transient Fault where one of these does not answer: only all of them know where a table without a record is. */
const requireAnswers = (
  instances: readonly PlacedInstance[],
  isAway: Placing['isAway'],
  tableId: string,
): void => {
  const away = instances.find(({ name }) => isAway(name));
  if (away === undefined) return;
  throw new Fault(
    'transient',
    'questdb_unavailable',
    `QuestDB instance ${away.name} does not answer, and table ${tableId}, which has no placement in the records, may be there`,
  );
};

/** A second table would part the rows of the first, and hide them. */
const requireNowhere = async (instances: readonly PlacedInstance[], tableId: string): Promise<void> => {
  const holders = await Promise.all(
    instances.map(async ({ name, tables }) => ((await tables.names()).includes(tableId) ? [name] : [])),
  );
  const [holder] = holders.flat();
  if (holder === undefined) return;
  throw new Fault(
    'permanent',
    'questdb_table_elsewhere',
    `table ${tableId} has no placement in the records and is on QuestDB instance ${holder}: no second one is created on ${defaultInstance}`,
  );
};

/**
 * The tables of all instances as one: each call goes to the instance that the table's record names. A table without a record is on the
 * first instance unless its record was lost, so all are looked at before it is created or dropped. Throws the Faults of QuestdbSql,
 * a transient `questdb_instance_unknown`, and a permanent `questdb_table_elsewhere`.
 */
export const createPlacedTables = (
  instances: readonly PlacedInstance[],
  records: Pick<Records, 'placements'>,
  isAway: Placing['isAway'],
): QuestdbTables => {
  const tablesOn = (name: string, tableId: string): QuestdbTables => {
    const instance = instances.find((each) => each.name === name);
    if (instance === undefined) throw unknownInstance(name, `table ${tableId}`);
    return instance.tables;
  };
  const of = async (tableId: string): Promise<QuestdbTables> =>
    tablesOn((await recordedInstanceOf(records, tableId)) ?? defaultInstance, tableId);

  const createTable: QuestdbTables['createTable'] = async (layout, tableId, ttlDays) => {
    const recorded = await recordedInstanceOf(records, tableId);
    const tables = tablesOn(recorded ?? defaultInstance, tableId);
    if (recorded === undefined) {
      const others = instances.filter(({ name }) => name !== defaultInstance);
      requireAnswers(others, isAway, tableId);
      await requireNowhere(others, tableId);
    }
    await tables.createTable(layout, tableId, ttlDays);
  };

  /** From each instance. One that the record does not name delays nothing: what it has is dropped once it answers. */
  const drop = async (tableId: string): Promise<void> => {
    const recorded = await recordedInstanceOf(records, tableId);
    const own = tablesOn(recorded ?? defaultInstance, tableId);
    if (recorded === undefined) requireAnswers(instances, isAway, tableId);
    await own.drop(tableId);
    const others = instances.filter(({ name, tables }) => tables !== own && !isAway(name));
    const drops = await Promise.allSettled(others.map(({ tables }) => tables.drop(tableId)));
    const failed = drops.find((each) => each.status === 'rejected');
    if (recorded === undefined && failed !== undefined) throw failed.reason;
  };

  return {
    createTable,
    createMetricView: async (tableId, column, metric) =>
      (await of(tableId)).createMetricView(tableId, column, metric),
    setTtl: async (tableId, ttlDays) => (await of(tableId)).setTtl(tableId, ttlDays),
    drop,
    // Of the instances that answer: the others follow later.
    ttls: async () => {
      const answers = await Promise.allSettled(instances.map(({ tables }) => tables.ttls()));
      const ttls = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [...answer.value] : []));
      const failed = answers.find((answer) => answer.status === 'rejected');
      if (failed !== undefined && ttls.length === 0) throw failed.reason;
      return new Map(ttls);
    },
    // Of all instances: a table that is overlooked might be created again, or its id used twice.
    names: () => tableNames(instances),
  };
};

/** Names of the tables of all instances; throws when one of them does not answer. */
export const tableNames = async (instances: readonly Pick<PlacedInstance, 'tables'>[]): Promise<string[]> =>
  (await Promise.all(instances.map(({ tables }) => tables.names()))).flat();

/** The instance with the fewest tables, of those that answer; the first of several. */
const leastLoaded = (
  records: Pick<Records, 'placements' | 'tables' | 'purges'>,
  placing: Placing,
): string => {
  const counts = new Map(placing.names.map((name) => [name, 0]));
  for (const { id } of records.tables.list()) {
    const name = knownInstanceOf(records, id);
    const count = counts.get(name);
    if (count !== undefined && records.purges.known(id) === undefined) counts.set(name, count + 1);
  }
  const all = [...counts];
  const answering = all.filter(([name]) => !placing.isAway(name));
  const [least] = (answering.length === 0 ? all : answering).toSorted(([, left], [, right]) => left - right);
  return least?.[0] ?? defaultInstance;
};

/**
 * Decides once on the instance for the table of a data id, before its group or its table exists, and stores it: the
 * requested one, else the one with the fewest tables. A group without such a record is older than the support of
 * several instances, and on the first. Permanent Faults `invalid_value` for an unknown instance, `creation_differs`
 * after a different decision.
 */
export const ensurePlacement = async (
  { records, placing }: { readonly records: Records; readonly placing: Placing },
  { mon_data_id, table_id }: Pick<TimeSeriesGroup, 'mon_data_id' | 'table_id'>,
  wanted: string | undefined,
): Promise<void> => {
  if (wanted !== undefined && !placing.names.includes(wanted))
    throw fieldFault('invalid_value', 'questdb', `must be one of ${placing.names.join(', ')}`);
  const place = async (): Promise<Placement> => {
    const there = await records.placements.get(mon_data_id);
    if (there !== undefined) return there.value;
    if ((await records.groups.get(mon_data_id)) !== undefined)
      return { mon_data_id, table_id, questdb: defaultInstance };
    const questdb = wanted ?? leastLoaded(records, placing);
    return (await records.placements.create(mon_data_id, { mon_data_id, table_id, questdb })).value;
  };
  // Of two calls at once the first decides.
  const { questdb } = await place().catch((error: unknown) => {
    if (isConflict(error)) return place();
    throw error;
  });
  if (wanted === undefined || wanted === questdb) return;
  throw new Fault(
    'permanent',
    'creation_differs',
    `the table of data id ${mon_data_id} is already placed on QuestDB instance ${questdb}`,
  );
};

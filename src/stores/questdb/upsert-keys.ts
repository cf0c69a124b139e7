import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { type QuestdbSql, quoteLiteral } from './sql.ts';

/**
 * Finds tables with other upsert keys than (timestamp, uid), by which points overwrite each other. QuestDB names the keys of one
 * table at a time, so each look reads those of a bounded number, in turn, and of all that had other keys at the last one.
 */
export type UpsertKeys = {
  /**
   * Returns those of these tables that are known to have other keys; one that cannot be read has those it had. Throws the transient
   * Faults of QuestdbSql.
   */
  look(tables: readonly string[]): Promise<ReadonlySet<string>>;
};

/** About 10 ms of QuestDB (9.3.4). */
const tablesPerLook = 20;

const rowsSchema = z.array(z.tuple([z.string(), z.string()]));

type Sql = Pick<QuestdbSql, 'exec'>;

/** The upsert keys of each of these tables, in one statement. */
const selectKeys = async (sql: Sql, tables: readonly string[]): Promise<Map<string, string[]>> => {
  const keys = new Map<string, string[]>();
  const selects = tables
    .map(quoteLiteral)
    .map((name) => `SELECT ${name} AS name, "column" FROM table_columns(${name}) WHERE upsertKey`);
  const { dataset } = await sql.exec(selects.join(' UNION ALL '));
  for (const [name, column] of rowsSchema.parse(dataset)) keys.set(name, [...(keys.get(name) ?? []), column]);
  return keys;
};

const isRefusal = (error: unknown): boolean => error instanceof Fault && error.kind === 'permanent';
const isFailedAnswer = (error: unknown): boolean =>
  error instanceof Fault && (error.detail.status ?? 0) >= 500;

/** The keys of the tables that can be read; those of a table that is gone are none. */
type ReadKeys = {
  readonly keys: ReadonlyMap<string, readonly string[]>;
  readonly unread: ReadonlySet<string>;
};

/** Each of these tables by itself. Throws the last Fault where none can be read. */
const readSingly = async (sql: Sql, tables: readonly string[]): Promise<ReadKeys> => {
  const keys = new Map<string, string[]>();
  const unread = new Set<string>();
  for (const table of tables) {
    try {
      for (const [name, columns] of await selectKeys(sql, [table])) keys.set(name, columns);
    } catch (error) {
      if (isRefusal(error)) continue;
      unread.add(table);
      if (!isFailedAnswer(error) || unread.size === tables.length) throw error;
    }
  }
  return { keys, unread };
};

/** A table that was dropped since the caller listed it, or that cannot be read, fails the statement for all. */
const readKeys = async (sql: Sql, tables: readonly string[]): Promise<ReadKeys> => {
  if (tables.length === 0) return { keys: new Map(), unread: new Set() };
  try {
    return { keys: await selectKeys(sql, tables), unread: new Set() };
  } catch (error) {
    if (!isRefusal(error) && !isFailedAnswer(error)) throw error;
    return readSingly(sql, tables);
  }
};

const areOther = (columns: readonly string[] | undefined): boolean =>
  columns !== undefined && columns.toSorted().join() !== 'timestamp,uid';

/** The keys of the tables that have others than (timestamp, uid), and how many tables were read. */
export type OtherKeys = {
  readonly others: ReadonlyMap<string, readonly string[]>;
  readonly read: number;
};

/**
 * Reads the keys of these tables once, in their order, and begins no further statement after `forMs`. A table that cannot be read is
 * left out. Throws the Faults of QuestdbSql.
 */
export const readOtherKeys = async (
  sql: Sql,
  tables: readonly string[],
  forMs: number,
): Promise<OtherKeys> => {
  const end = performance.now() + forMs;
  const others = new Map<string, readonly string[]>();
  let read = 0;
  for (let first = 0; first < tables.length && performance.now() < end; first += tablesPerLook) {
    const some = tables.slice(first, first + tablesPerLook);
    const { keys, unread } = await readKeys(sql, some);
    read += some.length - unread.size;
    for (const [name, columns] of keys) if (areOther(columns)) others.set(name, columns);
  }
  return { others, read };
};

export const createUpsertKeys = (sql: Sql): UpsertKeys => {
  let others: ReadonlySet<string> = new Set();
  let readLast = '';

  /** The next tables by name, from the first again after the last. */
  const nextOf = (tables: readonly string[]): string[] => {
    const sorted = tables.toSorted();
    const from = sorted.findIndex((name) => name > readLast);
    const next = from === -1 ? sorted : [...sorted.slice(from), ...sorted.slice(0, from)];
    return next.slice(0, tablesPerLook);
  };

  return {
    look: async (tables) => {
      const next = nextOf(tables);
      // Before the statements: a store that does not answer at some tables holds up no others.
      readLast = next.at(-1) ?? '';
      const known = [...others].filter((name) => tables.includes(name)).slice(0, tablesPerLook);
      const wanted = [...new Set([...known, ...next])];
      const { keys, unread } = await readKeys(sql, wanted);
      const read = wanted.filter((name) => !unread.has(name));
      const isOther = (name: string): boolean => areOther(keys.get(name));
      others = new Set([...[...others].filter((name) => !read.includes(name)), ...read.filter(isOther)]);
      return others;
    },
  };
};

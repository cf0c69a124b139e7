import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { type QuestdbSql, quoteLiteral } from './sql.ts';

/**
 * Finds tables with other upsert keys than (timestamp, uid), by which points overwrite each other. QuestDB names the keys of one
 * table at a time, so each look reads those of a bounded number, in turn, and of all that had other keys at the last one.
 */
export type UpsertKeys = {
  /** Returns those of these tables that are known to have other keys. Throws the transient Faults of QuestdbSql. */
  look(tables: readonly string[]): Promise<ReadonlySet<string>>;
};

/** About 10 ms of QuestDB (9.3.4). */
const tablesPerLook = 20;

const rowsSchema = z.array(z.tuple([z.string(), z.string()]));

/** The upsert keys of each of these tables; none for a table that is gone. */
const readKeys = async (
  sql: Pick<QuestdbSql, 'exec'>,
  tables: readonly string[],
): Promise<Map<string, string[]>> => {
  const keys = new Map<string, string[]>();
  if (tables.length === 0) return keys;
  const selects = tables
    .map(quoteLiteral)
    .map((name) => `SELECT ${name} AS name, "column" FROM table_columns(${name}) WHERE upsertKey`);
  try {
    const { dataset } = await sql.exec(selects.join(' UNION ALL '));
    for (const [name, column] of rowsSchema.parse(dataset))
      keys.set(name, [...(keys.get(name) ?? []), column]);
    return keys;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'permanent') throw error;
    // One that was dropped since the caller listed it: the statement fails for all.
    for (const table of tables.length > 1 ? tables : [])
      for (const [name, columns] of await readKeys(sql, [table])) keys.set(name, columns);
    return keys;
  }
};

export const createUpsertKeys = (sql: Pick<QuestdbSql, 'exec'>): UpsertKeys => {
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
      // Before the statement: a table that cannot be read holds up no others.
      readLast = next.at(-1) ?? '';
      const known = [...others].filter((name) => tables.includes(name)).slice(0, tablesPerLook);
      const read = [...new Set([...known, ...next])];
      const keys = await readKeys(sql, read);
      const isOther = (name: string): boolean => {
        const columns = keys.get(name);
        return columns !== undefined && columns.toSorted().join() !== 'timestamp,uid';
      };
      others = new Set([...[...others].filter((name) => !read.includes(name)), ...read.filter(isOther)]);
      return others;
    },
  };
};

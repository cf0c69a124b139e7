import { setNewest } from '../../model/bounded-map.ts';
import { Fault } from '../../model/fault.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { type Cardinality, readCardinality, readDistinctValues } from '../../stores/questdb/table-figures.ts';

/** A count and when it began, ms since the epoch; `known`: the values that each column has ever had, by its name in lower case. */
export type CountedCardinality = Cardinality & {
  readonly at: number;
  readonly known: ReadonlyMap<string, number>;
};

/** Counts distinct values, one table at a time: a count reads columns of two days. */
export type CardinalityReads = {
  /** A count of the last minute, or a new one. Transient Fault `busy` while others wait. */
  read(sql: QuestdbSql, table: string, columns: readonly string[]): Promise<CountedCardinality>;
};

const keptMs = 60_000;
const keptMax = 100;
const waitingMax = 4;

export const createCardinalityReads = (now: () => number): CardinalityReads => {
  const kept = new Map<string, { readonly at: number; readonly count: Promise<CountedCardinality> }>();
  let waiting = 0;
  let turn: Promise<unknown> = Promise.resolve();

  const begin = async (
    sql: QuestdbSql,
    table: string,
    columns: readonly string[],
  ): Promise<CountedCardinality> => {
    if (waiting >= waitingMax)
      throw new Fault('transient', 'busy', `${waiting} counts of other tables are under way`);
    waiting++;
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    try {
      await before;
      const at = now();
      const counted = await readCardinality(sql, table, columns, at);
      // Where QuestDB is away, `why` says so already.
      const known = await readDistinctValues(sql, table).catch(() => new Map<string, number>());
      return { at, known, ...counted };
    } finally {
      waiting--;
      resolve();
    }
  };

  return {
    read: (sql, table, columns) => {
      const known = kept.get(table);
      if (known !== undefined && now() - known.at < keptMs) return known.count;
      const count = begin(sql, table, columns);
      setNewest(kept, table, { at: now(), count }, keptMax);
      // A count that did not begin is no answer for others.
      count.catch(() => kept.delete(table));
      return count;
    },
  };
};

import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** What ClickHouse says of the tables of the account by their parts: no line is read. */
export type TableState = {
  /** Whether lines were changed or removed since the look before; true at the first one. */
  readonly isTouched: boolean;
  /** Whether a message is known whose publish ended without an answer. */
  readonly hasDoubtful: boolean;
};

export type TouchedTables = {
  /** Throws the Faults of ClickHouse. */
  look(): Promise<TableState>;
};

const count = z.coerce.number();
const partOrMutationRow = z.object({
  of: z.string(),
  name: z.string(),
  first: count,
  last: count,
  lines: count,
  is_part: z.coerce.boolean(),
});

/** An active part: its table and partition, the blocks that it is made of, and its rows. */
type Part = Pick<z.output<typeof partOrMutationRow>, 'name' | 'first' | 'last' | 'lines'>;

/** One statement: ClickHouse takes longer to plan it than to run it. A mutation counts twice: when it begins, and when it is done. */
const query = `
  SELECT table AS of, concat(table, ' ', partition) AS name, min_block_number AS first, max_block_number AS last, rows AS lines,
    1 AS is_part
  FROM system.parts
  WHERE database = '${database}' AND active AND table IN ('ingest_settled', 'ingest_outcomes', 'ingest_doubtful')
  UNION ALL
  SELECT table, concat(table, ' ', mutation_id, ' ', toString(is_done)), 0, 0, 0, 0 FROM system.mutations
  WHERE database = '${database}' AND table IN ('ingest_settled', 'ingest_outcomes', 'ingest_published', 'ingest_doubtful')`;

/** Merges of the other tables drop the earlier versions of their lines, so the number of those says nothing. */
const hasLastingLines = (table: string): boolean => table !== 'ingest_doubtful';

/** Whether a part of before is gone, or was merged into one with fewer rows than its parts had. */
const hasLostRows = (before: readonly Part[], now: readonly Part[]): boolean => {
  const places = Map.groupBy(now, ({ name }) => name);
  const left = new Map(now.map((part) => [part, part.lines]));
  return before.some(({ name, first, last, lines }) => {
    // What stands for a dropped part until it is removed.
    if (lines === 0) return false;
    const cover = places.get(name)?.find((part) => part.first <= first && part.last >= last);
    if (cover === undefined) return true;
    const rest = (left.get(cover) ?? 0) - lines;
    left.set(cover, rest);
    return rest < 0;
  });
};

export const createTouchedTables = (clickhouse: Clickhouse): TouchedTables => {
  let before: { readonly parts: readonly Part[]; readonly mutations: ReadonlySet<string> } | undefined;
  return {
    look: async () => {
      const rows = await clickhouse.rows(partOrMutationRow, query);
      const parts = rows.filter((row) => row.is_part && hasLastingLines(row.of));
      const mutations = new Set(rows.filter((row) => !row.is_part).map(({ name }) => name));
      const hasDoubtful = rows.some((row) => row.is_part && !hasLastingLines(row.of) && row.lines > 0);
      const known = before;
      before = { parts, mutations };
      const isTouched =
        known === undefined || !mutations.isSubsetOf(known.mutations) || hasLostRows(known.parts, parts);
      return { isTouched, hasDoubtful };
    },
  };
};

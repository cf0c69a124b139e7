import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** Notices that lines of the account were changed or removed in ClickHouse, from what it says of its parts: no line is read. */
export type TouchedTables = {
  /** Whether it happened since the look before; true at the first one. Throws the Faults of ClickHouse. */
  look(): Promise<boolean>;
};

const count = z.coerce.number();
const partRow = z.object({ place: z.string(), first: count, last: count, lines: count });
const mutationRow = z.object({ name: z.string() });

/** An active part of a table and partition: the blocks that it is made of, and its rows. */
type Part = z.output<typeof partRow>;

/** Merges of ingest_published drop the earlier versions of its lines, so their number says nothing. */
const partsQuery = `
  SELECT concat(table, ' ', partition) AS place, min_block_number AS first, max_block_number AS last, rows AS lines FROM system.parts
  WHERE database = '${database}' AND active AND table IN ('ingest_settled', 'ingest_outcomes')`;

/** A mutation counts twice: when it begins, and when it is done. */
const mutationsQuery = `
  SELECT concat(table, ' ', mutation_id, ' ', toString(is_done)) AS name FROM system.mutations
  WHERE database = '${database}' AND table IN ('ingest_settled', 'ingest_outcomes', 'ingest_published', 'ingest_doubtful')`;

/** Whether a part of before is gone, or was merged into one with fewer rows than its parts had. */
const hasLostRows = (before: readonly Part[], now: readonly Part[]): boolean => {
  const places = Map.groupBy(now, ({ place }) => place);
  const left = new Map(now.map((part) => [part, part.lines]));
  return before.some(({ place, first, last, lines }) => {
    // What stands for a dropped part until it is removed.
    if (lines === 0) return false;
    const cover = places.get(place)?.find((part) => part.first <= first && part.last >= last);
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
      const parts = await clickhouse.rows(partRow, partsQuery);
      const mutations = new Set((await clickhouse.rows(mutationRow, mutationsQuery)).map(({ name }) => name));
      const known = before;
      before = { parts, mutations };
      if (known === undefined) return true;
      return !mutations.isSubsetOf(known.mutations) || hasLostRows(known.parts, parts);
    },
  };
};

import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** Notices that lines of the account were changed or removed in ClickHouse, from what it says of its parts: no line is read. */
export type TouchedTables = {
  /** Whether it happened since the look before; true at the first one. Throws the Faults of ClickHouse. */
  look(): Promise<boolean>;
};

const row = z.object({ name: z.string(), lines: z.coerce.number() });

/**
 * Merges of ingest_published drop the earlier versions of its lines, so their number says nothing. A mutation counts twice: when it
 * begins, and when it is done.
 */
const query = `
  SELECT concat(table, ' ', partition) AS name, sum(rows) AS lines FROM system.parts
  WHERE database = '${database}' AND active AND table IN ('ingest_settled', 'ingest_outcomes')
  GROUP BY table, partition
  UNION ALL
  SELECT concat(table, ' ', mutation_id, ' ', toString(is_done)), -1 FROM system.mutations
  WHERE database = '${database}' AND table IN ('ingest_settled', 'ingest_outcomes', 'ingest_published', 'ingest_doubtful')`;

export const createTouchedTables = (clickhouse: Clickhouse): TouchedTables => {
  let before: ReadonlyMap<string, number> | undefined;
  return {
    look: async () => {
      const now = new Map((await clickhouse.rows(row, query)).map(({ name, lines }) => [name, lines]));
      const known = before;
      before = now;
      if (known === undefined) return true;
      const isNewMutation = [...now].some(([name, lines]) => lines < 0 && !known.has(name));
      return isNewMutation || [...known].some(([name, lines]) => lines >= 0 && (now.get(name) ?? 0) < lines);
    },
  };
};

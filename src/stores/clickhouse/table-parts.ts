import { z } from 'zod';
import { type Clickhouse, database } from './client.ts';

/** The distance of the tables of Tidemark from the number of parts at which ClickHouse slows and then refuses inserts. */
export type TableParts = {
  /** Active parts in the fullest partition, by table. */
  readonly most: ReadonlyMap<string, number>;
  /** `parts_to_delay_insert` of the server. */
  readonly delayAt: number;
};

const partsRow = z.object({ table: z.string(), most: z.coerce.number() });
const delayRow = z.object({ value: z.coerce.number() });

/** Throws the Faults of ClickHouse. */
export const readTableParts = async (clickhouse: Clickhouse): Promise<TableParts> => {
  const rows = await clickhouse.rows(
    partsRow,
    `SELECT t.name AS table, max(p.parts) AS most
       FROM system.tables t LEFT JOIN
            (SELECT table, partition, count() AS parts FROM system.parts
              WHERE database = '${database}' AND active GROUP BY table, partition) p ON p.table = t.name
      WHERE t.database = '${database}' AND t.engine LIKE '%MergeTree' GROUP BY t.name`,
  );
  const [delay] = await clickhouse.rows(
    delayRow,
    "SELECT value FROM system.merge_tree_settings WHERE name = 'parts_to_delay_insert'",
  );
  return { most: new Map(rows.map(({ table, most }) => [table, most])), delayAt: delay?.value ?? 0 };
};

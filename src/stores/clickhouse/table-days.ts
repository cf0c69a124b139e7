import { z } from 'zod';
import { type Clickhouse, database } from './client.ts';
import { itemTables } from './item-tables.ts';

/** The bytes on the disk of one table that has no items, by its partitions. */
export type TableDays = {
  readonly table: string;
  /** Its TTL; undefined: for ever. */
  readonly retentionDays: number | undefined;
  /** A day as `2026-11-20`, a month as `202611`, or another key. */
  readonly partitions: readonly {
    readonly partition: string;
    readonly rows: number;
    readonly bytes: number;
  }[];
};

const number = z.coerce.number();
const partRow = z.object({
  table: z.string(),
  ttl: z.string(),
  partition: z.string(),
  row_count: number,
  bytes: number,
});

const named = itemTables.map(({ name }) => `'${name}'`).join(', ');

/** Of all tables of Tidemark but those of items, which readItemDays has. Throws the Faults of the client. */
export const readTableDays = async (clickhouse: Clickhouse): Promise<TableDays[]> => {
  const rows = await clickhouse.rows(
    partRow,
    `SELECT p.table AS table, extract(t.engine_full, 'TTL .*toIntervalDay\\\\(([0-9]+)\\\\)') AS ttl, p.partition AS partition,
       sum(p.rows) AS row_count, sum(p.bytes_on_disk) AS bytes
     FROM system.parts p JOIN system.tables t ON t.database = p.database AND t.name = p.table
     WHERE p.database = '${database}' AND p.active AND p.table NOT IN (${named})
     GROUP BY table, ttl, partition ORDER BY table, partition`,
  );
  return [...Map.groupBy(rows, ({ table }) => table)].map(([table, parts]) => ({
    table,
    retentionDays: parts[0]?.ttl ? Number(parts[0].ttl) : undefined,
    partitions: parts.map(({ partition, row_count, bytes }) => ({ partition, rows: row_count, bytes })),
  }));
};

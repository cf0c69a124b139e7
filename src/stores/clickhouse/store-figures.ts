import { z } from 'zod';
import { type Clickhouse, database } from './client.ts';
import { readTableParts } from './table-parts.ts';

/** What ClickHouse has of Tidemark's tables. Bytes are those on the disk. */
export type ClickhouseFigures = {
  readonly version: string;
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly bytes: number;
    readonly parts: number;
    readonly partitions: number;
    /** Active parts in its fullest partition. */
    readonly partsOfPartitionMax: number;
  }[];
  /** Parts of a partition at which inserts are slowed down. */
  readonly partsDelayAt: number;
  readonly merges: readonly {
    readonly table: string;
    readonly elapsedSeconds: number;
    readonly progress: number;
    readonly bytes: number;
  }[];
  readonly disks: readonly {
    readonly disk: string;
    readonly freeBytes: number;
    readonly totalBytes: number;
  }[];
};

const number = z.coerce.number();
const versionRow = z.object({ version: z.string() });
const tableRow = z.object({
  table: z.string(),
  row_count: number,
  bytes: number,
  parts: number,
  partitions: number,
});
const mergeRow = z.object({ table: z.string(), elapsed: number, progress: number, bytes: number });
const diskRow = z.object({ disk: z.string(), free: number, total: number });

/** Reads system tables. Throws the Faults of the ClickHouse client. */
export const readClickhouseFigures = async (clickhouse: Clickhouse): Promise<ClickhouseFigures> => {
  const [[server], tables, merges, disks, { most, delayAt }] = await Promise.all([
    clickhouse.rows(versionRow, 'SELECT version() AS version'),
    clickhouse.rows(
      tableRow,
      `SELECT t.name AS table, sum(p.rows) AS row_count, sum(p.bytes_on_disk) AS bytes, countIf(p.name != '') AS parts,
         uniqExactIf(p.partition, p.name != '') AS partitions
       FROM system.tables t LEFT JOIN
            (SELECT table, name, partition, rows, bytes_on_disk FROM system.parts WHERE database = '${database}' AND active) p
            ON p.table = t.name
       WHERE t.database = '${database}' AND t.engine LIKE '%MergeTree' GROUP BY t.name ORDER BY bytes DESC, t.name`,
    ),
    clickhouse.rows(
      mergeRow,
      `SELECT table, elapsed, progress, total_size_bytes_compressed AS bytes FROM system.merges
       WHERE database = '${database}' ORDER BY elapsed DESC LIMIT 100`,
    ),
    clickhouse.rows(
      diskRow,
      'SELECT name AS disk, free_space AS free, total_space AS total FROM system.disks ORDER BY name',
    ),
    readTableParts(clickhouse),
  ]);
  return {
    version: server?.version ?? '',
    tables: tables.map(({ row_count: rows, ...table }) => ({
      ...table,
      rows,
      partsOfPartitionMax: most.get(table.table) ?? 0,
    })),
    partsDelayAt: delayAt,
    merges: merges.map(({ elapsed, ...merge }) => ({ ...merge, elapsedSeconds: elapsed })),
    disks: disks.map(({ disk, free, total }) => ({ disk, freeBytes: free, totalBytes: total })),
  };
};

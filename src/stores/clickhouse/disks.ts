import { z } from 'zod';
import type { Clickhouse } from './client.ts';

/** The bytes of one disk. */
export type DiskSpace = { readonly freeBytes: number; readonly totalBytes: number };

const diskRow = z.object({ free: z.coerce.number(), total: z.coerce.number() });

/** The local disk of the server with the smallest free share; undefined where it has none. Throws the Faults of ClickHouse. */
export const readFullestDisk = async (clickhouse: Clickhouse): Promise<DiskSpace | undefined> => {
  const [row] = await clickhouse.rows(
    diskRow,
    `SELECT unreserved_space AS free, total_space AS total FROM system.disks
      WHERE type = 'Local' AND total_space > 0 ORDER BY free / total LIMIT 1`,
  );
  return row === undefined ? undefined : { freeBytes: row.free, totalBytes: row.total };
};

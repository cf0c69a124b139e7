import { z } from 'zod';
import type { Clickhouse } from './client.ts';

const timeRow = z.object({ at: z.coerce.number() });

/** The clock of the server, in whole seconds. Throws the Faults of a query. */
export const readTime = async (clickhouse: Clickhouse): Promise<Date> => {
  const [row] = await clickhouse.rows(timeRow, 'SELECT toUnixTimestamp(now()) AS at');
  return new Date((row?.at ?? 0) * 1000);
};

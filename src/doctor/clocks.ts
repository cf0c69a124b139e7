import { z } from 'zod';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';

const nowSchema = z.tuple([z.coerce.number()]);
const millisecondsRow = z.object({ ms: z.coerce.number() });

/** The clock of a QuestDB instance, ms since the epoch. Throws the Faults of QuestDB. */
export const readQuestdbTimeMs = async (sql: QuestdbSql): Promise<number> => {
  const { dataset } = await sql.exec('SELECT cast(systimestamp() AS LONG) / 1000');
  return nowSchema.parse(dataset[0])[0];
};

/** The clock of ClickHouse, ms since the epoch. Throws the Faults of ClickHouse. */
export const readClickhouseTimeMs = async (clickhouse: Clickhouse): Promise<number> => {
  const [row] = await clickhouse.rows(millisecondsRow, 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms');
  return row?.ms ?? 0;
};

/** By how many ms the other clock is ahead of the local one, as exact as half of the time of one call. */
export const clockOffsetMs = async (read: () => Promise<number>): Promise<number> => {
  const before = Date.now();
  const theirs = await read();
  return Math.round(theirs - (before + Date.now()) / 2);
};

import { z } from 'zod';
import { type Clickhouse, database } from './client.ts';

const settingNames = ['fsync_after_insert', 'fsync_part_directory'] as const;

const tableRow = z.object({ name: z.string(), engine_full: z.string() });

const isSet = (engine: string, setting: string): boolean => engine.includes(`${setting} = 1`);

/**
 * Makes the answer to an insert wait until its part is on the disk (`isPowerSafe`) or only in the system's buffers, for all tables
 * of Tidemark that differ; returns the changed tables. A merge needs no such wait: the server keeps its source parts for eight
 * minutes. Throws the Faults of `toFault`; may be repeated.
 */
export const alignDurability = async (clickhouse: Clickhouse, isPowerSafe: boolean): Promise<string[]> => {
  const tables = await clickhouse.rows(
    tableRow,
    "SELECT name, engine_full FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree' ORDER BY name",
    { params: { database } },
  );
  const changed: string[] = [];
  for (const { name, engine_full: engine } of tables) {
    if (settingNames.every((setting) => isSet(engine, setting) === isPowerSafe)) continue;
    const action = isPowerSafe
      ? `MODIFY SETTING ${settingNames.map((setting) => `${setting} = 1`).join(', ')}`
      : `RESET SETTING ${settingNames.join(', ')}`;
    await clickhouse.run(`ALTER TABLE ${database}.${name} ${action}`, { timeoutMs: 60_000 });
    changed.push(name);
  }
  return changed;
};

import { z } from 'zod';
import type { ApplicationPipeline } from '../../model/signals.ts';
import { type Clickhouse, database } from './client.ts';
import { itemTables } from './item-tables.ts';

/** Days that the tables of a signal keep the items of every application; undefined or absent leaves them as they are. */
export type RetentionDays = { readonly [pipeline in ApplicationPipeline]?: number | undefined };

/** A table with another TTL than before. */
export type ChangedTtl = { readonly table: string; readonly days: number };

const tableRow = z.object({ name: z.string(), engine_full: z.string() });

/** The TTL at the end of a table's engine, as the server writes it; empty for none. */
const ttlIn = (engine: string): string => / TTL (.+?)(?: SETTINGS |$)/.exec(engine)?.[1] ?? '';

/** A DateTime ends in 2106 and would wrap: every row would expire at once. A Date ends in 2149. */
const dateTimeDaysMax = 20_000;

const ttlOf = (time: string, days: number): string =>
  `${days > dateTimeDaysMax ? time.replace('toDateTime(', 'toDate(') : time} + toIntervalDay(${days})`;

/**
 * Sets the TTL of the tables of items to these numbers of days where it differs; returns the changed tables. Without a number the TTL
 * stays as it is, because a file of another machine must not take it off. Stored rows follow in the background: the server drops a part
 * when all of it has expired. Throws the Faults of `toFault`; may be repeated.
 */
export const alignTtl = async (
  clickhouse: Clickhouse,
  retentionDays: RetentionDays,
): Promise<ChangedTtl[]> => {
  if (itemTables.every(({ pipeline }) => retentionDays[pipeline] === undefined)) return [];
  const tables = await clickhouse.rows(
    tableRow,
    'SELECT name, engine_full FROM system.tables WHERE database = {database:String} ORDER BY name',
    { params: { database } },
  );
  const changed: ChangedTtl[] = [];
  for (const { pipeline, times } of itemTables) {
    const days = retentionDays[pipeline];
    if (days === undefined) continue;
    for (const [table, time] of Object.entries(times)) {
      const engine = tables.find(({ name }) => name === table)?.engine_full;
      const wanted = ttlOf(time, days);
      if (engine === undefined || ttlIn(engine) === wanted) continue;
      await clickhouse.run(`ALTER TABLE ${database}.${table} MODIFY TTL ${wanted}`, { timeoutMs: 60_000 });
      changed.push({ table, days });
    }
  }
  return changed;
};

import { z } from 'zod';
import { type Clickhouse, database } from './client.ts';

/** The tables of spans and the expression for a row's time, as the OpenTelemetry exporter writes it. */
const timeOf = {
  otel_traces: 'toDateTime(Timestamp)',
  otel_traces_trace_id_ts: 'toDateTime(Start)',
} as const;

const tableRow = z.object({ name: z.string(), engine_full: z.string() });

/** The TTL at the end of a table's engine, as the server writes it; empty for none. */
const ttlIn = (engine: string): string => / TTL (.+?)(?: SETTINGS |$)/.exec(engine)?.[1] ?? '';

/**
 * Sets the TTL of the tables of spans to this number of days where it differs; returns the changed tables. Undefined: leaves every TTL
 * as it is, because a file of another machine must not take it off. Stored rows follow in the background: the server drops a part when all of it has expired. Throws the Faults of `toFault`;
 * may be repeated.
 */
export const alignTtl = async (clickhouse: Clickhouse, days: number | undefined): Promise<string[]> => {
  if (days === undefined) return [];
  const tables = await clickhouse.rows(
    tableRow,
    'SELECT name, engine_full FROM system.tables WHERE database = {database:String} ORDER BY name',
    { params: { database } },
  );
  const changed: string[] = [];
  for (const [name, time] of Object.entries(timeOf)) {
    const engine = tables.find((table) => table.name === name)?.engine_full;
    const wanted = `${time} + toIntervalDay(${days})`;
    if (engine === undefined || ttlIn(engine) === wanted) continue;
    await clickhouse.run(`ALTER TABLE ${database}.${name} MODIFY TTL ${wanted}`, { timeoutMs: 60_000 });
    changed.push(name);
  }
  return changed;
};

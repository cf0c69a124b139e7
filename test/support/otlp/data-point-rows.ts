import { z } from 'zod';
import { dataPointTables } from '../../../src/stores/clickhouse/item-tables.ts';
import type { Stack } from '../stack/stack.ts';

const prefix = 'otel_metrics_';

/** Columns that differ in every delivery. */
const unheld: ReadonlySet<string> = new Set(['uid', 'ArrivedAt']);

const tables = dataPointTables.map(({ name: table, columns }) => {
  const selected = columns
    .filter(({ name }) => !unheld.has(name))
    .map(({ name, type }) => {
      if (type === 'DateTime64(9)') return `toString(toUnixTimestamp64Nano(${name})) AS ${name}`;
      if (type === 'Array(DateTime64(9))')
        return `arrayMap(t -> toString(toUnixTimestamp64Nano(t)), \`${name}\`) AS \`${name}\``;
      return `\`${name}\``;
    });
  return { table, selected: [`'${table.slice(prefix.length)}' AS Table`, ...selected].join(', ') };
});

/** A stored data point: the kind of its table and every column but uid and ArrivedAt. */
export type DataPointOfTable = Readonly<Record<string, unknown>> & {
  readonly Table: string;
  readonly Attributes: Readonly<Record<string, string>>;
};

const rowSchema = z.looseObject({ Table: z.string(), Attributes: z.record(z.string(), z.string()) });

/**
 * The data points of an application in all tables, as a plain query sees them: times in decimal nanoseconds, 64-bit integers as
 * texts, what is no number as `nan`, `inf` and `-inf`.
 */
export const readDataPoints = async (stack: Stack, appId: number): Promise<DataPointOfTable[]> => {
  const rows = await Promise.all(
    tables.map(({ table, selected }) =>
      stack.spansQuery(
        `SELECT ${selected} FROM otel.${table} WHERE AppId = ${appId} SETTINGS output_format_json_quote_denormals = 1`,
      ),
    ),
  );
  return rows.flat().map((row) => rowSchema.parse(row));
};

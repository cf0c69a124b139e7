import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';

/** Inserts rows into a table of database `otel`. */
export const insertRows = (clickhouse: Clickhouse, table: string, rows: readonly object[]): Promise<number> =>
  clickhouse.insert(`INSERT INTO otel.${table} FORMAT JSONEachRow`, [
    Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n')),
  ]);

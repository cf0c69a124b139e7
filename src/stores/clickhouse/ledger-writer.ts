import { type Clickhouse, database } from './client.ts';

/** Writes lines of JSON into the tables of outcomes, refusals and samples. */
export type LedgerWriter = {
  /**
   * Stores every line; an existing one replaces itself. Throws the Faults of `toFault`: `clickhouse_rows_refused` when one of the
   * lines can never be stored; none of them is stored then.
   */
  insert(table: string, lines: readonly Uint8Array[]): Promise<void>;
};

export const createLedgerWriter = (clickhouse: Clickhouse, timeoutMs: number): LedgerWriter => ({
  insert: async (table, lines) => {
    await clickhouse.insert(`INSERT INTO ${database}.${table} FORMAT JSONEachRow`, lines, {
      timeoutMs,
      settings: {
        // Late rows may belong to any number of months, or days of samples.
        max_partitions_per_insert_block: 0,
        optimize_on_insert: 0,
        // Most inserts have few lines: threads to parse them cost the server as much as the rows.
        input_format_parallel_parsing: 0,
        max_threads: 1,
      },
    });
  },
});

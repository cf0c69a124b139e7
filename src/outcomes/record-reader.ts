import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { ledgerTables, type OutcomeCounts, type OutcomeRow } from './rows.ts';

/** The key of a record of outcomes. */
export type RecordKey = Pick<
  OutcomeRow,
  'pipeline' | 'data_id' | 'app_id' | 'base' | 'first' | 'ordinal' | 'redrive'
>;

/**
 * The content of the record with this key; undefined where there is none (yet). Throws a transient Fault while
 * ClickHouse does not answer.
 */
export type ReadRecord = (key: RecordKey) => Promise<OutcomeCounts | undefined>;

const recordRow = z.object({ outcomes: z.record(z.string(), z.coerce.number()) });

const statement = `SELECT outcomes FROM ${database}.${ledgerTables.outcomes} FINAL
  WHERE pipeline = {pipeline:String} AND data_id = {data_id:Int64} AND app_id = {app_id:Int64} AND base = {base:UInt64}
    AND first = {first:UInt64} AND ordinal = {ordinal:Int64} AND redrive = {redrive:UInt32}`;

export const createRecordReader =
  (clickhouse: Clickhouse): ReadRecord =>
  async ({ pipeline, data_id, app_id, base, first, ordinal, redrive }) => {
    const params = { pipeline, data_id, app_id, base, first, ordinal, redrive };
    const [row] = await clickhouse.rows(recordRow, statement, { params });
    return row?.outcomes;
  };

import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { isDecimal } from '../wire/message-key.ts';
import { messageKeyColumns } from './corrections-query.ts';
import { accountOf, type MessageAccount, type MessageRecord } from './message-account.ts';
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

/** The key that all records of a message and owner share. */
export type MessageOfOwner = Pick<OutcomeRow, 'pipeline' | 'data_id' | 'app_id' | 'base' | 'first'>;

export const textOfMessage = ({ pipeline, data_id, app_id, base, first }: MessageOfOwner): string =>
  `${pipeline} ${data_id} ${app_id} ${base} ${first}`;

/**
 * What the records of these messages add up to, by `textOfMessage`; a message without any record is left out. One query. Throws a
 * transient Fault while ClickHouse does not answer.
 */
export type ReadMessageAccounts = (
  messages: readonly MessageOfOwner[],
) => Promise<ReadonlyMap<string, MessageAccount>>;

const messageRow = z.object({
  pipeline: z.enum(pipelines),
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  base: z.string(),
  first: z.coerce.number(),
  ordinal: z.coerce.number(),
  redrive: z.coerce.number(),
  received: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
  letters: z.array(z.coerce.number()),
  letter_items: z.array(z.coerce.number()),
});

/** As text of a query: numbers alone, so that nothing in a stored header is taken for SQL. */
const literalOf = ({ pipeline, data_id, app_id, base, first }: MessageOfOwner): string => {
  const numbers = [data_id, app_id, first];
  if (!isDecimal(base) || !numbers.every((number) => Number.isSafeInteger(number) && number >= 0))
    throw new Fault('internal', 'record_key_unexpected', 'the key of a record is not made of numbers');
  return `('${pipeline}', ${data_id}, ${app_id}, ${base}, ${first})`;
};

const messagesTimeoutMs = 3_000;

export const createMessageAccountReader =
  (clickhouse: Clickhouse): ReadMessageAccounts =>
  async (messages) => {
    const keys = new Set(messages.map(literalOf));
    if (keys.size === 0) return new Map();
    const rows = await clickhouse.rows(
      messageRow,
      `SELECT ${messageKeyColumns.replace('base', 'toString(base) AS base')}, ordinal, redrive, received, outcomes, letters, letter_items
         FROM (SELECT * FROM ${database}.${ledgerTables.outcomes} FINAL WHERE (${messageKeyColumns}) IN (${[...keys].join(', ')}))`,
      { timeoutMs: messagesTimeoutMs },
    );
    const records = new Map<string, MessageRecord[]>();
    for (const { letter_items: letterItems, ...row } of rows) {
      const text = textOfMessage(row);
      const record = { ...row, letterItems };
      const known = records.get(text);
      if (known === undefined) records.set(text, [record]);
      else known.push(record);
    }
    return new Map([...records].map(([text, each]) => [text, accountOf(each)]));
  };

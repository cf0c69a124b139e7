import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { pipelines } from '../model/signals.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { isDecimal } from '../wire/message-key.ts';
import { messageKeyColumns } from './corrections-query.ts';
import { accountOf, type MessageAccount, type MessageRecord, type OpenLetter } from './message-account.ts';
import { ledgerTables, type OutcomeCounts, type OutcomeRow } from './rows.ts';
import { deadLetteredOutcome } from './tally.ts';

const outcomesTable = `${database}.${ledgerTables.outcomes}`;

/** The key of a record of outcomes. */
export type RecordKey = Pick<
  OutcomeRow,
  'pipeline' | 'data_id' | 'app_id' | 'base' | 'first' | 'ordinal' | 'redrive'
>;

/**
 * The content of the record with this key; undefined where there is none (yet). Throws a transient Fault while
 * ClickHouse does not answer (within `timeoutMs`).
 */
export type ReadRecord = (key: RecordKey, timeoutMs?: number) => Promise<OutcomeCounts | undefined>;

const recordRow = z.object({ outcomes: z.record(z.string(), z.coerce.number()) });

const statement = `SELECT outcomes FROM ${outcomesTable} FINAL
  WHERE pipeline = {pipeline:String} AND data_id = {data_id:Int64} AND app_id = {app_id:Int64} AND base = {base:UInt64}
    AND first = {first:UInt64} AND ordinal = {ordinal:Int64} AND redrive = {redrive:UInt32}`;

export const createRecordReader =
  (clickhouse: Clickhouse): ReadRecord =>
  async ({ pipeline, data_id, app_id, base, first, ordinal, redrive }, timeoutMs) => {
    const params = { pipeline, data_id, app_id, base, first, ordinal, redrive };
    const limited = timeoutMs === undefined ? {} : { timeoutMs };
    const [row] = await clickhouse.rows(recordRow, statement, { params, ...limited });
    return row?.outcomes;
  };

/**
 * The contents of the records with these keys, in their order; undefined where there is none (yet). One query for each thousand. Throws
 * the Faults of ClickHouse (a transient one where an answer takes longer than `timeoutMs`).
 */
export type ReadRecords = (
  keys: readonly RecordKey[],
  timeoutMs: number,
) => Promise<(OutcomeCounts | undefined)[]>;

const keysOfQueryMax = 1_000;

const recordKeyColumns = `${messageKeyColumns}, ordinal, redrive`;

const keyedRow = z.object({ key: z.string(), outcomes: recordRow.shape.outcomes });

const textOfRecord = (key: RecordKey): string => `${textOfMessage(key)} ${key.ordinal} ${key.redrive}`;

const recordLiteralOf = (key: RecordKey): string => {
  const numbers = [key.ordinal, key.redrive];
  if (!numbers.every((number) => Number.isSafeInteger(number))) throw unexpectedKey();
  return `(${literalOf(key).slice(1, -1)}, ${numbers.join(', ')})`;
};

export const createRecordsReader =
  (clickhouse: Clickhouse): ReadRecords =>
  async (keys, timeoutMs) => {
    const known = new Map<string, OutcomeCounts>();
    for (let first = 0; first < keys.length; first += keysOfQueryMax) {
      const literals = keys.slice(first, first + keysOfQueryMax).map(recordLiteralOf);
      const rows = await clickhouse.rows(
        keyedRow,
        `SELECT arrayStringConcat([${recordKeyColumns
          .split(', ')
          .map((column) => `toString(${column})`)
          .join(', ')}], ' ') AS key, outcomes
          FROM ${outcomesTable} FINAL WHERE (${recordKeyColumns}) IN (${literals.join(', ')})`,
        { timeoutMs },
      );
      for (const { key, outcomes } of rows) known.set(key, outcomes);
    }
    return keys.map((key) => known.get(textOfRecord(key)));
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
  minute_at: z.coerce.number(),
});

const unexpectedKey = (): Fault =>
  new Fault('internal', 'record_key_unexpected', 'the key of a record is not made of numbers');

/** As text of a query: numbers alone, so that nothing in a stored header is taken for SQL. */
const literalOf = ({ pipeline, data_id, app_id, base, first }: MessageOfOwner): string => {
  const numbers = [data_id, app_id, first];
  if (!isDecimal(base) || !numbers.every((number) => Number.isSafeInteger(number) && number >= 0))
    throw unexpectedKey();
  return `('${pipeline}', ${data_id}, ${app_id}, ${base}, ${first})`;
};

/** What the records of some messages add up to, and the minute of the message's own record (Unix seconds). */
type KnownMessage = {
  readonly message: MessageOfOwner;
  readonly minute: number;
  readonly account: MessageAccount;
};

const readMessages = async (
  clickhouse: Clickhouse,
  keys: string,
  options: { readonly timeoutMs?: number; readonly params?: Readonly<Record<string, number>> },
): Promise<Map<string, KnownMessage>> => {
  const rows = await clickhouse.rows(
    messageRow,
    `SELECT ${messageKeyColumns.replace('base', 'toString(base) AS base')}, ordinal, redrive, received, outcomes, letters, letter_items,
         toUnixTimestamp(minute) AS minute_at
       FROM (SELECT * FROM ${outcomesTable} FINAL WHERE (${messageKeyColumns}) IN (${keys}))`,
    options,
  );
  const known = new Map<string, KnownMessage>();
  for (const [text, records] of Map.groupBy(rows, textOfMessage)) {
    const message = records.find(({ redrive }) => redrive === 0) ?? records[0];
    if (message === undefined) continue;
    const account = accountOf(
      records.map(({ letter_items: letterItems, ...each }): MessageRecord => ({ ...each, letterItems })),
    );
    known.set(text, { message, minute: message.minute_at, account });
  }
  return known;
};

const messagesTimeoutMs = 3_000;

export const createMessageAccountReader =
  (clickhouse: Clickhouse): ReadMessageAccounts =>
  async (messages) => {
    const keys = new Set(messages.map(literalOf));
    if (keys.size === 0) return new Map();
    const known = await readMessages(clickhouse, [...keys].join(', '), { timeoutMs: messagesTimeoutMs });
    return new Map([...known].map(([text, { account }]) => [text, account]));
  };

/** A dead letter that the records of its message name and that none of them has moved. */
export type OpenLetterOf = MessageOfOwner &
  OpenLetter & { /** Of the arrival, Unix seconds. */ readonly minute: number };

/** The index `idx_letters` knows the length. */
const openMessages = `SELECT ${messageKeyColumns} FROM ${outcomesTable} FINAL
  WHERE (${messageKeyColumns}) IN (SELECT ${messageKeyColumns} FROM ${outcomesTable} WHERE length(letters) > 0)
  GROUP BY ${messageKeyColumns} HAVING sum(outcomes['${deadLetteredOutcome}']) > 0 LIMIT {most:UInt32}`;

/**
 * The open dead letters of all messages, those without items left out; undefined where more than `messagesMax` messages have some. Where
 * later records of a message take more than it has, none of its letters is named. Throws the Faults of ClickHouse.
 */
export const readOpenLetters = async (
  clickhouse: Clickhouse,
  messagesMax: number,
): Promise<OpenLetterOf[] | undefined> => {
  const known = await readMessages(clickhouse, openMessages, { params: { most: messagesMax + 1 } });
  if (known.size > messagesMax) return undefined;
  return [...known.values()].flatMap(({ message, minute, account }) => {
    if (!account.isStanding) return [];
    const { pipeline, data_id, app_id, base, first } = message;
    return account.open
      .filter(({ items }) => items > 0)
      .map((letter) => ({ pipeline, data_id, app_id, base, first, minute, ...letter }));
  });
};

const strayRow = z.object({ removed: z.coerce.number() });

/**
 * Items that redrives and purges of this owner took out of the dead letters, of messages that have no record themselves. Throws the
 * Faults of ClickHouse.
 */
export const readStrayItems = async (
  clickhouse: Clickhouse,
  owner: Pick<MessageOfOwner, 'pipeline' | 'data_id' | 'app_id'>,
): Promise<number> => {
  const isOwner = 'pipeline = {pipeline:String} AND data_id = {data_id:Int64} AND app_id = {app_id:Int64}';
  const [row] = await clickhouse.rows(
    strayRow,
    `SELECT sum(taken) AS removed FROM (
       SELECT sum(greatest(toInt64(0), -toInt64(outcomes['${deadLetteredOutcome}']))) AS taken
       FROM ${outcomesTable} FINAL
       WHERE ${isOwner} AND (base, first) IN (SELECT base, first FROM ${outcomesTable} WHERE ${isOwner} AND redrive > 0)
       GROUP BY base, first HAVING countIf(redrive = 0) = 0)`,
    { params: { pipeline: owner.pipeline, data_id: owner.data_id, app_id: owner.app_id } },
  );
  return row?.removed ?? 0;
};

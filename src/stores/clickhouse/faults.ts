import { ClickHouseError } from '@clickhouse/client';
import { z } from 'zod';
import { errorText, Fault } from '../../model/fault.ts';
import { oneLine } from '../../model/text-forms.ts';
import { noAnswerText } from '../answer-text.ts';

type Meaning = 'transient' | 'rows' | 'setup';

/** ClickHouse's error codes by their meaning for a statement of Tidemark. By number: names and texts change, numbers never do. */
const codes: readonly (readonly [Meaning, Readonly<Record<number, string>>])[] = [
  [
    'transient',
    {
      159: 'TIMEOUT_EXCEEDED',
      160: 'TOO_SLOW',
      173: 'CANNOT_ALLOCATE_MEMORY',
      198: 'DNS_ERROR',
      201: 'QUOTA_EXCEEDED',
      202: 'TOO_MANY_SIMULTANEOUS_QUERIES',
      203: 'NO_FREE_CONNECTION',
      209: 'SOCKET_TIMEOUT',
      210: 'NETWORK_ERROR',
      216: 'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING',
      225: 'NO_ZOOKEEPER',
      236: 'ABORTED',
      241: 'MEMORY_LIMIT_EXCEEDED',
      242: 'TABLE_IS_READ_ONLY',
      243: 'NOT_ENOUGH_SPACE',
      244: 'UNEXPECTED_ZOOKEEPER_ERROR',
      252: 'TOO_MANY_PARTS',
      254: 'NO_ACTIVE_REPLICAS',
      265: 'NO_AVAILABLE_REPLICA',
      279: 'ALL_CONNECTION_TRIES_FAILED',
      285: 'TOO_FEW_LIVE_REPLICAS',
      286: 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
      289: 'REPLICA_IS_NOT_IN_QUORUM',
      290: 'LIMIT_EXCEEDED',
      297: 'SHARD_HAS_NO_CONNECTIONS',
      319: 'UNKNOWN_STATUS_OF_INSERT',
      364: 'RECEIVED_ERROR_TOO_MANY_REQUESTS',
      384: 'PART_IS_TEMPORARILY_LOCKED',
      388: 'CANNOT_ASSIGN_OPTIMIZE',
      394: 'QUERY_WAS_CANCELLED',
      439: 'CANNOT_SCHEDULE_TASK',
      473: 'DEADLOCK_AVOIDED',
      667: 'NOT_INITIALIZED',
      735: 'QUERY_WAS_CANCELLED_BY_CLIENT',
      745: 'SERVER_OVERLOADED',
      999: 'KEEPER_EXCEPTION',
      1000: 'POCO_EXCEPTION',
    },
  ],
  [
    'rows',
    {
      6: 'CANNOT_PARSE_TEXT',
      9: 'SIZES_OF_COLUMNS_DOESNT_MATCH',
      10: 'NOT_FOUND_COLUMN_IN_BLOCK',
      20: 'NUMBER_OF_COLUMNS_DOESNT_MATCH',
      27: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
      32: 'ATTEMPT_TO_READ_AFTER_EOF',
      33: 'CANNOT_READ_ALL_DATA',
      41: 'CANNOT_PARSE_DATETIME',
      50: 'UNKNOWN_TYPE',
      53: 'TYPE_MISMATCH',
      69: 'ARGUMENT_OUT_OF_BOUND',
      70: 'CANNOT_CONVERT_TYPE',
      72: 'CANNOT_PARSE_NUMBER',
      117: 'INCORRECT_DATA',
      128: 'TOO_LARGE_ARRAY_SIZE',
      130: 'CANNOT_READ_ARRAY_FROM_TEXT',
      131: 'TOO_LARGE_STRING_SIZE',
      190: 'SIZES_OF_ARRAYS_DONT_MATCH',
      321: 'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
      349: 'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
      366: 'SIZES_OF_NESTED_COLUMNS_ARE_INCONSISTENT',
      407: 'DECIMAL_OVERFLOW',
      469: 'VIOLATED_CONSTRAINT',
    },
  ],
  [
    'setup',
    {
      16: 'NO_SUCH_COLUMN_IN_TABLE',
      36: 'BAD_ARGUMENTS',
      46: 'UNKNOWN_FUNCTION',
      47: 'UNKNOWN_IDENTIFIER',
      48: 'NOT_IMPLEMENTED',
      57: 'TABLE_ALREADY_EXISTS',
      60: 'UNKNOWN_TABLE',
      62: 'SYNTAX_ERROR',
      73: 'UNKNOWN_FORMAT',
      81: 'UNKNOWN_DATABASE',
      115: 'UNKNOWN_SETTING',
      122: 'INCOMPATIBLE_COLUMNS',
      164: 'READONLY',
      192: 'UNKNOWN_USER',
      193: 'WRONG_PASSWORD',
      194: 'REQUIRED_PASSWORD',
      195: 'IP_ADDRESS_NOT_ALLOWED',
      218: 'TABLE_IS_DROPPED',
      229: 'QUERY_IS_TOO_LARGE',
      291: 'DATABASE_ACCESS_DENIED',
      342: 'METADATA_MISMATCH',
      344: 'SUPPORT_IS_DISABLED',
      392: 'QUERY_IS_PROHIBITED',
      452: 'SETTING_CONSTRAINT_VIOLATION',
      472: 'READONLY_SETTING',
      497: 'ACCESS_DENIED',
      511: 'UNKNOWN_ROLE',
      516: 'AUTHENTICATION_FAILED',
      720: 'USER_EXPIRED',
    },
  ],
];

const meanings = new Map<string, Meaning>(
  codes.flatMap(([meaning, names]) => Object.keys(names).map((code): [string, Meaning] => [code, meaning])),
);

const textMax = 400;

const shorten = (text: string): string => oneLine(text, textMax);

/**
 * The one place where an error of the client becomes a Fault:
 * - transient `clickhouse_unavailable`: away, busy or silent. The result of the statement is unknown;
 * - transient `clickhouse_unclassified`: a code that no list names, taken as unknown. Worth counting;
 * - permanent `clickhouse_rows_refused`: these rows will never be stored; others may be;
 * - transient `clickhouse_table_unreadable`: not from here, but from `unreadableTable`;
 * - permanent `clickhouse_rejected`: the statement, the tables or the credentials are wrong, independent of the rows.
 */
export const toFault = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  if (!(error instanceof ClickHouseError)) {
    const text = `no answer from ClickHouse: ${noAnswerText(error)}`;
    return new Fault('transient', 'clickhouse_unavailable', text, error);
  }
  const { code, type = '', message } = error;
  const text = `ClickHouse answered ${code} ${type}: ${shorten(message)}`;
  switch (meanings.get(code)) {
    case 'transient':
      return new Fault('transient', 'clickhouse_unavailable', text, error);
    case 'rows':
      return new Fault('permanent', 'clickhouse_rows_refused', text, error);
    case 'setup':
      return new Fault('permanent', 'clickhouse_rejected', text, error);
    default:
      return new Fault('transient', 'clickhouse_unclassified', text, error);
  }
};

/** What the server answers where a table or column is missing. */
const missingCodes: ReadonlySet<string> = new Set(['16', '47', '60', '81']);

/** Whether a table or column is missing, as where the tables are those of an earlier version. No retry ends that. */
export const isOfMissingTables = (error: unknown): boolean =>
  isAnswer(error) && missingCodes.has(error.cause.code);

/** The text of a failed read, with the remedy where tables are missing. */
export const readErrorText = (error: unknown): string =>
  isOfMissingTables(error)
    ? `${errorText(error)} (tables of an earlier version: run tidemark migrate)`
    : errorText(error);

/** The rows of an answer. Rows of another shape than `schema` are an internal Fault `clickhouse_answer_unexpected`. */
export const rowsOf = <T>(schema: z.ZodType<T>, answer: unknown): T[] => {
  const checked = z.array(schema).safeParse(answer);
  if (checked.success) return checked.data;
  const why = `ClickHouse returned unexpected rows: ${z.prettifyError(checked.error).slice(0, 400)}`;
  throw new Fault('internal', 'clickhouse_answer_unexpected', why);
};

/** True for a Fault from an answer of the server: it is alive, and other rows may be stored. */
export const isAnswer = (error: unknown): error is Fault & { readonly cause: ClickHouseError } =>
  error instanceof Fault && error.cause instanceof ClickHouseError;

/** The same for a transient one. */
export const isTransientAnswer = (error: unknown): boolean => isAnswer(error) && error.kind === 'transient';

/** Whether a refusal of a guarded insert may come from the stored rows that its guard reads: a damaged part has codes of damaged rows. */
export const mayBeOfStoredRows = (error: unknown): boolean =>
  error instanceof Fault &&
  (error.code === 'clickhouse_rows_refused' || error.code === 'clickhouse_unclassified');

/** What a read of stored rows alone fails with, where that is such an error; else the error itself. */
export const unreadableTable = (table: string, error: unknown): unknown =>
  error instanceof Fault && mayBeOfStoredRows(error)
    ? new Fault(
        'transient',
        'clickhouse_table_unreadable',
        `stored rows of ${table} cannot be read; CHECK TABLE ${table} names the damaged part, restore or detach it: ${error.message}`,
        error.cause,
      )
    : error;

/** True for such an error: no new row is at fault. */
export const isUnreadableTable = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'clickhouse_table_unreadable';

/** The code of an answer that no list above names; undefined for every other error. */
export const unclassifiedCode = (error: unknown): string | undefined =>
  isAnswer(error) && error.code === 'clickhouse_unclassified' ? error.cause.code : undefined;

/**
 * Transient answers that rows can cause, as by a length in a block for which the server has no memory. The others name the state of a
 * table or of the server, which passes: no item is dead-lettered for them.
 */
const ofRowsToo: ReadonlySet<string> = new Set([
  '159', // TIMEOUT_EXCEEDED
  '160', // TOO_SLOW
  '173', // CANNOT_ALLOCATE_MEMORY
  '241', // MEMORY_LIMIT_EXCEEDED
  '290', // LIMIT_EXCEEDED
  '1000', // POCO_EXCEPTION
]);

/** Whether an answer may come from the rows of an insert, although it is transient: one of those, or an unclassified one. */
export const mayConcernRows = (error: unknown): boolean =>
  isAnswer(error) &&
  error.kind === 'transient' &&
  (error.code === 'clickhouse_unclassified' || ofRowsToo.has(error.cause.code));

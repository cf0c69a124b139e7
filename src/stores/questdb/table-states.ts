import { z } from 'zod';
import { errorText, Fault } from '../../model/fault.ts';
import { oneLine } from '../../model/text-forms.ts';
import { type QuestdbSql, quoteIdentifier, quoteLiteral } from './sql.ts';

/** The state of a table of points. Suspended: written rows are kept, and visible once it is resumed. */
export type TableState = {
  readonly name: string;
  /** The number of the table in QuestDB: a table that is recreated under the same name has another one. */
  readonly id: number;
  readonly isSuspended: boolean;
  /** Why it was suspended, in QuestDB's text; empty without a reason. */
  readonly why: string;
  /** False: its upsert keys were switched off, and a row that is written twice is stored twice. */
  readonly deduplicates: boolean;
  /** Confirmed commits that are not visible yet. */
  readonly pendingCommits: number;
};

/** Whether a failure is of one table (`table`), of the server or its disk (`store`), or of either (`unclear`). */
export type FailureScope = 'table' | 'store' | 'unclear';

const shownMax = 5;

/** `title: a (why), b and 3 more`, or an empty text without states. */
export const listed = (title: string, states: readonly Pick<TableState, 'name' | 'why'>[]): string[] => {
  if (states.length === 0) return [];
  const shown = states.slice(0, shownMax).map(({ name, why }) => (why === '' ? name : `${name} (${why})`));
  const more = states.length > shownMax ? ` and ${states.length - shownMax} more` : '';
  return [`${title}: ${shown.join(', ')}${more}`];
};

const rowSchema = z.tuple([
  z.string(),
  z.number(),
  z.boolean(),
  z.boolean(),
  z.string().nullable(),
  z.string().nullable(),
  z.number().nullable(),
]);

/** Why a table was suspended, from the two columns in which QuestDB puts it. */
export const whyOf = (tag: string | null, message: string | null): string =>
  [tag ?? '', oneLine(message ?? '', 200)].filter((text) => text !== '').join(': ');

/** The states of all WAL tables, or of the one with this name. Throws the Faults of QuestdbSql. */
export const readTableStates = async (
  sql: Pick<QuestdbSql, 'exec'>,
  table?: string,
): Promise<TableState[]> => {
  const where = table === undefined ? '' : ` WHERE t.table_name = ${quoteLiteral(table)}`;
  const { dataset } = await sql.exec(
    `SELECT t.table_name, t.id, w.suspended, t.dedup, w.errorTag, w.errorMessage, w.sequencerTxn - w.writerTxn
      FROM tables() t JOIN wal_tables() w ON t.table_name = w.name${where}`,
  );
  return dataset.map((row) => {
    const [name, id, isSuspended, deduplicates, tag, message, pending] = rowSchema.parse(row);
    return { name, id, isSuspended, deduplicates, why: whyOf(tag, message), pendingCommits: pending ?? 0 };
  });
};

/**
 * The text of QuestDB 9.3.4 when it cannot apply a table's log because the log of its columns is damaged. It continues to confirm
 * rows for such a table, also with new columns, and none of them will ever be visible.
 */
const damagedLog =
  /unexpected new WAL structure version|getColumnMetadata\(int\)|corruption in transaction metadata/;

/** Whether a suspended table can never be resumed. */
export const isBeyondResuming = ({ isSuspended, why }: Pick<TableState, 'isSuspended' | 'why'>): boolean =>
  isSuspended && damagedLog.test(why);

/** Resumes at the commit at which a table was suspended; QuestDB suspends it again when that commit fails again. */
export const resumeTable = async (sql: QuestdbSql, name: string): Promise<void> => {
  await sql.exec(`ALTER TABLE ${quoteIdentifier(name)} RESUME WAL`);
};

/** Switches the upsert keys on again. Rows that are stored twice by then remain. */
export const enableDeduplication = async (sql: Pick<QuestdbSql, 'exec'>, name: string): Promise<void> => {
  await sql.exec(`ALTER TABLE ${quoteIdentifier(name)} DEDUP ENABLE UPSERT KEYS(timestamp, uid)`);
};

/** The result of a change of a table's structure: accepted, impossible for good, refused for now, or no answer. */
export type ChangeAnswer =
  | { readonly kind: 'changed' }
  | { readonly kind: 'damaged' | 'refused' | 'unanswered'; readonly why: string };

/** Changes a table's structure without an effect: sets its upsert keys to their present value. */
export const tryChange = async (sql: Pick<QuestdbSql, 'exec'>, name: string): Promise<ChangeAnswer> => {
  try {
    await enableDeduplication(sql, name);
    return { kind: 'changed' };
  } catch (error) {
    const why = oneLine(errorText(error), 200);
    if (damagedLog.test(why)) return { kind: 'damaged', why };
    const isAnswer = error instanceof Fault && error.kind === 'permanent';
    return { kind: isAnswer ? 'refused' : 'unanswered', why };
  }
};

const separationMsMax = 2_000;

/**
 * Keeps what was written to a table before apart from what is written next: QuestDB applies commits that wait together as one, and leaves a
 * table for others only between two. It never fails: without it, other tables wait longer. False where QuestDB does not answer within two
 * seconds: another call would take as long.
 *
 * It is a change of rows that changes none: QuestDB 9.3.4 joins no commits across one. No point has the time 0, so it reads no partition.
 * A change of the table's structure would do the same, and each connection would need a new picture of the table.
 */
export const separateCommits = async (sql: Pick<QuestdbSql, 'exec'>, name: string): Promise<boolean> => {
  try {
    await sql.exec(
      `UPDATE ${quoteIdentifier(name)} SET more_dimensions = more_dimensions WHERE timestamp = 0 AND uid = -1`,
      separationMsMax,
    );
    return true;
  } catch (error) {
    // A refusal is an answer: the next write says what is wrong.
    return error instanceof Fault && error.kind === 'permanent';
  }
};

/** Whether a commit is confirmed only once it is on the disk (`cairo.commit.mode` is not `nosync`). */
export const commitsAreSynced = async (sql: QuestdbSql): Promise<boolean> => {
  const { columns, dataset } = await sql.exec('SHOW PARAMETERS');
  const [path, value] = [columns.indexOf('property_path'), columns.indexOf('value')];
  return dataset.some((row) => row[path] === 'cairo.commit.mode' && row[value] !== 'nosync');
};

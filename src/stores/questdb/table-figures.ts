import { z } from 'zod';
import { errorText } from '../../model/fault.ts';
import { dayMs } from '../../model/time.ts';
import { type QuestdbSql, quoteIdentifier, quoteLiteral } from './sql.ts';
import { readTableStates, type TableState } from './table-states.ts';

/** Of one day of a table: the visible rows, and their bytes on the disk. */
export type PartitionFigures = { readonly day: string; readonly rows: number; readonly bytes: number };

/** A table with its visible rows. */
export type TableFigures = TableState & {
  /** By day, the oldest first. */
  readonly partitions: readonly PartitionFigures[];
};

type Sql = Pick<QuestdbSql, 'exec'>;

const systemTimeoutMs = 5_000;

const partitionRow = z.tuple([z.string(), z.coerce.number(), z.coerce.number()]);

/** What QuestDB has of this table; undefined where there is no such table. Throws the Faults of QuestdbSql. */
export const readTableFigures = async (sql: Sql, table: string): Promise<TableFigures | undefined> => {
  const [state] = await readTableStates(sql, table);
  if (state === undefined) return undefined;
  const { dataset } = await sql.exec(
    `SELECT name, numRows, diskSize FROM table_partitions(${quoteLiteral(table)}) WHERE active OR attached`,
    systemTimeoutMs,
  );
  const partitions = dataset.map((row) => {
    const [name, rows, bytes] = partitionRow.parse(row);
    return { day: name.slice(0, 10), rows, bytes };
  });
  return { ...state, partitions: partitions.toSorted((left, right) => left.day.localeCompare(right.day)) };
};

/** All tables of points of an instance together. */
export type InstanceFigures = {
  readonly tables: readonly TableState[];
  /** Visible rows and bytes on the disk; undefined where QuestDB needs too long to look at all tables. */
  readonly storage: { readonly rows: number; readonly bytes: number } | undefined;
};

const storageRow = z.tuple([z.coerce.number(), z.coerce.number()]);

/** What an instance has. Throws the Faults of QuestdbSql. */
export const readInstanceFigures = async (sql: Sql): Promise<InstanceFigures> => {
  const tables = await readTableStates(sql);
  const storage = await sql
    .exec('SELECT sum(rowCount), sum(diskSize) FROM table_storage()', systemTimeoutMs)
    .then(({ dataset }) => {
      const [rows, bytes] = storageRow.parse(dataset[0]);
      return { rows, bytes };
    })
    .catch(() => undefined);
  return { tables, storage };
};

/** Distinct values of a column; undefined where counting them took too long. */
export type DistinctValues = {
  readonly column: string;
  readonly lastDay: number | undefined;
  readonly dayBefore: number | undefined;
};

/** Distinct values of columns, and why the last count that failed did; empty where all were counted. */
export type Cardinality = { readonly columns: readonly DistinctValues[]; readonly why: string };

const countTimeoutMs = 3_000;
const countsTimeoutMs = 8_000;

const distinctRow = z.tuple([z.coerce.number()]);

/**
 * Distinct values of each column in the day of event time before `nowMs`, and in the day before that, in a bounded time: columns that
 * take longer stay without a count. Empty values do not count.
 */
export const readCardinality = async (
  sql: Sql,
  table: string,
  columns: readonly string[],
  nowMs: number,
): Promise<Cardinality> => {
  const endsAt = performance.now() + countsTimeoutMs;
  let why = '';
  const count = async (column: string, fromMs: number): Promise<number | undefined> => {
    const leftMs = Math.floor(endsAt - performance.now());
    if (leftMs <= 0) {
      why = `counting took longer than ${countsTimeoutMs / 1000} s`;
      return undefined;
    }
    const [from, to] = [fromMs, fromMs + dayMs].map((ms) => quoteLiteral(new Date(ms).toISOString()));
    try {
      const { dataset } = await sql.exec(
        `SELECT count_distinct(${quoteIdentifier(column)}) FROM ${quoteIdentifier(table)} WHERE timestamp >= ${from} AND timestamp < ${to}`,
        Math.min(leftMs, countTimeoutMs),
      );
      return distinctRow.parse(dataset[0])[0];
    } catch (error) {
      why = errorText(error);
      return undefined;
    }
  };
  const counted: DistinctValues[] = [];
  for (const column of columns) {
    const lastDay = await count(column, nowMs - dayMs);
    counted.push({ column, lastDay, dayBefore: await count(column, nowMs - 2 * dayMs) });
  }
  return { columns: counted, why };
};

const symbolRow = z.tuple([z.string(), z.coerce.number()]);

/** The distinct values that each SYMBOL column of a table has ever had, by its name in lower case. Throws the Faults of QuestdbSql. */
export const readDistinctValues = async (sql: Sql, table: string): Promise<ReadonlyMap<string, number>> => {
  const { dataset } = await sql.exec(
    `SELECT "column", symbolTableSize FROM table_columns(${quoteLiteral(table)}) WHERE type = 'SYMBOL'`,
    systemTimeoutMs,
  );
  return new Map(
    dataset.map((row) => {
      const [column, values] = symbolRow.parse(row);
      return [column.toLowerCase(), values];
    }),
  );
};

import { z } from 'zod';
import { type QuestdbSql, quoteLiteral } from './sql.ts';
import type { PartitionFigures } from './table-figures.ts';
import { readTtls } from './tables.ts';

/** The bytes on the disk of one table by day, without its log of commits. */
export type TableDays = {
  readonly table: string;
  /** Its TTL; undefined: for ever. */
  readonly retentionDays: number | undefined;
  /** The oldest first; `day` is another text in a table without days. */
  readonly days: readonly PartitionFigures[];
};

/** Tables that one query looks at: each is a folder to walk. */
const tablesPerQuery = 50;
const timeoutMs = 20_000;

const partitionRow = z.tuple([z.coerce.number(), z.string(), z.coerce.number(), z.coerce.number()]);

/** Of all tables of an instance. Throws the Faults of QuestdbSql. */
export const readTableDays = async (sql: Pick<QuestdbSql, 'exec'>): Promise<TableDays[]> => {
  const tables = [...(await readTtls(sql))];
  const found: TableDays[] = [];
  for (let first = 0; first < tables.length; first += tablesPerQuery) {
    const some = tables.slice(first, first + tablesPerQuery);
    const queries = some.map(
      ([table], index) =>
        `SELECT ${index} AS t, name, numRows, diskSize FROM table_partitions(${quoteLiteral(table)}) WHERE active OR attached`,
    );
    const { dataset } = await sql.exec(queries.join(' UNION ALL '), timeoutMs);
    const rows = Map.groupBy(
      dataset.map((row) => partitionRow.parse(row)),
      ([index]) => index,
    );
    for (const [index, [table, retentionDays]] of some.entries()) {
      const days = (rows.get(index) ?? []).map(([, name, rowCount, bytes]) => ({
        day: name.slice(0, 10),
        rows: rowCount,
        bytes,
      }));
      found.push({
        table,
        retentionDays,
        days: days.toSorted((left, right) => left.day.localeCompare(right.day)),
      });
    }
  }
  return found;
};

import type { Bus } from '../../bus/connection.ts';
import { openKvBucket } from '../../bus/kv.ts';
import { recoverColumnNames } from '../../directory/column-recovery.ts';
import { buckets } from '../../directory/keys.ts';
import { counted } from '../../model/counted.ts';
import { createQuestdbSql, type QuestdbSql, quoteLiteral } from '../../stores/questdb/sql.ts';
import { viewPrefix } from '../../wire/column-naming.ts';
import type { FoundColumns } from '../../wire/column-recovery.ts';

const textsOf = async (sql: QuestdbSql, statement: string): Promise<string[]> =>
  (await sql.exec(statement)).dataset.map(([text]) => String(text));

const columnsOf = async (sql: QuestdbSql, tableId: string, isSplit: boolean): Promise<FoundColumns> => {
  const ofType = (type: string): Promise<string[]> =>
    textsOf(
      sql,
      `SELECT "column" FROM table_columns(${quoteLiteral(tableId)}) WHERE type = ${quoteLiteral(type)}`,
    );
  const dimensions = await ofType('SYMBOL');
  if (!isSplit) return { metrics: await ofType('DOUBLE'), dimensions };
  const prefix = viewPrefix(tableId);
  const views = await textsOf(
    sql,
    `SELECT view_name FROM views() WHERE starts_with(view_name, ${quoteLiteral(prefix)})`,
  );
  return { metrics: views.map((name) => name.slice(prefix.length)), dimensions };
};

/**
 * `recoverColumnNames` with the tables of these QuestDB instances. `onSkipped` gets each further instance that the records name, and
 * whose tables are not read. Throws their Faults and those of NATS.
 */
export const recoverColumns = async (
  bus: Bus,
  instances: readonly { readonly name: string; readonly url: string }[],
  onSkipped: (why: string) => void,
): Promise<number> => {
  const sqls = new Map(instances.map(({ name, url }) => [name, createQuestdbSql({ url })]));
  try {
    const tables = new Map<string, ReadonlySet<string>>();
    for (const [name, sql] of sqls)
      tables.set(name, new Set(await textsOf(sql, 'SELECT table_name FROM tables()')));
    const [records, columns] = [
      await openKvBucket(bus, buckets.records),
      await openKvBucket(bus, buckets.columns),
    ];
    const skipped = new Map<string, number>();
    const recovered = await recoverColumnNames(
      { records, columns },
      async ({ tableId, layout, questdb }) => {
        const sql = sqls.get(questdb);
        if (sql === undefined) skipped.set(questdb, (skipped.get(questdb) ?? 0) + 1);
        if (sql === undefined || tables.get(questdb)?.has(tableId) !== true) return undefined;
        return columnsOf(sql, tableId, layout === 'narrow');
      },
      Date.now(),
    );
    for (const [name, count] of skipped)
      onSkipped(`${counted(count, 'table')} in QuestDB ${name}, which TIDEMARK_QUESTDB_URLS does not name`);
    return recovered;
  } finally {
    for (const sql of sqls.values()) await sql.close();
  }
};

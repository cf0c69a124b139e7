import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../model/fault.ts';
import type { Layout } from '../../model/records.ts';
import { viewPrefix } from '../../wire/column-naming.ts';
import { type QuestdbSql, quoteIdentifier, quoteLiteral } from './sql.ts';

/** The tables of points and the views of narrow ones. Every call may be repeated; each throws the Faults of QuestdbSql. */
export type QuestdbTables = {
  /**
   * Creates the table called exactly `tableId`, kept for `ttlDays` (undefined: for ever), and checks that an existing table can
   * store exactly once: permanent `questdb_table_unusable` if it is not a WAL table that upserts on (timestamp, uid).
   */
  createTable(layout: Layout, tableId: string, ttlDays?: number): Promise<void>;
  /** Creates the view of one metric of a narrow table: `<table_id without .__default__>.<column>`. */
  createMetricView(tableId: string, column: string, metric: string): Promise<void>;
  /** Keeps the rows for this many days; undefined: for ever. */
  setTtl(tableId: string, ttlDays: number | undefined): Promise<void>;
  /** Drops the table with its rows and the views on it; a missing one counts as dropped. */
  drop(tableId: string): Promise<void>;
  /** Days that each table keeps its rows, by name; undefined: for ever. */
  ttls(): Promise<Map<string, number | undefined>>;
  /** Names of all tables. */
  names(): Promise<string[]>;
};

/** Columns every table of a layout has from the start. */
const fixedColumns: Readonly<Record<Layout, Readonly<Record<string, string>>>> = {
  wide: { timestamp: 'TIMESTAMP', uid: 'LONG', target: 'SYMBOL', more_dimensions: 'VARCHAR' },
  narrow: {
    timestamp: 'TIMESTAMP',
    uid: 'LONG',
    target: 'SYMBOL',
    more_dimensions: 'VARCHAR',
    metric: 'SYMBOL',
    value: 'DOUBLE',
  },
};

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template
    .replace(/^--.*$/gm, '')
    .replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '')
    .trim();

const unusable = (tableId: string, why: string): Fault =>
  new Fault('permanent', 'questdb_table_unusable', `table ${tableId} in QuestDB ${why}`);

const checkTable = async (sql: QuestdbSql, layout: Layout, tableId: string): Promise<void> => {
  const name = quoteLiteral(tableId);
  const table = await sql.exec(
    `SELECT walEnabled, dedup, partitionBy FROM tables() WHERE table_name = ${name}`,
  );
  const row = table.dataset[0];
  if (row === undefined) throw unusable(tableId, 'does not exist under exactly this name');
  const [walEnabled, dedup, partitionBy] = row;
  if (walEnabled !== true) throw unusable(tableId, 'is not a WAL table');
  if (dedup !== true) throw unusable(tableId, 'does not deduplicate');
  if (partitionBy !== 'DAY') throw unusable(tableId, `is partitioned by ${String(partitionBy)}, not by DAY`);
  const columns = await sql.exec(`SELECT "column", type, designated, upsertKey FROM table_columns(${name})`);
  const types = new Map(columns.dataset.map(([column, type]) => [column, type]));
  for (const [column, type] of Object.entries(fixedColumns[layout])) {
    if (types.get(column) !== type) throw unusable(tableId, `has no ${type} column ${column}`);
  }
  if (!columns.dataset.some(([column, , designated]) => column === 'timestamp' && designated === true)) {
    throw unusable(tableId, 'does not have timestamp as its designated timestamp');
  }
  const keys = columns.dataset.filter(([, , , upsertKey]) => upsertKey === true).map(([column]) => column);
  if (keys.toSorted().join() !== 'timestamp,uid') {
    throw unusable(tableId, `upserts on (${keys.join(', ')}), not on (timestamp, uid)`);
  }
};

const daysOfUnit: Readonly<Record<string, number>> = { HOUR: 1 / 24, DAY: 1, WEEK: 7, MONTH: 30, YEAR: 365 };

const daysOf = (value: unknown, unit: unknown): number | undefined =>
  Number(value) === 0 ? undefined : Number(value) * (daysOfUnit[String(unit)] ?? Number.NaN);

/** Days that each table keeps its rows, by name, without views; undefined: for ever. Throws the Faults of QuestdbSql. */
export const readTtls = async (sql: Pick<QuestdbSql, 'exec'>): Promise<Map<string, number | undefined>> => {
  const tables = await sql.exec("SELECT table_name, ttlValue, ttlUnit FROM tables() WHERE table_type <> 'V'");
  return new Map(tables.dataset.map(([name, value, unit]) => [String(name), daysOf(value, unit)]));
};

/** Reads the templates once from `<schemasFolder>/sql/questdb`. */
export const createQuestdbTables = (sql: QuestdbSql, schemasFolder: string): QuestdbTables => {
  const template = (name: string): string =>
    readFileSync(join(schemasFolder, 'sql', 'questdb', `${name}.sql`), 'utf8');
  const tableTemplates: Readonly<Record<Layout, string>> = {
    wide: template('wide'),
    narrow: template('narrow'),
  };
  const viewTemplate = template('metric-view');
  return {
    createTable: async (layout, tableId, ttlDays) => {
      const ttl = ttlDays === undefined ? '' : `TTL ${ttlDays}d`;
      await sql.exec(fill(tableTemplates[layout], { table: quoteIdentifier(tableId), ttl }));
      await checkTable(sql, layout, tableId);
    },
    createMetricView: async (tableId, column, metric) => {
      await sql.exec(
        fill(viewTemplate, {
          view: quoteIdentifier(`${viewPrefix(tableId)}${column}`),
          table: quoteIdentifier(tableId),
          metric: quoteLiteral(metric),
        }),
      );
    },
    setTtl: async (tableId, ttlDays) => {
      await sql.exec(`ALTER TABLE ${quoteIdentifier(tableId)} SET TTL ${ttlDays ?? 0}d`);
    },
    drop: async (tableId) => {
      // The table first: then no other view of it can be created.
      await sql.exec(`DROP TABLE IF EXISTS ${quoteIdentifier(tableId)}`);
      const views = await sql.exec(
        `SELECT view_name FROM views() WHERE starts_with(view_name, ${quoteLiteral(viewPrefix(tableId))})`,
      );
      for (const [view] of views.dataset) {
        await sql.exec(`DROP VIEW IF EXISTS ${quoteIdentifier(String(view))}`);
      }
    },
    ttls: () => readTtls(sql),
    names: async () =>
      (await sql.exec('SELECT table_name FROM tables()')).dataset.map(([name]) => String(name)),
  };
};

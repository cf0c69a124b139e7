import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorText, Fault } from '../../model/fault.ts';
import { type Clickhouse, database } from './client.ts';
import { clusterComment } from './cluster.ts';

/** One step of the schema: a file `NNN_name.sql` with one statement that may run again (IF NOT EXISTS, OR REPLACE, ADD COLUMN IF …). */
export type Migration = {
  readonly version: number;
  /** The file's name without `.sql`. */
  readonly name: string;
  readonly statement: string;
  /** SHA-256 of the file, hex. */
  readonly checksum: string;
};

const invalid = (text: string, cause?: unknown): Fault =>
  new Fault('permanent', 'migrations_invalid', text, cause);

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.sql'));
  } catch (error) {
    throw invalid(`the migrations folder cannot be read: ${errorText(error)}`, error);
  }
};

/** All steps in `folder`, by version. Throws a permanent Fault `migrations_invalid` that names the faulty file. */
export const readMigrations = (folder: string): Migration[] => {
  const migrations = namesIn(folder).map((file): Migration => {
    const digits = /^(\d{3})_[a-z0-9_]+\.sql$/.exec(file)?.[1];
    if (digits === undefined) throw invalid(`${join(folder, file)} is not named NNN_name.sql`);
    const statement = readFileSync(join(folder, file), 'utf8');
    const checksum = createHash('sha256').update(statement).digest('hex');
    return { version: Number(digits), name: file.slice(0, -'.sql'.length), statement, checksum };
  });
  migrations.sort((a, b) => a.version - b.version);
  for (const [index, { version, name }] of migrations.entries()) {
    const next = migrations[index + 1];
    if (next?.version === version) {
      throw invalid(`${name}.sql and ${next.name}.sql in ${folder} have the same number`);
    }
  }
  return migrations;
};

const appliedRow = z.object({ version: z.number(), name: z.string(), checksum: z.string() });

/** A step that some program has applied to this ClickHouse. */
export type AppliedMigration = z.output<typeof appliedRow>;

const ledger = `${database}.schema_migrations`;

/**
 * Every applied step, by version, also of newer programs. A version appears twice when it was applied with two contents. Before the
 * first migration a permanent Fault `clickhouse_rejected`.
 */
export const readApplied = (clickhouse: Clickhouse): Promise<AppliedMigration[]> =>
  clickhouse.rows(
    appliedRow,
    `SELECT DISTINCT version, name, checksum FROM ${ledger} ORDER BY version, checksum`,
  );

/** Throws the permanent Fault `tables_behind` where a step of `folder` was not applied: tables or columns are not there yet. */
export const refuseTablesBehind = async (clickhouse: Clickhouse, folder: string): Promise<void> => {
  const steps = readMigrations(folder);
  const applied = new Set((await readApplied(clickhouse)).map(({ version }) => version));
  const lacking = steps.findIndex(({ version }) => !applied.has(version));
  if (lacking === -1) return;
  const [has, needs] = [steps[lacking - 1]?.version ?? 0, steps.at(-1)?.version];
  throw new Fault(
    'permanent',
    'tables_behind',
    `the tables have version ${has}, this program needs ${needs}: run tidemark migrate`,
  );
};

/** The statements that create the database and the table of applied steps. */
export const ledgerStatements = (cluster: string | undefined): string[] => [
  `CREATE DATABASE IF NOT EXISTS ${database}`,
  // Two programs that record the same step at once leave two equal rows; two contents of a step remain two rows.
  `CREATE TABLE IF NOT EXISTS ${ledger}
    (version UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC'))
    ENGINE = ReplacingMergeTree ORDER BY (version, checksum)${clusterComment(cluster)}`,
];

/** Creates the database and the table of applied steps. */
export const prepareLedger = async (clickhouse: Clickhouse, cluster: string | undefined): Promise<void> => {
  for (const statement of ledgerStatements(cluster)) await clickhouse.run(statement);
};

/** Runs one step and records it. Throws the Faults of `toFault`, the file's name before their text. */
export const apply = async (
  clickhouse: Clickhouse,
  { version, name, statement, checksum }: Migration,
): Promise<void> => {
  try {
    await clickhouse.run(statement, { timeoutMs: 60_000 });
    await clickhouse.run(
      `INSERT INTO ${ledger} SELECT {version:UInt32}, {name:String}, {checksum:String}, now64(3)`,
      { params: { version, name, checksum } },
    );
  } catch (error) {
    if (error instanceof Fault)
      throw new Fault(error.kind, error.code, `${name}.sql: ${error.message}`, error);
    throw error;
  }
};

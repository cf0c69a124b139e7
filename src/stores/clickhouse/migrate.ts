import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { untilDone } from '../../runtime/until-done.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Clickhouse, createClickhouse, database } from './client.ts';
import {
  acrossCluster,
  onCluster,
  presentTables,
  refuseOtherCluster,
  statementsOfLacking,
} from './cluster.ts';
import { type ItemTable, itemTables } from './item-tables.ts';
import { alignDurability } from './migrate-durability.ts';
import { alignTtl, type ChangedTtl, type RetentionDays } from './migrate-ttl.ts';
import {
  type AppliedMigration,
  apply,
  ledgerStatements,
  type Migration,
  prepareLedger,
  readApplied,
  readMigrations,
} from './migrations.ts';

/** The steps of a run and the state of the tables. */
export type MigrateResult = {
  /** Names of the steps that this run applied, in order. */
  readonly applied: readonly string[];
  /** The highest step, of this program or a newer one. */
  readonly version: number;
  /** The tables whose TTL this run changed. */
  readonly ttlChanged: readonly ChangedTtl[];
  /** Names of the tables whose inserts wait for the disk, or no longer wait, since this run. */
  readonly durabilityChanged: readonly string[];
  /** Names of the steps that were applied before and again now, because their tables or views were missing. */
  readonly restored: readonly string[];
};

export type MigrateOptions = {
  readonly clickhouse: Clickhouse;
  /** Folder of the `NNN_name.sql` files. */
  readonly folder: string;
  readonly retentionDays?: RetentionDays;
  /** An insert is answered once its rows are on the disk and survive a power cut; default false. */
  readonly isPowerSafe?: boolean;
  /** The cluster on whose replicas the tables are; undefined for a single server. */
  readonly cluster?: string | undefined;
  readonly log: Log;
};

const refuseChanged = (
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
  folder: string,
): void => {
  for (const { version, name, checksum } of migrations) {
    const other = applied.find((step) => step.version === version && step.checksum !== checksum);
    if (other === undefined) continue;
    throw new Fault(
      'permanent',
      'migration_changed',
      `${folder}/${name}.sql differs from the applied migration ${other.name} (${other.checksum.slice(0, 12)}…): ` +
        'these tables were made by another build. Start that build, or restore a backup into an empty installation. Who changed the ' +
        'file restores it, and writes the change as a new file',
    );
  }
};

const unusable = (name: string, why: string): Fault =>
  new Fault('permanent', 'clickhouse_table_unusable', `table ${database}.${name} ${why}`);

const tableRow = z.object({ engine: z.string(), sorting_key: z.string() });
const columnRow = z.object({ name: z.string(), type: z.string() });

/** CREATE … IF NOT EXISTS accepts any table of that name; a table that does not collapse repeats would count them. */
const checkTable = async (
  clickhouse: Clickhouse,
  { name: table, columns: wanted }: ItemTable,
): Promise<void> => {
  const params = { database, table };
  const [found] = await clickhouse.rows(
    tableRow,
    'SELECT engine, sorting_key FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    { params },
  );
  if (found === undefined) throw unusable(table, 'does not exist');
  if (!found.engine.endsWith('ReplacingMergeTree')) {
    const why = `has the engine ${found.engine}, expected ReplacingMergeTree: another program created it`;
    throw unusable(table, why);
  }
  if (!found.sorting_key.endsWith(', uid')) {
    throw unusable(table, `is ordered by (${found.sorting_key}), expected uid at the end`);
  }
  const columns = await clickhouse.rows(
    columnRow,
    'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}',
    { params },
  );
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  for (const { name, type } of wanted) {
    const other = types.get(name);
    if (other !== type) throw unusable(table, `has ${other ?? 'no'} column ${name}, expected type ${type}`);
  }
};

/** Tables and views that a step creates. */
const madeBy = ({ statement }: Migration): string[] =>
  [...statement.matchAll(/^CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS otel\.(\w+)/gm)].flatMap(
    ([, name]) => name ?? [],
  );

/**
 * Applied steps whose table or view was dropped, or is missing on a new replica. They run again with all steps after them: a later
 * step may change the result of an earlier one, and each may be repeated.
 */
const stepsToRepeat = async (
  clickhouse: Clickhouse,
  migrations: readonly Migration[],
  known: ReadonlySet<number>,
  cluster: string | undefined,
): Promise<Migration[]> => {
  const present = await presentTables(clickhouse, cluster);
  const old = migrations.filter(({ version }) => known.has(version));
  const from = old.findIndex((step) => madeBy(step).some((name) => !present.has(name)));
  return from === -1 ? [] : old.slice(from);
};

const versionOf = (applied: readonly AppliedMigration[]): number =>
  applied.reduce((highest, { version }) => Math.max(highest, version), 0);

/**
 * Migrates the tables to the steps in `folder`: applies, in order, those without a record, and sets the TTL of the items to the
 * retention where one is given, and the durability of the tables, where they differ; recreates dropped ones. May run any number of times and in any
 * number of processes at once, and be killed anywhere. Throws the Faults of `toFault`, and permanent ones: `migrations_invalid`,
 * `migration_changed` (a file differs from the applied one), `clickhouse_cluster_differs` and `clickhouse_table_unusable` (another
 * program created a table of this name); nothing was applied then, except before the last.
 */
export const migrate = async ({
  clickhouse: server,
  folder,
  retentionDays = {},
  isPowerSafe = false,
  cluster,
  log,
}: MigrateOptions): Promise<MigrateResult> => {
  const migrations = readMigrations(folder);
  const clickhouse = acrossCluster(server, cluster);
  // Before the first change: on a cluster the tables of a single server would get others beside them.
  await refuseOtherCluster(clickhouse, cluster);
  await prepareLedger(clickhouse, cluster);
  // Again: another program may have created them meanwhile.
  await refuseOtherCluster(clickhouse, cluster);
  const before = await readApplied(clickhouse);
  refuseChanged(migrations, before, folder);
  const known = new Set(before.map(({ version }) => version));
  const made = new Set(migrations.flatMap(madeBy));
  const restored: string[] = [];
  if (cluster !== undefined)
    for (const statement of await statementsOfLacking(clickhouse, cluster, [...made]))
      await clickhouse.run(statement, { timeoutMs: 60_000 });
  for (const migration of await stepsToRepeat(clickhouse, migrations, known, cluster)) {
    await apply(clickhouse, migration);
    restored.push(migration.name);
    log.warn({ migration: migration.name }, 'migration applied again: its table was missing');
  }
  const applied: string[] = [];
  for (const migration of migrations) {
    if (known.has(migration.version)) continue;
    await apply(clickhouse, migration);
    applied.push(migration.name);
    log.info({ migration: migration.name }, 'migration applied');
  }
  const after = await readApplied(clickhouse);
  refuseChanged(migrations, after, folder);
  for (const table of itemTables) if (made.has(table.name)) await checkTable(clickhouse, table);
  const ttlChanged = await alignTtl(clickhouse, retentionDays);
  for (const { table, days } of ttlChanged) log.info({ table, days }, 'TTL changed');
  const durabilityChanged = await alignDurability(clickhouse, isPowerSafe);
  if (durabilityChanged.length > 0)
    log.info({ tables: durabilityChanged.join(), isPowerSafe }, 'durability changed');
  return { applied, version: versionOf(after), ttlChanged, durabilityChanged, restored };
};

/** The steps of a first `migrate`, in order, without the retention and durability that it then aligns. Permanent Fault `migrations_invalid`. */
export const schemaStatements = (folder: string, cluster: string | undefined): string[] => {
  const statements = [
    ...ledgerStatements(cluster),
    ...readMigrations(folder).map(({ statement }) => statement.trim()),
  ];
  return cluster === undefined ? statements : statements.map((statement) => onCluster(statement, cluster));
};

/**
 * Migrates the ClickHouse at `url` as soon as it answers: retries while it is away or busy, until `signal` fires (then throws its
 * reason). Throws the permanent Faults of `migrate` at once.
 */
export const migrateWhenUp = async ({
  url,
  signal,
  ...options
}: Omit<MigrateOptions, 'clickhouse'> & {
  readonly url: string;
  readonly signal: AbortSignal;
}): Promise<MigrateResult> => {
  const clickhouse = createClickhouse({ url, connectionsMax: 1 });
  let told = '';
  try {
    return await untilDone(
      () => migrate({ clickhouse, ...options }),
      signal,
      (error) => {
        if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
        if (error.message !== told) options.log.warn({ code: error.code }, `waiting: ${error.message}`);
        told = error.message;
      },
    );
  } finally {
    await clickhouse.close();
  }
};

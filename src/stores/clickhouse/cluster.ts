import { z } from 'zod';
import { clusterName } from '../../config/settings.ts';
import { Fault } from '../../model/fault.ts';
import { type Clickhouse, database } from './client.ts';

/** An unavailable replica fails the statement before the client's own deadline; the statement is done once the replica is back. */
const ddlSecondsMax = 50;
const ddlMsMax = 60_000;

const made =
  /^(CREATE (?:DATABASE|TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE) ([\w.]+)/m;
const engine = /^(\s*ENGINE = )((?:Replacing|Summing|Aggregating)?MergeTree)(?:\(([^()]*)\))?/m;

/**
 * The form of a statement for the replicas of a cluster: executed on all of them, tables replicated below a path of their own, and
 * equal blocks kept (the window of a replicated table would take them for repeats and lose their rows). The server puts its own
 * shard and replica into the braces. Statements that insert rows stay unchanged: tables replicate those.
 */
export const onCluster = (statement: string, cluster: string): string => {
  const [, , name = ''] = made.exec(statement) ?? [];
  if (name === '') return statement;
  const path = `'/clickhouse/tables/{shard}/${name.replace('.', '/')}', '{replica}'`;
  return statement
    .replace(made, `$1 $2 ON CLUSTER '${cluster}'`)
    .replace(engine, (_, begin: string, kind: string, argument: string | undefined) => {
      const rest = argument === undefined || argument === '' ? '' : `, ${argument}`;
      return `${begin}Replicated${kind}(${path}${rest})`;
    })
    .replace('non_replicated_deduplication_window', 'replicated_deduplication_window');
};

/** The same ClickHouse, whose tables are created and changed on every replica of the cluster. */
export const acrossCluster = (clickhouse: Clickhouse, cluster: string | undefined): Clickhouse => {
  if (cluster === undefined) return clickhouse;
  return {
    ...clickhouse,
    run: (statement, options = {}) => {
      const everywhere = onCluster(statement, cluster);
      if (everywhere === statement) return clickhouse.run(statement, options);
      return clickhouse.run(everywhere, {
        ...options,
        timeoutMs: ddlMsMax,
        settings: { ...options.settings, distributed_ddl_task_timeout: ddlSecondsMax },
      });
    },
  };
};

/** The comment of the table of applied steps, which names its cluster: every role reads it there. */
export const clusterComment = (cluster: string | undefined): string =>
  cluster === undefined ? '' : ` COMMENT 'cluster ${cluster}'`;

const commentRow = z.object({ comment: z.string() });

/** The target of `migrate` for the tables of Tidemark: a cluster, or a single server (undefined). */
export type MadeFor = { readonly cluster: string | undefined };

/** Undefined before the first migration. */
export const readCluster = async (clickhouse: Clickhouse): Promise<MadeFor | undefined> => {
  const [row] = await clickhouse.rows(
    commentRow,
    "SELECT comment FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'",
    { params: { database } },
  );
  if (row === undefined) return undefined;
  const name = /^cluster (.+)$/.exec(row.comment)?.[1];
  return { cluster: name !== undefined && clusterName.test(name) ? name : undefined };
};

/**
 * Refuses the other kind: tables of a single server cannot become a cluster's in place, nor the reverse. Accepts a database without
 * tables.
 */
export const refuseOtherCluster = async (
  clickhouse: Clickhouse,
  wanted: string | undefined,
): Promise<void> => {
  const made = await readCluster(clickhouse);
  if (made === undefined || made.cluster === wanted) return;
  const of = (name: string | undefined): string =>
    name === undefined ? 'a single server' : `cluster ${name}`;
  throw new Fault(
    'permanent',
    'clickhouse_cluster_differs',
    `the tables of database ${database} were made for ${of(made.cluster)}, and TIDEMARK_CLICKHOUSE_CLUSTER is ${of(wanted)}`,
  );
};

const nameRow = z.object({ name: z.string() });

/** Names of the existing tables and views of Tidemark; on a cluster, of those that exist on every replica. */
export const presentTables = async (
  clickhouse: Clickhouse,
  cluster: string | undefined,
): Promise<Set<string>> => {
  const everywhere =
    'SELECT name FROM clusterAllReplicas({cluster:String}, system.tables) WHERE database = {database:String} ' +
    'GROUP BY name HAVING uniqExact(hostName()) = (SELECT count() FROM system.clusters WHERE cluster = {cluster:String})';
  const rows =
    cluster === undefined
      ? await clickhouse.rows(nameRow, 'SELECT name FROM system.tables WHERE database = {database:String}', {
          params: { database },
        })
      : await clickhouse.rows(nameRow, everywhere, { params: { database, cluster } });
  return new Set(rows.map(({ name }) => name));
};

const createRow = z.object({ statement: z.string() });

/**
 * The statements that create those of these replicated tables that some replicas have and others lack, as they are now: Keeper holds their present
 * columns, and refuses a further replica with those that a table began with, or that a replica has which has not applied an ALTER yet.
 */
export const statementsOfLacking = async (
  clickhouse: Clickhouse,
  cluster: string,
  names: readonly string[],
): Promise<string[]> => {
  const rows = await clickhouse.rows(
    createRow,
    'SELECT argMax(create_table_query, metadata_modification_time) AS statement FROM clusterAllReplicas({cluster:String}, system.tables) ' +
      "WHERE database = {database:String} AND name IN {names:Array(String)} AND startsWith(engine, 'Replicated') GROUP BY name " +
      'HAVING uniqExact(hostName()) < (SELECT count() FROM system.clusters WHERE cluster = {cluster:String}) ORDER BY name',
    { params: { database, cluster, names } },
  );
  return rows.map(({ statement }) => statement.replace(/^CREATE TABLE /, 'CREATE TABLE IF NOT EXISTS '));
};

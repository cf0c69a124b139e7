import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { loadPipelines, retentionIn } from '../config/pipelines.ts';
import { clusterName } from '../config/settings.ts';
import { createLog } from '../telemetry/log.ts';
import type { JsonOption } from './options.ts';
import { printJson, printLines } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';
import { withClickhouse } from './with-engines.ts';

type MigrateCommand = JsonOption & { print?: true; cluster?: string };

const clusterArgument = (text: string): string => {
  if (clusterName.test(text)) return text;
  throw new InvalidArgumentError('It must be a name of letters, digits, _, . and -.');
};

const runMigrate = async ({ json, print, cluster: given }: MigrateCommand): Promise<void> => {
  const settings = loadCommandSettings();
  const folder = join(settings.schemasFolder, 'sql', 'clickhouse');
  const cluster = given ?? settings.clickhouse.cluster;
  if (print) {
    const { schemaStatements } = await import('../stores/clickhouse/migrate.ts');
    printLines(`${schemaStatements(folder, cluster).join(';\n\n')};`);
    return;
  }
  const retentionDays = retentionIn(loadPipelines(settings.pipelinesFolder));
  const { migrate } = await import('../stores/clickhouse/migrate.ts');
  await withClickhouse(settings, async (clickhouse) => {
    const { applied, version, ttlChanged, durabilityChanged, restored } = await migrate({
      clickhouse,
      folder,
      cluster,
      retentionDays,
      isPowerSafe: settings.durability === 'power',
      log: createLog('migrate', 'silent'),
    });
    if (json) {
      return printJson({
        applied,
        restored,
        version,
        ttl_changed: ttlChanged.map(({ table }) => table),
        durability_changed: durabilityChanged,
      });
    }
    const lines = [
      ...applied.map((name) => `applied ${name}`),
      ...restored.map((name) => `applied ${name} again: its table was missing`),
      ...ttlChanged.map(({ table, days }) => `${table} now keeps its rows for ${days} days`),
      ...durabilityChanged.map(
        (table) => `${table} now has the durability of TIDEMARK_DURABILITY: ${settings.durability}`,
      ),
    ];
    printLines([...lines, `schema version ${version}`].join('\n'));
  });
};

/** `tidemark migrate`. */
export const register = (program: Command): void => {
  program
    .command('migrate')
    .description(
      'update ClickHouse tables, retention of spans, log records and data points, and durability to this version and its settings; may be repeated',
    )
    .option(
      '--cluster <name>',
      'create replicated tables on this cluster; default TIDEMARK_CLICKHOUSE_CLUSTER',
      clusterArgument,
    )
    .option('--print', 'print the statements that create the tables, run nothing')
    .option('--json', 'print {applied, restored, version, ttl_changed, durability_changed} as JSON')
    .action(runMigrate);
};

import { join } from 'node:path';
import type { Command } from 'commander';
import { loadPipelines } from '../config/pipelines.ts';
import { engineUrls, loadSettings } from '../config/settings.ts';
import { createLog } from '../telemetry/log.ts';
import type { JsonOption } from './options.ts';
import { printJson } from './output.ts';

const runMigrate = async ({ json }: JsonOption): Promise<void> => {
  const settings = loadSettings();
  const { retentionDays } = loadPipelines(settings.pipelinesFolder, settings.schemasFolder).traces;
  // Loaded here: no other command but the roles needs the client.
  const { createClickhouse } = await import('../stores/clickhouse/client.ts');
  const { migrate } = await import('../stores/clickhouse/migrate.ts');
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  try {
    const { applied, version, ttlChanged, durabilityChanged, restored } = await migrate({
      clickhouse,
      folder: join(settings.schemasFolder, 'sql', 'clickhouse'),
      retentionDays,
      isPowerSafe: settings.durability === 'power',
      log: createLog('migrate', 'silent'),
    });
    if (json) {
      return printJson({
        applied,
        restored,
        version,
        ttl_changed: ttlChanged,
        durability_changed: durabilityChanged,
      });
    }
    const kept = retentionDays === undefined ? 'for ever' : `for ${retentionDays} days`;
    const lines = [
      ...applied.map((name) => `applied ${name}`),
      ...restored.map((name) => `applied ${name} again: what it made was gone`),
      ...ttlChanged.map((table) => `${table} now keeps its rows ${kept}`),
      ...durabilityChanged.map(
        (table) => `${table} is now as durable as TIDEMARK_DURABILITY says: ${settings.durability}`,
      ),
    ];
    process.stdout.write(`${[...lines, `schema version ${version}`].join('\n')}\n`);
  } finally {
    await clickhouse.close();
  }
};

/** `tidemark migrate`. */
export const registerMigrate = (program: Command): void => {
  program
    .command('migrate')
    .description(
      'bring the tables in ClickHouse up to this version, the retention of spans and the durability; may be repeated',
    )
    .option('--json', 'print {applied, restored, version, ttl_changed, durability_changed} as JSON')
    .action(runMigrate);
};

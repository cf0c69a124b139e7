import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { configurationFiles } from '../../../src/embedded/clickhouse-command.ts';
import { makeTables, startEngines } from '../stack/engines.ts';
import { keptFolder } from './kept-folder.ts';

// The tables of ClickHouse take forty statements, half again of what its start takes. Each test that wants them gets a copy of a folder
// in which they were made once.

const makeInto = async (folder: string): Promise<void> => {
  await using engines = await startEngines({ clickhouse: true }, { clickhouseFolder: folder });
  await makeTables(engines.clickhouse.url);
  // In order: a killed one would leave what it had not written.
  await engines.clickhouse.stop();
  for (const file of Object.values(configurationFiles)) rmSync(join(folder, file), { force: true });
};

/** Before all files of a run. */
export default async (): Promise<void> => {
  process.env['MADE_TABLES'] = await keptFolder(
    'tables',
    [
      'test/support/vitest/made-tables.ts',
      'test/support/stack/engines.ts',
      'schemas/sql/clickhouse/*.sql',
      'src/{embedded,stores/clickhouse}/**/*.ts',
    ],
    makeInto,
  );
};

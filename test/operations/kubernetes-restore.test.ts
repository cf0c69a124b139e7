import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { copyQuestdb } from '../../src/cli/streams-backup/stores.ts';
import { createQuestdbSql } from '../../src/stores/questdb/sql.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { openTempFolder, tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

/** What the Job `restore-questdb` runs. */
const script = (): string => {
  const text = readFileSync(join(deployFolder, 'kubernetes/restore/restore.yaml'), 'utf8');
  const container = z.looseObject({ args: z.array(z.string()) });
  const job = z.looseObject({
    metadata: z.looseObject({ name: z.string() }),
    spec: z.looseObject({
      template: z.looseObject({ spec: z.looseObject({ containers: z.tuple([container]) }) }),
    }),
  });
  const jobs = parseAllDocuments(text).map((document) => job.parse(document.toJS()));
  const found = jobs.find(({ metadata }) => metadata.name === 'restore-questdb');
  return found?.spec.template.spec.containers[0].args[0] ?? '';
};

const backup = '2026-11-20T02-10-00Z';
let backups: string;

/** The Job with this folder in the place of the volume of QuestDB. */
const restoreInto = async (volume: string): Promise<void> => {
  const text = script().replaceAll(/(?<=[\s"])\/(questdb|backup)(?=[\s/"])/g, (_, name) =>
    name === 'backup' ? backups : volume,
  );
  await run('sh', ['-euc', text], { env: { PATH: process.env['PATH'], BACKUP: backup } });
};

const numbersOf = async (engines: TestEngines): Promise<unknown[]> => {
  const sql = createQuestdbSql({ url: engines.questdb.url });
  try {
    const { dataset } = await sql.exec('SELECT number FROM kept ORDER BY number');
    return dataset.flat();
  } finally {
    await sql.close();
  }
};

let removeBackups: () => Promise<void>;

beforeAll(async () => {
  const folder = await openTempFolder();
  backups = folder.path;
  removeBackups = folder.remove;
  mkdirSync(join(backups, backup));
  await using engines = await startEngines({ questdb: true });
  const sql = createQuestdbSql({ url: engines.questdb.url });
  await sql.exec('CREATE TABLE kept (number LONG, time TIMESTAMP) TIMESTAMP(time) PARTITION BY DAY WAL');
  await sql.exec("INSERT INTO kept VALUES (1, '2026-11-19'), (2, '2026-11-20')");
  await until('the rows are applied', async () => {
    const { dataset } = await sql.exec('SELECT count() FROM kept');
    return Number(dataset[0]?.[0]) === 2 ? true : undefined;
  });
  await copyQuestdb({
    sql,
    name: 'default',
    root: join(engines.folder, 'questdb'),
    to: join(backups, backup, 'questdb'),
    isLeftoverReleased: false,
  });
  await sql.close();
});
afterAll(() => removeBackups?.());
afterEach(() => {
  vi.unstubAllEnvs();
});

// Without its checkpoint a restored QuestDB does not start.
it('QuestDB starts on the files that the Job restore-questdb has put back, and has its rows', async () => {
  const folder = await tempFolder();
  await restoreInto(folder);
  await using engines = await startEngines(
    { questdb: true },
    {
      onFolder: (_, own): undefined => {
        cpSync(folder, own, { recursive: true });
      },
    },
  );
  expect(await numbersOf(engines)).toEqual([1, 2]);
});

// Its volume is made with its pod, which may start before the set is scaled to 0.
it('the Job restore-questdb replaces what a QuestDB without tables has written, and no table', async () => {
  // As in the cluster, where it writes two tables of its own more.
  vi.stubEnv('QDB_TELEMETRY_DISABLE_COMPLETELY', 'false');
  await using engines = await startEngines({ questdb: true });
  const volume = join(engines.folder, 'questdb');
  expect(existsSync(join(volume, 'db'))).toBe(true);
  await engines.questdb.stop();
  await restoreInto(volume);
  await engines.questdb.start();
  expect(await numbersOf(engines)).toEqual([1, 2]);

  await engines.questdb.stop();
  await expect(restoreInto(volume)).rejects.toThrow('QuestDB has data');
  expect(existsSync(join(volume, '_restore'))).toBe(false);
  await engines.questdb.start();
  expect(await numbersOf(engines)).toEqual([1, 2]);
});

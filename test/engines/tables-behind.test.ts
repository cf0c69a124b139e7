import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { lookAtClickhouse } from '../../src/doctor/dependencies.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { isOfMissingTables, readErrorText } from '../../src/stores/clickhouse/faults.ts';
import { migrate } from '../../src/stores/clickhouse/migrate.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const ownFolder = new URL('../../schemas/sql/clickhouse', import.meta.url).pathname;
const steps = readdirSync(ownFolder);
const version = Math.max(...steps.map((name) => Number(name.slice(0, 3))));

let engines: TestEngines;
let clickhouse: Clickhouse;
beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await clickhouse.run('DROP DATABASE IF EXISTS otel SYNC');
});

const run = (folder = ownFolder) => migrate({ clickhouse, folder, log: createLog('test', 'silent') });
const folderCopy = async (): Promise<string> => {
  const folder = await tempFolder();
  cpSync(ownFolder, folder, { recursive: true });
  return folder;
};

describe('the look of doctor at the tables', () => {
  const tables = async () => {
    const folder = new URL('../../schemas', import.meta.url).pathname;
    const findings = await lookAtClickhouse(
      clickhouse,
      { read: async () => ({ rows: [], rowsRead: 0 }) },
      folder,
    );
    return findings.find(({ name }) => name === 'tables of clickhouse');
  };

  // An upgrade without its migration: the account was unknown for it, and doctor said that all tables exist.
  it('names the version that tables of an earlier program lack, and the remedy', async () => {
    const folder = await folderCopy();
    for (const name of steps.filter((name) => name >= '043')) rmSync(join(folder, name));
    await run(folder);
    expect(await tables()).toMatchObject({
      ok: false,
      detail: `the tables have version 42, this program needs ${version}: run tidemark migrate`,
    });
    await run();
    expect(await tables()).toMatchObject({ ok: true, detail: 'all exist' });
  });

  it('takes tables of a later program', async () => {
    const folder = await folderCopy();
    writeFileSync(join(folder, `${String(version + 1).padStart(3, '0')}_later.sql`), 'SELECT 1');
    await run(folder);
    expect(await tables()).toMatchObject({ ok: true });
  });

  it('and a failed read of a missing table say what to run', async () => {
    await run();
    const read = clickhouse.rows(z.object({}), 'SELECT no_such_column FROM otel.ingest_settled');
    const error: unknown = await read.catch((reason: unknown) => reason);
    expect(isOfMissingTables(error)).toBe(true);
    expect(readErrorText(error)).toMatch(/UNKNOWN_IDENTIFIER.*run tidemark migrate/);
  });
});

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Durability } from '../../src/config/settings.ts';
import { createNatsEngine } from '../../src/embedded/nats.ts';
import { createQuestdbEngine } from '../../src/embedded/questdb.ts';
import { createQuestdbSql } from '../../src/stores/questdb/sql.ts';
import { commitsAreSynced } from '../../src/stores/questdb/table-states.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const host = '127.0.0.1';
const log = (): void => {};
const cases: [Durability, boolean][] = [
  ['process', false],
  ['power', true],
];

// No test can prove that the disk itself keeps its promise at a loss of power: these test the settings of the engines.
describe.each(cases)('durability %s of the embedded engines', (durability, isSynced) => {
  it(`NATS ${isSynced ? 'syncs' : 'does not sync'} before it confirms a publish`, async () => {
    const folder = await tempFolder();
    const [client = 0] = await takePorts(1);
    const engine = createNatsEngine({ folder, host, ports: { client }, log, durability });
    onTestFinished(() => engine.kill());
    await engine.start();
    const answer = await engine.ask('JSZ', { config: true });
    const { config } = z.object({ config: z.object({ sync_always: z.boolean().optional() }) }).parse(answer);
    expect(config.sync_always ?? false).toBe(isSynced);
  });

  it(`QuestDB ${isSynced ? 'syncs' : 'does not sync'} before it confirms a commit`, async () => {
    const folder = join(await tempFolder(), 'questdb');
    await mkdir(folder);
    const [http = 0, pg = 0] = await takePorts(2);
    const engine = createQuestdbEngine({ folder, host, ports: { http, pg }, log, durability });
    const sql = createQuestdbSql({ url: engine.url });
    onTestFinished(async () => {
      await sql.close();
      await engine.kill();
    });
    await engine.start();
    expect(await commitsAreSynced(sql)).toBe(isSynced);
  });
});

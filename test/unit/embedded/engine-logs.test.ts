import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEngineLogs, engineLogFile, logsFolder } from '../../../src/embedded/engine-logs.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const nothing = (): void => {};

const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(logsFolder(folder)).map((name) => [
      name,
      readFileSync(join(logsFolder(folder), name), 'utf8'),
    ]),
  );

describe('the logs of the engines', () => {
  it('are a file for each engine, for their owner alone, with every line at once', async () => {
    const folder = await tempFolder();
    const log = createEngineLogs(folder, nothing);
    log('questdb', 'one');
    log('nats', 'two');
    log('questdb', 'three');
    expect(contentOf(folder)).toEqual({ 'questdb.log': 'one\nthree\n', 'nats.log': 'two\n' });
    expect(statSync(engineLogFile(folder, 'nats')).mode & 0o077).toBe(0);
  });

  // They are read with cat and less.
  it('hold nothing that a terminal obeys', async () => {
    const folder = await tempFolder();
    createEngineLogs(folder, nothing)('nats', 'red \u001b[31m');
    expect(contentOf(folder)).toEqual({ 'nats.log': 'red \\u{1b}[31m\n' });
  });

  it('restart at each start, and keep those of the last three', async () => {
    const folder = await tempFolder();
    for (const start of [1, 2, 3, 4, 5]) createEngineLogs(folder, nothing)('nats', `start ${start}`);
    expect(contentOf(folder)).toEqual({
      'nats.log': 'start 5\n',
      'nats.log.1': 'start 4\n',
      'nats.log.2': 'start 3\n',
      'nats.log.3': 'start 2\n',
    });
  });

  it('never take more than their bound, however long the engine runs', async () => {
    const folder = await tempFolder();
    const log = createEngineLogs(folder, nothing, { fileBytesMax: 100, olderMax: 2 });
    for (let line = 0; line < 1_000; line++) log('clickhouse', `line ${line}`);
    const files = contentOf(folder);
    expect(Object.keys(files).sort()).toEqual(['clickhouse.log', 'clickhouse.log.1', 'clickhouse.log.2']);
    for (const text of Object.values(files)) expect(text.length).toBeLessThanOrEqual(100);
    expect(files['clickhouse.log']).toMatch(/line 999\n$/);
  });

  it('say once that they cannot be written, and go on where they can', async () => {
    const folder = await tempFolder();
    writeFileSync(logsFolder(folder), 'a file where the folder belongs');
    const told: string[] = [];
    const log = createEngineLogs(folder, (source, line) => told.push(`${source}: ${line}`));
    log('nats', 'lost');
    log('nats', 'lost, too');
    expect(told).toEqual([expect.stringMatching(/^nats: its log cannot be written: /)]);
    rmSync(logsFolder(folder));
    log('nats', 'written');
    expect(contentOf(folder)).toEqual({ 'nats.log': 'written\n' });
  });
});

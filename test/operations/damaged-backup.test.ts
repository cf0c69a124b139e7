import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { restoredQuestdb } from '../../src/embedded/restoring.ts';
import { type Cli, createCli } from '../support/clients/cli.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { killUp, startUp, type Up, untilReady } from '../support/stack/up-process.ts';

const created = z.object({ data_source: z.object({ mon_data_id: z.number() }) });

const commandsOn = (folder: string): Cli =>
  createCli(() => ({ PATH: process.env['PATH'], TIDEMARK_DATA: folder }));

const start = async (folder: string, option: string): Promise<Up> => {
  const up = startUp(folder, {}, [option]);
  onTestFinished(() => killUp(up));
  await untilReady(up);
  return up;
};
const stop = async (up: Up): Promise<void> => {
  up.child.kill('SIGTERM');
  expect(await up.exitCode, up.lines.join('\n')).toBe(0);
};

/** A backup of an installation with one point. */
const makeBackup = async (): Promise<{ backup: string; dataId: number }> => {
  const folder = await tempFolder();
  const up = await start(folder, '--no-demo');
  const cli = commandsOn(folder);
  const source = await cli.json(created, 'report create --biz 2 --name damaged');
  const dataId = source.data_source.mon_data_id;
  await cli.text(`push ${dataId} cpu=1.5`);
  const backup = join(await tempFolder(), 'copy');
  await cli.text(`backup --to ${backup}`);
  await stop(up);
  return { backup, dataId };
};

const removeTable = (questdb: string, dataId: number): string => {
  const db = join(questdb, 'db');
  const table = readdirSync(db).find((name) => name.includes(`_${dataId}.`)) ?? '';
  expect(table).not.toBe('');
  rmSync(join(db, table), { recursive: true });
  return table;
};

const copyOf = async (backup: string): Promise<string> => {
  const copy = join(await tempFolder(), 'copy');
  cpSync(backup, copy, { recursive: true });
  return copy;
};

/** As earlier versions made it, which did not list the files. */
const withoutList = (backup: string): void => {
  const file = join(backup, 'backup.json');
  const { files: _, ...earlier } = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify(earlier));
};

it('a damaged backup changes nothing, or leaves engines that take a repeat and a good one, also after a restart', async () => {
  const { backup, dataId } = await makeBackup();
  const folder = await tempFolder();
  const cli = commandsOn(folder);
  const engines = await start(folder, '--engines-only');

  const damaged = await copyOf(backup);
  const table = removeTable(join(damaged, 'questdb'), dataId);
  const refused = await cli.run(`restore ${damaged}`);
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`questdb/db/${table}/`),
  });
  expect(existsSync(join(folder, 'restoring.json'))).toBe(false);

  withoutList(damaged);
  for (const _ of ['first', 'repeat']) {
    const { code, stderr } = await cli.run(`restore ${damaged}`);
    expect([code, stderr]).toEqual([1, expect.stringContaining('QuestDB does not start on its files')]);
    expect(stderr).toContain('were not compared');
    expect(stderr).toContain(table);
  }

  // As where it was killed between the copy and the start of QuestDB.
  await stop(engines);
  cpSync(join(damaged, 'questdb'), restoredQuestdb(folder), { recursive: true });
  writeFileSync(join(restoredQuestdb(folder), '_restore'), '');
  const again = await start(folder, '--engines-only');

  expect(await cli.text(`restore ${backup}`)).toMatch(/\d files of the databases compared/);
  await stop(again);
  const up = await start(folder, '--no-demo');
  expect(await cli.text(`query points --data-id ${dataId} --metric cpu --raw`)).toMatch(/\b1\.5\b/);
  await stop(up);
}, 600_000);

import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { restoreAll } from '../../../src/cli/streams-backup/restore-all.ts';
import { copyFolder } from '../../../src/cli/streams-backup/stores.ts';
import { finishWholeFolder } from '../../../src/cli/streams-backup/whole-folder.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

/** A root folder of QuestDB of which a partition is on another disk. */
const linkedRoot = async (): Promise<{ root: string; db: string; disk: string }> => {
  const [root, disk] = [await tempFolder(), await tempFolder()];
  const db = join(root, 'db');
  mkdirSync(join(disk, '2026-11-20'));
  writeFileSync(join(disk, '2026-11-20', 'value.d'), 'points');
  mkdirSync(db);
  symlinkSync(join(disk, '2026-11-20'), join(db, '2026-11-20'));
  return { root, db, disk };
};

// An operator moves folders of QuestDB to a larger disk, and leaves links.
describe('a copy of a database', () => {
  it('holds what links in it lead to, and no link', async () => {
    const { root } = await linkedRoot();
    const to = join(await tempFolder(), 'questdb');
    await copyFolder(root, to);
    const copied = join(to, 'db', '2026-11-20');
    expect(lstatSync(copied).isDirectory()).toBe(true);
    expect(readFileSync(join(copied, 'value.d'), 'utf8')).toBe('points');
  });

  // cp names each of thousands of files.
  it('that does not fit says once that there is no room, and where', async () => {
    const { root } = await linkedRoot();
    const [bin, parent] = [await tempFolder(), await tempFolder()];
    const line = "cp: error writing '/backup/a.d': No space left on device";
    writeFileSync(join(bin, 'cp'), `#!/bin/sh\necho "${line}\n${line}" >&2\nexit 1\n`, { mode: 0o755 });
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const to = join(parent, 'questdb');
    await expect(copyFolder(root, to)).rejects.toMatchObject({
      code: 'copy_failed',
      message: `${root} was not copied (no room in ${to})`,
    });
  });

  it.each([
    ['to nothing', 'nowhere'],
    ['to itself', 'link'],
    ['to a folder above', '..'],
  ])('fails at a link %s, and names it', async (_, target) => {
    const { root, db } = await linkedRoot();
    symlinkSync(target, join(db, 'link'));
    await expect(copyFolder(root, join(await tempFolder(), 'questdb'))).rejects.toMatchObject({
      code: 'copy_failed',
      message: expect.stringMatching(new RegExp(`^${root} was not copied \\(cp: [^\\n]*${join(db, 'link')}`)),
    });
  });
});

// A link of the copy leads to the files of the first installation, which QuestDB would then write.
it('a restore refuses a backup whose copy of QuestDB has a link, and names it', async () => {
  const folder = await tempFolder();
  const { disk } = await linkedRoot();
  mkdirSync(join(folder, 'questdb', 'db'), { recursive: true });
  symlinkSync(disk, join(folder, 'questdb', 'db', 'points'));
  const at = '2026-11-23T02:10:00.000Z';
  await finishWholeFolder(folder, {
    ...{ program: '1.0.0', started_at: at, finished_at: at },
    parts: ['nats', 'questdb', 'clickhouse'],
  });
  const settings = loadSettings({ TIDEMARK_DATA: await tempFolder() });
  const watch = { onStream: () => {}, onDatabase: () => {}, onChecked: () => {}, onColumnsLost: () => {} };
  await expect(restoreAll(settings, folder, watch)).rejects.toMatchObject({
    code: 'backup_unusable',
    message: expect.stringContaining(join(folder, 'questdb', 'db', 'points')),
  });
});

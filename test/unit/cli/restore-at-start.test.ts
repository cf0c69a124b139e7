import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { restoreAll } from '../../../src/cli/streams-backup/restore-all.ts';
import { finishWholeFolder } from '../../../src/cli/streams-backup/whole-folder.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { lockFolder } from '../../../src/embedded/lock.ts';
import { noteEnginesOnly } from '../../../src/embedded/restoring.ts';
import { addressesFile, upFolder } from '../../../src/embedded/up-files.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

// It said that roles run, and to stop the tidemark up --engines-only that was starting.
it('a restore beside a tidemark up that is starting says so, and names roles only where some run', async () => {
  const [folder, dataFolder] = [await tempFolder(), await tempFolder()];
  const at = '2026-11-23T02:10:00.000Z';
  const parts = ['nats', 'questdb', 'clickhouse'];
  mkdirSync(join(folder, 'questdb'));
  await finishWholeFolder(folder, { program: '1.0.0', started_at: at, finished_at: at, parts });
  const lock = await lockFolder(dataFolder);
  onTestFinished(() => lock.release());
  const settings = loadSettings({ TIDEMARK_DATA: dataFolder });
  const watch = { onStream: () => {}, onDatabase: () => {}, onChecked: () => {}, onColumnsLost: () => {} };
  const refused = (code: string, words: string) =>
    expect(restoreAll(settings, folder, watch)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });

  await refused('engines_not_running', 'is starting');
  mkdirSync(upFolder(dataFolder));
  noteEnginesOnly(dataFolder, 'starting');
  writeFileSync(addressesFile(dataFolder), '{}');
  await refused('engines_not_running', 'is starting');

  const withRoles = await tempFolder();
  const other = await lockFolder(withRoles);
  onTestFinished(() => other.release());
  mkdirSync(upFolder(withRoles));
  writeFileSync(addressesFile(withRoles), '{}');
  const ofRoles = loadSettings({ TIDEMARK_DATA: withRoles });
  await expect(restoreAll(ofRoles, folder, watch)).rejects.toMatchObject({ code: 'roles_running' });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { locateDatabases } from '../../../src/cli/streams-backup/back-up.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const destination = "S3('https://bucket/{name}','key','secret')";
const none = { questdbRoots: [], clickhouseFiles: undefined, clickhouseTo: undefined };

// On a command line every user of the machine could read the key.
describe('the destination of ClickHouse in a setting', () => {
  const settingsOf = (dataFolder: string) =>
    loadSettings({ TIDEMARK_DATA: dataFolder, TIDEMARK_CLICKHOUSE_BACKUP_TO: destination });

  it('is used beside the folders of QuestDB, and an option takes its place', async () => {
    const settings = settingsOf(await tempFolder());
    const questdbRoots = [['default', '/questdb']] as const;
    const given = { ...none, questdbRoots };
    expect(locateDatabases(settings, given)).toEqual({ ...given, clickhouseTo: destination });
    const toFile = { ...given, clickhouseTo: "File('{name}')" };
    expect(locateDatabases(settings, toFile)).toEqual(toFile);
    const files = { ...given, clickhouseFiles: '/backups' };
    expect(locateDatabases(settings, files)).toEqual(files);
  });

  it('leaves no database of tidemark up out', async () => {
    const folder = await tempFolder();
    expect(() => locateDatabases(settingsOf(folder), none)).toThrow('--questdb-root');
    mkdirSync(join(folder, 'questdb', 'db'), { recursive: true });
    expect(locateDatabases(settingsOf(folder), none)).toEqual({
      questdbRoots: [['default', join(folder, 'questdb')]],
      clickhouseFiles: undefined,
      clickhouseTo: destination,
    });
  });
});

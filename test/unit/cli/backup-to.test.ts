import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWholeFolder } from '../../../src/cli/streams-backup/whole-folder.ts';
import { register } from '../../../src/cli/streams-backup.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

describe('a backup into a folder of its own', () => {
  let parent: string;

  /** Its data folder has no database, so it fails before it asks an engine. */
  const fail = async (folder: string): Promise<void> => {
    const program = new Command();
    register(program);
    await expect(program.parseAsync(['backup', '--to', folder], { from: 'user' })).rejects.toMatchObject({
      code: 'config_invalid',
    });
  };

  beforeEach(async () => {
    vi.stubEnv('TIDEMARK_DATA', await tempFolder());
    // It is the mask of the whole process, tests beside this one too.
    vi.spyOn(process, 'umask').mockReturnValue(0);
    parent = await tempFolder();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it('that fails leaves nothing of itself, and an empty folder that was there', async () => {
    await fail(join(parent, 'monday'));
    expect(readdirSync(parent)).toEqual([]);
    await fail(parent);
    expect(readdirSync(parent)).toEqual([]);
  });

  // The guide says to repeat a command whose backup failed.
  it('may be repeated after parts of it were written', async () => {
    const folder = join(parent, 'a', 'monday');
    for (const before of ['new', 'there']) {
      if (before === 'there') mkdirSync(folder);
      const discard = await createWholeFolder(folder);
      mkdirSync(join(folder, 'nats'));
      writeFileSync(join(folder, 'nats', 'METRICS.snapshot'), '');
      await discard();
      expect(existsSync(folder)).toBe(before === 'there');
      await createWholeFolder(folder).then((again) => again());
    }
  });

  // It holds tokens.
  it('makes an empty folder that was there readable for its owner alone', async () => {
    chmodSync(parent, 0o755);
    await createWholeFolder(parent);
    expect(statSync(parent).mode & 0o777).toBe(0o700);
  });
});

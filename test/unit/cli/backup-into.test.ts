import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { register } from '../../../src/cli/streams-backup.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const dayMs = 24 * 3_600_000;

describe('a backup into a folder of backups that fails', () => {
  let parent: string;

  /** Its data folder has no database, so it fails before it asks an engine. */
  const fail = async (...more: string[]): Promise<void> => {
    const program = new Command();
    register(program);
    const args = ['backup', '--into', parent, ...more];
    await expect(program.parseAsync(args, { from: 'user' })).rejects.toMatchObject({
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
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  // A volume that was full once would stay full.
  it('leaves nothing of itself', async () => {
    await fail();
    expect(readdirSync(parent)).toEqual([]);
  });

  it('has removed abandoned ones before, and no whole one', async () => {
    for (const name of ['2026-11-20T02-10-00Z', '2026-11-21T02-10-00Z', '2026-11-22T02-10-00Z.incomplete'])
      mkdirSync(join(parent, name));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * dayMs });
    await fail('--keep', '1');
    expect(readdirSync(parent).toSorted()).toEqual(['2026-11-20T02-10-00Z', '2026-11-21T02-10-00Z']);
  });
});

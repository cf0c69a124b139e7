import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBackupFolder } from '../../../src/cli/streams-backup/folder.ts';
import { createWholeFolder } from '../../../src/cli/streams-backup/whole-folder.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

// As root, which tests may run as, every folder can be changed.
const refuseChmod = (code: string): void => {
  vi.spyOn(fs.promises, 'chmod').mockRejectedValue(Object.assign(new Error(`${code}: chmod`), { code }));
  syncBuiltinESMExports();
};

// As the volume of a pod with an fsGroup, which belongs to root.
describe.each([
  ['a backup', createWholeFolder],
  ['a copy of streams', createBackupFolder],
])('an empty folder of another owner, for %s', (_, create) => {
  let folder: string;

  beforeEach(async () => {
    folder = await tempFolder();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('is taken as it is', async () => {
    refuseChmod('EPERM');
    await create(folder);
  });

  it('is refused where its disk takes no changes', async () => {
    refuseChmod('EROFS');
    await expect(create(folder)).rejects.toMatchObject({ kind: 'permanent', code: 'file_unwritable' });
  });
});

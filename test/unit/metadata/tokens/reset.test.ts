import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ResetTokens, resetAdminToken } from '../../../../src/metadata/tokens/reset.ts';
import { createMemoryBucket, type MemoryBucket } from '../../../support/stack/memory-bucket.ts';
import { tempFolder } from '../../../support/stack/temp-folder.ts';

const key = 'admin_tokens';

describe('the reset of the admin token', () => {
  let system: MemoryBucket;
  let folder: string;

  beforeEach(async () => {
    system = createMemoryBucket();
    folder = await tempFolder();
    await resetAdminToken(system, folder, false);
  });

  it('changes nothing where the folder cannot be written', async () => {
    const before = await system.get(key);
    const notThere = join(folder, 'file', 'data');
    await writeFile(join(folder, 'file'), '');
    await expect(resetAdminToken(system, notThere, true)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'admin_token_unwritable',
    });
    expect(await system.get(key)).toEqual(before);
  });

  it('leaves the file as it is where the records cannot be changed', async () => {
    const before = await readFile(join(folder, 'admin.token'), 'utf8');
    const broken = { ...system, update: () => Promise.reject(new Error('no answer')) };
    await expect(resetAdminToken(broken, folder, true)).rejects.toThrow('no answer');
    expect(await readdir(folder)).toEqual(['admin.token']);
    expect(await readFile(join(folder, 'admin.token'), 'utf8')).toBe(before);
  });

  // The audit log has it then, and the new token is not lost.
  it('tells what it changed, and names the file that has the token, where that cannot be renamed', async () => {
    const told: ResetTokens[] = [];
    const other = join(folder, 'other');
    await mkdir(join(other, 'admin.token'), { recursive: true });
    const [, draft = ''] = await resetAdminToken(system, other, true, (done) => told.push(done)).then(
      () => [],
      (error: unknown) => /is in (\S+);/.exec(String(error)) ?? [],
    );
    expect(await readFile(draft, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
    expect(told).toMatchObject([{ record: { token_id: 2 }, revoked: [{ token_id: 1 }] }]);
  });
});

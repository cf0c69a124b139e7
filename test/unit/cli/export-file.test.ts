import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePrivately } from '../../../src/cli/backup.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

describe('the file of an export', () => {
  it('takes the place of an earlier one, and is readable for its owner alone', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'records.json');
    writeFileSync(file, 'earlier', { mode: 0o644 });
    await writePrivately(file, 'records');
    expect(readFileSync(file, 'utf8')).toBe('records');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['records.json']);
  });

  // As root, /dev/stdout of the whole machine would be replaced.
  it('is written into a pipe or device, which stays', async () => {
    const pipe = join(await tempFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const read = readFile(pipe, 'utf8');
    await writePrivately(pipe, 'records');
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(await read).toBe('records');
  });

  it.each(['there', 'missing'])(
    'is written where a link leads to, and the link stays: target %s',
    async (target) => {
      const [folder, disk] = [await tempFolder(), await tempFolder()];
      const [file, link] = [join(disk, 'records.json'), join(folder, 'link')];
      if (target === 'there') writeFileSync(file, 'earlier', { mode: 0o644 });
      symlinkSync(file, link);
      await writePrivately(link, 'records');
      expect(readlinkSync(link)).toBe(file);
      expect(readFileSync(file, 'utf8')).toBe('records');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect([readdirSync(folder), readdirSync(disk)]).toEqual([['link'], ['records.json']]);
    },
  );
});

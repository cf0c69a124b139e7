import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
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

  // As /dev/stdout of a command with `>> file`: it is a link to that file.
  it('is written behind what is there through a descriptor, whose file stays', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'log');
    writeFileSync(file, 'earlier ');
    const handle = await open(file, 'a');
    try {
      await writePrivately(`/proc/self/fd/${handle.fd}`, 'records ');
      await handle.writeFile('later');
    } finally {
      await handle.close();
    }
    expect(readFileSync(file, 'utf8')).toBe('earlier records later');
    expect(readdirSync(folder)).toEqual(['log']);
  });

  it.each([
    ['>> to the standard output', 'a', 'earlier\n'],
    ['> to the standard output', 'w', ''],
  ])('is all that %s gets', async (_, flags, before) => {
    const file = join(await tempFolder(), 'records');
    writeFileSync(file, 'earlier\n');
    const records = { custom_reports: {}, applications: {} };
    const api = createServer((_request, answer) => answer.end(JSON.stringify(records)));
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void api.close());
    const address = api.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const out = openSync(file, flags);
    const program = join(import.meta.dirname, '../../../src/main.ts');
    const child = spawn(process.execPath, [program, 'export', '--output', '/dev/stdout'], {
      env: {
        PATH: process.env.PATH,
        TIDEMARK_ADMIN_URL: `http://127.0.0.1:${address.port}`,
        TIDEMARK_ADMIN_TOKEN: 't',
      },
      stdio: ['ignore', out, 'inherit'],
    });
    const [code] = await once(child, 'exit');
    closeSync(out);
    expect(code).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(text.slice(0, before.length)).toBe(before);
    expect(JSON.parse(text.slice(before.length))).toEqual(records);
  });
});

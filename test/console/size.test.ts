import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const assets = join(root, 'console/dist/assets');

const zipped = (ending: string): number =>
  readdirSync(assets)
    .filter((name) => name.endsWith(ending))
    .reduce((bytes, name) => bytes + gzipSync(readFileSync(join(assets, name)), { level: 9 }).length, 0);

it('all scripts and styles of the console are at most 80 kB, styles at most 12 kB of them', () => {
  expect(zipped('.js') + zipped('.css')).toBeLessThanOrEqual(80_000);
  expect(zipped('.css')).toBeLessThanOrEqual(12_000);
});

it('the console has at most 11,502 lines of source', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', 'console/src'], {
    cwd: root,
  })
    .toString()
    .split('\n')
    .filter((file) => /\.(tsx?|css)$/.test(file) && !file.endsWith('schema.d.ts'));
  const lines = files.map((file) => readFileSync(join(root, file), 'utf8').split('\n').length - 1);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(11_502);
});

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');

type Ended = { readonly code: unknown; readonly out: string; readonly error: string };

const tidemark = (...args: string[]): Promise<Ended> =>
  new Promise((done) => {
    execFile(process.execPath, [join(root, 'src/main.ts'), ...args], (error, out, text) =>
      done({ code: error === null ? 0 : error.code, out, error: text }),
    );
  });

it('--version prints the number alone', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(await tidemark('--version')).toEqual({ code: 0, out: `${version}\n`, error: '' });
});

it.each([
  [['legder'], "error: unknown command 'legder' (Did you mean ledger?); --help lists what there is\n"],
  [
    ['dlq', 'lst', '--json'],
    "error: unknown command 'lst' (Did you mean list?); --help lists what there is\n",
  ],
  [
    ['ledger', '--snce', '1h'],
    "error: unknown option '--snce' (Did you mean --since?); --help lists what there is\n",
  ],
])('a wrong word is answered in one line: %j', async (args, error) => {
  expect(await tidemark(...args)).toEqual({ code: 1, out: '', error });
});

it('the help of all commands fits 80 columns', async () => {
  const { code, out } = await tidemark('--help');
  expect(code).toBe(0);
  expect(out).toMatch(/^ {2}push +send one point/m);
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

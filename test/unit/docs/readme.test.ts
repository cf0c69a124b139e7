import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { files } from '../../../tools/package.ts';
import { codeBlocksOf, readDocument, root } from '../../support/docs-code.ts';

it('the first line of README makes tidemark a command in any folder, on the data of this one', () => {
  const first = codeBlocksOf(readDocument('README.md')).find(({ heading }) => heading === 'First steps');
  const [line = ''] = first?.code.split('\n') ?? [];
  const script = `${line}\ncd /\ncommand -v tidemark\necho "$TIDEMARK_DATA"`;
  const printed = execFileSync('sh', ['-euc', script], { cwd: root, env: { PATH: process.env['PATH'] } });
  expect(String(printed)).toBe(`${join(root, 'bin/tidemark')}\n${join(root, '.tidemark')}\n`);
});

// Its reader has no clone.
it('every file that README names is in the npm package', () => {
  const text = readDocument('README.md');
  const links = text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g);
  const places = text.matchAll(/`((?:clients|console|deploy|docs|pipelines|schemas)\/[\w./-]+)`/g);
  const named = new Set([...links, ...places].map(([, path = '']) => path));
  expect(named.size).toBeGreaterThan(40);
  const isPacked = (path: string): boolean =>
    files.some((file) => path === file || path.startsWith(`${file}/`) || file.startsWith(path));
  expect([...named].filter((path) => !existsSync(join(root, path)) || !isPacked(path))).toEqual([]);
  expect(isPacked('deploy/.env')).toBe(false);
});

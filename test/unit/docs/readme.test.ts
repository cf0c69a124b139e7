import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { codeBlocksOf, readDocument, root } from '../../support/docs-code.ts';

it('the first line of README makes tidemark a command in any folder, on the data of this one', () => {
  const first = codeBlocksOf(readDocument('README.md')).find(({ heading }) => heading === 'First steps');
  const [line = ''] = first?.code.split('\n') ?? [];
  const script = `${line}\ncd /\ncommand -v tidemark\necho "$TIDEMARK_DATA"`;
  const printed = execFileSync('sh', ['-euc', script], { cwd: root, env: { PATH: process.env['PATH'] } });
  expect(String(printed)).toBe(`${join(root, 'bin/tidemark')}\n${join(root, '.tidemark')}\n`);
});

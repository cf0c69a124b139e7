import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../../../clients/python');

it('the client for Python keeps what its own tests promise, without a warning', async () => {
  const options = { cwd: folder, env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } };
  const { stderr } = await promisify(execFile)('python3', ['-W', 'error', '-m', 'unittest'], options);
  expect(stderr).toMatch(/^Ran \d\d tests in [\d.]+s\n\nOK$/m);
});

it('the client for Python needs nothing but the standard library, and stays one short file', async () => {
  const text = await readFile(join(folder, 'tidemark.py'), 'utf8');
  expect(text.split('\n').length).toBeLessThanOrEqual(392);
  const modules = [...text.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name = '']) => name);
  const script = 'import sys; print(*(set(sys.argv[1:]) - sys.stdlib_module_names))';
  const { stdout } = await promisify(execFile)('python3', ['-c', script, ...modules]);
  expect(stdout.trim()).toBe('');
});

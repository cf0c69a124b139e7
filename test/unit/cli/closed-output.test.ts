import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = new URL('../../../bin/tidemark', import.meta.url).pathname;

it('a command whose reader has gone ends without an error: tidemark explain | head', async () => {
  const line = `('${program}' explain; echo "exit $?" >&2) | true`;
  expect(await promisify(execFile)('sh', ['-c', line])).toEqual({ stdout: '', stderr: 'exit 0\n' });
});

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../../src/model/reasons.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const explain = (...given: string[]) => run(join(root, 'bin/tidemark'), ['explain', ...given]);

describe('tidemark explain', () => {
  it('prints meaning, remedy and owner of the remedy for a code', async () => {
    const { stdout } = await explain('timestamp_not_numeric');
    expect(stdout).toMatch(/meaning +the timestamp is not a whole decimal number/);
    expect(stdout).toMatch(/remedy +\S/);
    expect(stdout).toMatch(/who +the sender/);
    expect(stdout).toMatch(/stage +transfer/);
  });

  it('prints every row of a code', async () => {
    const { stdout } = await explain('metric_columns_exceeded');
    expect(stdout.match(/^code /gm)).toHaveLength(2);
  });

  it('lists every reason, for people and for programs', async () => {
    const { stdout } = await explain();
    for (const { code } of reasons) expect(stdout).toContain(code);
    expect(JSON.parse((await explain('--json')).stdout)).toEqual({ items: reasons });
  });

  it('reports an unknown code', async () => {
    await expect(explain('nonsense')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('unknown reason "nonsense"; tidemark explain lists all reasons'),
    });
    await expect(explain('timestamp_unit_secs')).rejects.toMatchObject({
      stderr: expect.stringContaining('Did you mean timestamp_unit_seconds?'),
    });
  });
});

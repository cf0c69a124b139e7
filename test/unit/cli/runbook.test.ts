import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const runbook = (...given: string[]) => run(join(root, 'bin/tidemark'), ['runbook', ...given]);

const document = readFileSync(join(root, 'docs/runbook.md'), 'utf8');
const alarms = [...document.matchAll(/^### (\w+)$/gm)].map(([, alarm]) => alarm);

describe('tidemark runbook', () => {
  it('prints the entry of an alarm, and nothing of the next chapter', async () => {
    const { stdout } = await runbook('TidemarkClockSkew');
    expect(stdout).toMatch(/^TidemarkClockSkew\n\n\*\w+\* — /);
    expect(stdout).toContain('**What to do.**');
    expect(stdout).not.toContain('## ');
    expect(document).toContain(stdout.trim().split('\n').slice(2).join('\n'));
  });

  it('takes the name in any case, and as an answer of the line has it', async () => {
    const { stdout } = await runbook('TidemarkLag');
    expect((await runbook('docs/runbook.md#tidemarklag')).stdout).toBe(stdout);
    expect(JSON.parse((await runbook('tidemarklag', '--json')).stdout)).toMatchObject({
      name: 'tidemarklag',
      title: 'TidemarkLag',
      text: expect.stringContaining('**Meaning.**'),
    });
  });

  it('lists every alarm, for people and for programs', async () => {
    expect((await runbook()).stdout.trim().split('\n')).toEqual(alarms);
    expect(JSON.parse((await runbook('--json')).stdout)).toEqual({
      items: alarms.map((title) => ({ name: title?.toLowerCase(), title })),
    });
  });

  it('reports an unknown alarm with the nearest one', async () => {
    await expect(runbook('TidemarkLagg')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Did you mean TidemarkLag?'),
    });
  });
});

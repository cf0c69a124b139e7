import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript } from '../../../src/cli/completion.ts';
import { createProgram } from '../../../src/cli/program.ts';

const program = await createProgram();
const run = promisify(execFile);

/** What bash offers at the end of these words. */
const offered = async (...words: string[]): Promise<string[]> => {
  const line = words.map((word) => `'${word}'`).join(' ');
  const script = `${completionScript(program, 'bash')}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _tidemark; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', script]);
  return stdout.split('\n').filter((word) => word !== '');
};

describe('the completion of bash', () => {
  it.each([
    [['tidemark', 'led'], ['ledger']],
    [['tidemark', 'report', 'pur'], ['purge']],
    [['tidemark', 'report', 'create', '--spl'], ['--split']],
    [['tidemark', 'dlq', 'list', '--pipeline', 't'], ['traces']],
    [['tidemark', 'dlq', '--json', 'red'], ['redrive']],
    [['tidemark', 'completion', 'f'], ['fish']],
    [['tidemark', 'report', 'nothing-like-this'], []],
  ])('offers at the end of %j: %j', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });
});

// A command that a later change adds is completed without a further step.
describe.each(['bash', 'zsh', 'fish'])('the completion of %s', (shell) => {
  const script = completionScript(program, shell);

  it('has every command and every option of the program', () => {
    const missing: string[] = [];
    const look = (command: Command, path: string): void => {
      if (!script.includes(path)) missing.push(path);
      for (const { long } of command.options)
        if (!script.includes(shell === 'fish' ? `-l ${long?.slice(2)}` : `${long}`))
          missing.push(`${path} ${long}`);
      for (const each of command.commands) look(each, `${path} ${each.name()}`);
    };
    look(program, 'tidemark');
    expect(missing).toEqual([]);
  });

  it('is valid for that shell, where it is installed', async ({ skip }) => {
    const isInstalled = await run(shell, ['-c', 'true']).then(
      () => true,
      () => false,
    );
    if (!isInstalled) skip(`${shell} is not installed`);
    await expect(run(shell, ['-n', '-c', script])).resolves.toMatchObject({ stderr: '' });
  });
});

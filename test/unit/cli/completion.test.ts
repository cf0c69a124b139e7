import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript } from '../../../src/cli/completion.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { openTempFolder } from '../../support/stack/temp-folder.ts';

const program = await createProgram();
const run = promisify(execFile);

/** Lines that end with a word to complete, and what it becomes; null where there is nothing to offer. */
const lines: readonly (readonly [string, string | null])[] = [
  ['led', 'ledger'],
  ['report pur', 'purge'],
  ['report create --spl', '--split'],
  ['dlq list --pipeline t', 'traces'],
  ['dlq --json red', 'redrive'],
  ['completion f', 'fish'],
  ['report nothing-like-this', null],
];

/** What each shell makes of the last word of `tidemark <line>`. */
const offers: Readonly<Record<string, (script: string, line: string) => Promise<string | null>>> = {
  bash: async (script, line) => {
    const words = ['tidemark', ...line.split(' ')].map((word) => `'${word}'`);
    const asked = `${script}
COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _tidemark; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', asked]);
    return stdout.trim() === '' ? null : stdout.trim();
  },
  // A terminal of its own, in which the word is typed and completed with the Tab key.
  zsh: async (script, line) => {
    const { path, remove } = await openTempFolder();
    try {
      await writeFile(join(path, 'script'), script);
      const asked = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= HISTFILE=; autoload -Uz compinit; compinit -u -D; source ${path}/script"
zpty -w shell 'tidemark() { print -r -- "typed=$((40 + 2)):$*" }'
zpty -w shell $'tidemark ${line}\t'
zpty -r shell shown $'*typed=42:*\n'
print -r -- "\${\${shown##*typed=42:}%%$'\r'*}"`;
      const { stdout } = await run('zsh', ['-f', '-c', asked], { timeout: 60_000 });
      return stdout.trim() === line ? null : (stdout.trim().split(' ').at(-1) ?? null);
    } finally {
      await remove();
    }
  },
  fish: async (script, line) => {
    const { stdout } = await run('fish', ['-N', '-c', `${script}\ncomplete -C 'tidemark ${line}'`]);
    return stdout === '' ? null : (stdout.trim().split('\t')[0] ?? null);
  },
};

const isInstalled = (shell: string): Promise<boolean> =>
  run(shell, ['-c', 'true']).then(
    () => true,
    () => false,
  );

describe.each(Object.entries(offers))('the completion of %s', (shell, offered) => {
  const script = completionScript(program, shell);

  it.for(lines)('completes "tidemark %s" to %s', async ([line, expected], { skip }) => {
    if (!(await isInstalled(shell))) skip(`${shell} is not installed`);
    expect(await offered(script, line)).toBe(expected);
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
    if (!(await isInstalled(shell))) skip(`${shell} is not installed`);
    await expect(run(shell, ['-n', '-c', script])).resolves.toMatchObject({ stderr: '' });
  });
});

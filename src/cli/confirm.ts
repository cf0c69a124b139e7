import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { Fault } from '../model/fault.ts';
import { visible } from '../model/visible-text.ts';

/** The option of a command whose effect cannot be undone. */
export type YesOption = { yes?: true };

/** Gives a command `--yes`. Its action calls {@link confirm} before the first effect. */
export const addYesOption = (command: Command): Command =>
  command.option('--yes', 'do not ask for confirmation');

/** Where a question is asked: stdin and stderr of the process, or those of a test. */
export type Terminal = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
};

const processTerminal = (): Terminal => ({ input: process.stdin, output: process.stderr });

/** The first line of the input; empty where it ends without one. */
const answerTo = async ({ input, output }: Terminal, question: string): Promise<string> => {
  output.write(question);
  const lines = createInterface({ input });
  try {
    return await new Promise<string>((resolve) => {
      lines.once('line', resolve).once('close', () => resolve(''));
    });
  } finally {
    lines.close();
  }
};

/**
 * Returns once the operator has confirmed an effect that cannot be undone: by `--yes`, or by `y` or `yes` on the
 * terminal. `effect` is a clause in the present tense with its object: `report shop (data id 1500002) is deleted`.
 * Throws a permanent Fault `not_confirmed` for any other answer, and without asking where stdin or stderr is not a
 * terminal.
 */
export const confirm = async (
  effect: string,
  { yes }: YesOption,
  terminal: Terminal = processTerminal(),
): Promise<void> => {
  if (yes === true) return;
  const said = visible(effect);
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) {
    const text = `${said}, which cannot be undone: confirm with --yes`;
    throw new Fault('permanent', 'not_confirmed', text);
  }
  const answer = await answerTo(terminal, `${said}, which cannot be undone. Continue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) {
    throw new Fault('permanent', 'not_confirmed', 'not confirmed: nothing was changed');
  }
};

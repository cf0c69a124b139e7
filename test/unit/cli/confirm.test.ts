import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm } from '../../../src/cli/confirm.ts';

const effect = 'report shop (data id 1500002) is deleted';

/** Asks on a terminal, or on what is none, whose reader types this; an end of the input is Ctrl-D. */
const asked = async (typed: string, isTTY = true): Promise<{ said: string; outcome: string }> => {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = Object.assign(new PassThrough(), { isTTY });
  input.end(typed);
  const outcome = await confirm(effect, {}, { input, output }).then(
    () => 'confirmed',
    (error: unknown) => String(error),
  );
  return { said: String(output.read() ?? ''), outcome };
};

// What cannot be undone is asked for once more, and never done because nobody could be asked.
describe('an effect that cannot be undone', () => {
  it.each(['y\n', 'yes\n', ' Y \n'])('is confirmed by %j on a terminal', async (typed) => {
    expect((await asked(typed)).outcome).toBe('confirmed');
  });

  it.each(['\n', 'n\n', 'yep\n', ''])('is not confirmed by %j', async (typed) => {
    expect(await asked(typed)).toEqual({
      said: expect.stringContaining(`${effect}, which cannot be undone. Continue? [y/N] `),
      outcome: 'Fault: not confirmed: nothing was changed',
    });
  });

  it('is refused without a terminal, and the option is named', async () => {
    expect(await asked('y\n', false)).toEqual({
      said: '',
      outcome: `Fault: ${effect}, which cannot be undone: confirm with --yes`,
    });
  });

  it('is not asked for with --yes', async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    const output = Object.assign(new PassThrough(), { isTTY: true });
    await confirm(effect, { yes: true }, { input, output });
    expect(output.read()).toBeNull();
  });
});

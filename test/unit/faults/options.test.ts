import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readFaultsOptions } from '../../faults/options.ts';

// A run of forty minutes with a misspelt seed would try other faults than the requested ones, and look like a success.
describe('a run of the faults', () => {
  it('takes the given values, and its defaults where there are none', () => {
    expect(readFaultsOptions([], { SEED: '7', KILLS: '', MINUTES: '3' }, 99)).toEqual({
      seed: 7,
      kills: 200,
      minutes: 3,
    });
    expect(readFaultsOptions([], {}, 99)).toEqual({ seed: 99, kills: 200, minutes: 40 });
  });

  const names = ['SEED', 'KILLS', 'MINUTES'];
  const malformed = ['x', '1.5', '-1', '0', '1e3', '0x10', ' 7', '7s', '99999999999999999999'];
  it.each(names.flatMap((name) => malformed.map((text) => [name, text] as const)))(
    'refuses %s=%s by its name',
    (name, text) => {
      const read = () => readFaultsOptions([], { [name]: text }, 1);
      expect(read).toThrow(`${name} has to be a whole number from 1, not ${JSON.stringify(text)}`);
    },
  );

  it('refuses an argument, and lists the ones it takes', () => {
    expect(() => readFaultsOptions(['--seed', '7'], {}, 1)).toThrow(
      '"--seed" is unknown; it takes SEED, KILLS, MINUTES: make faults SEED=1 KILLS=200 MINUTES=40',
    );
  });

  const ended = (args: string[], env: Record<string, string>): unknown => {
    try {
      execFileSync(process.execPath, [join(import.meta.dirname, '../../faults/main.ts'), ...args], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
        stdio: 'pipe',
      });
      return 'it ran';
    } catch (error) {
      const { status, stdout, stderr }: { status?: unknown; stdout?: unknown; stderr?: unknown } =
        Object(error);
      return { status, stdout, stderr };
    }
  };

  it.each([
    ['an unknown argument', ['--kills=3'], {}, /^faults: "--kills=3" is unknown; .*\n$/],
    [
      'a malformed number',
      [],
      { KILLS: 'many' },
      /^faults: KILLS has to be a whole number from 1, not "many": .*\n$/,
    ],
  ])('ends with exit code 2 and one line, and starts nothing, at %s', (_, args, env, line) => {
    expect(ended(args, env)).toEqual({ status: 2, stdout: '', stderr: expect.stringMatching(line) });
  });
});

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { settingDefinitions } from '../../src/config/settings.ts';
import type { Installation } from '../../src/embedded/installation.ts';
import { waitFor } from './wait.ts';

/** Port 0 everywhere: `up` takes free ones. */
const anyPorts = Object.fromEntries(
  settingDefinitions.filter(({ kind }) => kind === 'port').map(({ env }) => [env, '0']),
);

/** A running `tidemark up` and what it wrote. */
export type Up = { child: ChildProcess; lines: string[]; exitCode: Promise<number | null> };

/** Starts it on free ports; whoever starts it ends it. `prefix` is what stands before the command. */
export const spawnUp = (
  dataFolder: string,
  env: Record<string, string> = {},
  prefix: readonly string[] = [],
): Up => {
  const [command = '', ...args] = [...prefix, 'bin/tidemark', 'up'];
  const child = spawn(command, args, {
    env: { ...process.env, ...anyPorts, TIDEMARK_DATA: dataFolder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const exitCode = once(child, 'close').then(() => child.exitCode);
  return { child, lines, exitCode };
};

/** The same, killed when the test is over. */
export const startUp = (dataFolder: string, env: Record<string, string> = {}): Up => {
  const up = spawnUp(dataFolder, env);
  onTestFinished(() => {
    up.child.kill('SIGKILL');
  });
  return up;
};

/** Waits for the summary. */
export const untilReady = async ({ lines, child }: Up): Promise<void> => {
  await waitFor('tidemark up is ready', 300_000, () => {
    return lines.includes('Ctrl-C stops everything in order') || child.exitCode !== null;
  });
  expect(child.exitCode, lines.slice(-20).join('\n')).toBe(null);
};

/** What `tidemark env --json` says of the installation on this folder. */
export const installationOn = async (dataFolder: string): Promise<Installation> => {
  const { stdout } = await promisify(execFile)('bin/tidemark', ['env', '--json'], {
    env: { ...process.env, TIDEMARK_DATA: dataFolder },
  });
  return JSON.parse(stdout);
};

/** The line below a heading of the summary. */
export const below = ({ lines }: Up, heading: string): string =>
  lines[lines.indexOf(heading) + 1]?.trim() ?? '';

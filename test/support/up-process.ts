import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { settingDefinitions } from '../../src/config/settings.ts';

/** Port 0 everywhere: `up` takes free ones. */
const anyPorts = Object.fromEntries(
  settingDefinitions.filter(({ kind }) => kind === 'port').map(({ env }) => [env, '0']),
);

/** A running `tidemark up` and what it wrote. */
export type Up = { child: ChildProcess; lines: string[]; exitCode: Promise<number | null> };

/** Starts it on free ports; it is killed when the test is over. */
export const startUp = (dataFolder: string, env: Record<string, string> = {}): Up => {
  const child = spawn('bin/tidemark', ['up'], {
    env: { ...process.env, ...anyPorts, TIDEMARK_DATA: dataFolder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const exitCode = once(child, 'close').then(() => child.exitCode);
  return { child, lines, exitCode };
};

/** Waits for the summary. */
export const untilReady = async ({ lines, child }: Up): Promise<void> => {
  await expect
    .poll(() => lines.includes('Ctrl-C stops everything in order') || child.exitCode !== null, {
      timeout: 300_000,
    })
    .toBe(true);
  expect(child.exitCode, lines.slice(-20).join('\n')).toBe(null);
};

/** The line below a heading of the summary. */
export const below = ({ lines }: Up, heading: string): string =>
  lines[lines.indexOf(heading) + 1]?.trim() ?? '';

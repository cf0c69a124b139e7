import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import type { Installation } from '../../../src/embedded/installation.ts';
import { waitFor } from '../wait.ts';
import { anyPorts } from './any-ports.ts';

/** A running `tidemark up` and what it wrote. */
export type Up = { child: ChildProcess; lines: string[]; exitCode: Promise<number | null> };

/**
 * Starts it on free ports; the caller ends it. `prefix` precedes the command, `program` is the folder of another
 * program.
 */
export const spawnUp = (
  dataFolder: string,
  env: Record<string, string> = {},
  prefix: readonly string[] = [],
  program = '.',
  options: readonly string[] = [],
): Up => {
  const [command = '', ...args] = [...prefix, join(program, 'bin/tidemark'), 'up', ...options];
  // An earlier program refuses settings that came later.
  const unknown = program === '.' ? {} : { TIDEMARK_INGRESS_GRPC_PORT: undefined };
  const child = spawn(command, args, {
    env: { ...process.env, ...anyPorts, ...unknown, TIDEMARK_DATA: dataFolder, ...env },
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
export const startUp = (
  dataFolder: string,
  env: Record<string, string> = {},
  options: readonly string[] = [],
): Up => {
  const up = spawnUp(dataFolder, env, [], '.', options);
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

/** The output of `tidemark env --json` for the installation on this folder. */
export const installationOn = async (
  dataFolder: string,
  env: Record<string, string> = {},
): Promise<Installation> => {
  const { stdout } = await promisify(execFile)('bin/tidemark', ['env', '--json'], {
    env: { ...process.env, TIDEMARK_DATA: dataFolder, ...env },
  });
  return JSON.parse(stdout);
};

/** Pids of the processes that this one started: of `up` the engines and roles. */
export const childrenOf = (pid: number | undefined): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

/** Whether there is such a process. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** SIGKILL to it, and waits until nothing of it is left. */
export const killUp = async (up: Up): Promise<void> => {
  const { child, exitCode } = up;
  if (child.exitCode !== null || child.signalCode !== null) return;
  const children = childrenOf(child.pid);
  child.kill('SIGKILL');
  await exitCode;
  await waitFor('engines and roles are gone', 30_000, () => {
    // They die with it only where the system supports that.
    for (const pid of children.filter(isAlive)) process.kill(pid, 'SIGKILL');
    return !children.some(isAlive);
  });
};

/** An address of the summary. */
export const addressOf = ({ lines }: Up, name: string): string => {
  const line = lines.find((candidate) => candidate.startsWith(`  ${name} `));
  return /http:\/\/[^/ ]+/.exec(line ?? '')?.[0] ?? `no ${name} in the summary`;
};

/** The line below a heading of the summary. */
export const below = ({ lines }: Up, heading: string): string =>
  lines[lines.indexOf(heading) + 1]?.trim() ?? '';

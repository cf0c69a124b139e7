import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { waitFor } from '../wait.ts';

export const root = join(import.meta.dirname, '../../..');

const run = promisify(execFile);

/** A line that no first run may print: a warning of npm, or a place in a stack trace. */
const blemish = /\bnpm warn\b|EBADENGINE|^\s+at .+:\d+:\d+\)?$|Unhandled|\bExperimentalWarning\b|\bDeprecat/;

/** The lines of an output that a user would stumble over. */
export const blemishesOf = (text: string): string[] => text.split('\n').filter((line) => blemish.test(line));

/**
 * The environment of a user: nothing of the clone that runs the test, npm without the options of this machine but with
 * its cache, and a curl that fails where the answer is an error.
 */
export const userEnvironment = async (folder: string, programs = ''): Promise<NodeJS.ProcessEnv> => {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
  const { stdout } = await run('npm', ['config', 'get', 'cache'], { encoding: 'utf8' });
  await writeFile(join(folder, '.curlrc'), 'fail-with-body\n');
  return {
    PATH: [programs, ...path].filter((each) => each !== '').join(delimiter),
    HOME: process.env['HOME'],
    LANG: 'C.UTF-8',
    CURL_HOME: folder,
    npm_config_userconfig: '/dev/null',
    npm_config_cache: stdout.trim(),
  };
};

/** What a command printed, and its exit code. */
export type Ran = { readonly code: number; readonly output: string };

/** Runs a line of a shell. */
export const inShell = (line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> =>
  new Promise((resolve) => {
    execFile('sh', ['-c', line], { cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: `${stdout}${stderr}` }),
    );
  });

/** Runs a line until what it prints matches. */
export const untilPrinted = async (
  line: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  expected: RegExp,
): Promise<void> => {
  let last = '';
  await waitFor(`${line} prints ${expected}`, 60_000, async () => {
    last = (await inShell(line, cwd, env)).output;
    return expected.test(last);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: it printed ${last.slice(0, 500)}`);
  });
};

export type Started = { readonly lines: string[]; stop(): Promise<void> };

/** Starts the stack by this line of a shell, and waits for the end of its banner. */
export const startStack = async (line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Started> => {
  const child = spawn('sh', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (each) => lines.push(each));
  const closed = once(child, 'close');
  const signal = (name: NodeJS.Signals): void => {
    // The whole group, as Ctrl-C does.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, name);
  };
  const stop = async (): Promise<void> => {
    signal('SIGINT');
    await closed;
  };
  try {
    await waitFor('the end of the banner', 500_000, () => {
      return lines.some((each) => each.includes('Ctrl-C stops')) || child.exitCode !== null;
    });
    if (child.exitCode !== null) throw new Error(`${line} ended:\n${lines.slice(-30).join('\n')}`);
  } catch (error) {
    signal('SIGKILL');
    throw error;
  }
  return { lines, stop };
};

/** The commands that a banner shows, each in a terminal that has the variables of the banner. */
export const printedCommands = (given: readonly string[]): string[] => {
  const lines = given.map((line) => line.trim());
  const variables = lines.find((line) => /^export .*\bTIDEMARK_DATA=/.test(line)) ?? ':';
  return lines
    .filter((line) => /^(?:curl -|tidemark (?:snippet|query) )/.test(line))
    .map((line) => `${variables} && ${line}`);
};

/** What the queries of the banner print once an item is stored: a time of a point, the id of a trace. */
export const firstRow = { points: /^\d{4}-\d\d-\d\d[ T]/m, spans: /\b[0-9a-f]{32}\b/ } as const;

/** The command with this text among those of a banner. */
export const commandWith = (commands: readonly string[], text: string): string => {
  const found = commands.find((each) => each.includes(text));
  if (found === undefined) throw new Error(`the banner has no ${text}`);
  return found;
};
